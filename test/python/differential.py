"""Examples of every node, with inputs, for comparing one executor with another.

`nodes_under_test` is the one list: the interpreter is tested on it against ONNX's
reference implementation, and each backend against the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder, InsertPoint
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from glow.dialects import glow
from glow.dialects.glow import elementwise
from glow.dialects.node import NodeOp, tensor_type
from glow.dialects.weight_table import element_type_of
from glow.frontends.mlir import parse_text
from glow.universe import new_context

Array = npt.NDArray[Any]


def random_array(
    shape: Sequence[int], dtype: npt.DTypeLike = np.float32, seed: int = 0
) -> Array:
    """Normal floats, integers in [-9, 9] (from 0 if unsigned), or random booleans."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return generator.random(shape) < 0.5
    if kind in "iu":
        return generator.integers(-9 if kind == "i" else 0, 10, shape).astype(dtype)
    return np.asarray(generator.standard_normal(shape)).astype(dtype)


def assert_close(actual: Array, expected: Array, relative_to_max: float = 1e-4) -> None:
    """Fail unless floats differ by little of the largest expected one, others not.

    Shapes and dtypes must agree, NaN and infinities must be in the same places.
    """
    assert actual.shape == expected.shape, f"{actual.shape} != {expected.shape}"
    assert actual.dtype == expected.dtype, f"{actual.dtype} != {expected.dtype}"
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    wide, wanted = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(wide[~finite], wanted[~finite])
    assert np.isfinite(wide[finite]).all(), "not finite where a number is expected"
    scale = np.max(np.abs(wanted[finite]), initial=0.0)
    error = np.max(np.abs(wide[finite] - wanted[finite]), initial=0.0)
    assert error <= relative_to_max * scale, f"error {error} at a scale of {scale}"


def assert_all_close(
    actual: Sequence[Array], expected: Sequence[Array], relative_to_max: float = 1e-4
) -> None:
    """`assert_close` for each pair."""
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert_close(one, other, relative_to_max)


@dataclass(frozen=True)
class Example:
    """A module whose `main` runs one node on its arguments, and those arguments.

    Text examples (regions, loops) carry `text` instead of attributes.
    """

    name: str
    node: type[NodeOp]
    inputs: tuple[Array, ...]
    attributes: dict[str, Any]
    result: Attribute | None = None
    text: str | None = None

    def module(self) -> ModuleOp:
        """A new module, verified."""
        if self.text is not None:
            module = parse_text(new_context(), self.text, self.name)
        else:
            module = self._build()
        module.verify()
        return module

    def input_types(self) -> list[Attribute]:
        """The types of the inputs; scalars of index dtype are `index` values."""
        return [
            IndexType()
            if array.ndim == 0 and self.node in INDEXED
            else tensor_type(array.shape, element_type_of(array.dtype))
            for array in self.inputs
        ]

    def _build(self) -> ModuleOp:
        types = self.input_types()
        block = Block(arg_types=types)
        builder = Builder(InsertPoint.at_end(block))
        results = None if self.result is None else [self.result]
        node = self.node.build_node(block.args, results, **self.attributes)  # pyright: ignore
        builder.insert(node)
        builder.insert(ReturnOp(*node.results))
        return ModuleOp([FuncOp("main", (types, node.result_types), Region(block))])

    @property
    def has_only_float32(self) -> bool:
        """Whether all inputs are float32."""
        return all(array.dtype == np.float32 for array in self.inputs)


INDEXED = (glow.DynamicSliceOp, glow.DynamicUpdateOp)

EDGES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, -1e-30, 0.5, 1.5, 2.5, -2.5, -0.5, 1.0,
     -1.0, 88.0, -104.0, 3.0, 1e6, -1e6],
    np.float32,
)  # fmt: skip
SHAPES = ((1,), (3, 5), (2, 17, 3), (0, 4), ())
FLOATS = ("float16", "bfloat16", "float64")


def _dtype(name: str) -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _label(arrays: Sequence[Array], attributes: dict[str, Any]) -> str:
    shapes = ",".join(
        "x".join((*map(str, array.shape), str(array.dtype))) for array in arrays
    )
    settings = ",".join(f"{key}={value}" for key, value in attributes.items())
    return f"{shapes}[{settings}]" if settings else shapes


def example(
    node: type[NodeOp],
    *inputs: Array,
    result: tuple[Sequence[int], npt.DTypeLike] | None = None,
    **attributes: Any,
) -> Example:
    """An example of a node; `result` is needed where the type is not inferred."""
    mnemonic = node.name.removeprefix("glow.")
    result_type = result and tensor_type(
        result[0], element_type_of(np.dtype(result[1]))
    )
    name = f"{mnemonic}-{_label(inputs, attributes)}"
    if result_type is not None:
        name += f"->{result_type}"
    arrays = tuple(np.asarray(array) for array in inputs)
    return Example(name, node, arrays, attributes, result_type)


# Element-wise nodes ---------------------------------------------------------------------

POSITIVE = {glow.SqrtOp, glow.RsqrtOp, glow.LogOp}
UNIT_RANGE = {glow.AsinOp, glow.AcosOp}
WITH_INTEGERS = {glow.NegOp, glow.AbsOp, glow.SignOp, glow.ReluOp}

PARAMETERS: dict[type[NodeOp], list[dict[str, Any]]] = {
    glow.ClipOp: [
        {"low": 0.0, "high": 6.0}, {"low": -0.5}, {"high": 0.25}, {},
        {"low": 1.0, "high": -1.0},
    ],
    glow.LeakyReluOp: [{}, {"alpha": 0.25}, {"alpha": -1.0}],
    glow.EluOp: [{}, {"alpha": 1.6732632, "gamma": 1.050701}],
    glow.HardSigmoidOp: [{}, {"alpha": 0.5, "beta": 0.25}],
}  # fmt: skip


def _domain(node: type[NodeOp], x: Array) -> Array:
    if node in POSITIVE:
        return (np.abs(x) + np.asarray(0.01, x.dtype)).astype(x.dtype)
    return np.tanh(x).astype(x.dtype) if node in UNIT_RANGE else x


def _unary_examples() -> Iterator[Example]:
    for node in elementwise.UNARY:
        if node is glow.NotOp:
            yield example(node, random_array((3, 5), np.bool_))
            continue
        for parameters in PARAMETERS.get(node, [{}]):
            for shape in SHAPES:
                yield example(node, _domain(node, random_array(shape)), **parameters)
            yield example(node, EDGES, **parameters)
        for dtype in FLOATS:
            yield example(node, _domain(node, random_array((3, 5), _dtype(dtype))))
        if node in WITH_INTEGERS:
            yield example(node, random_array((17,), np.int32))
            yield example(node, random_array((17,), np.int64))
    yield example(glow.ClipOp, random_array((17,), np.int32), low=-3.0, high=5.0)


BROADCASTS = (
    ((4,), (4,)),
    ((1,), (1,)),
    ((3, 5), (5,)),
    ((2, 3, 1), (3, 7)),
    ((1, 8, 1, 1), (2, 8, 5, 3)),
    ((), (3, 5)),
    ((0, 3), (1, 3)),
    ((2, 33), (2, 33)),
)
DIVISIONS = {glow.DivOp, glow.ModOp, glow.FmodOp}


def _second(node: type[NodeOp], y: Array) -> Array:
    """Divisors that are not zero, exponents that are small."""
    if node in DIVISIONS and y.dtype.kind in "iu":
        return np.where(y == 0, 7, y).astype(y.dtype)
    if node is glow.PowOp:
        return (np.abs(y) % 4).astype(y.dtype)
    return y


def _first(node: type[NodeOp], x: Array) -> Array:
    return np.abs(x) if node is glow.PowOp and x.dtype.kind not in "iu" else x


def _binary_examples() -> Iterator[Example]:
    for node in elementwise.BINARY:
        is_logical = issubclass(node, elementwise.LogicalOp)
        dtype = np.bool_ if is_logical else np.float32
        for left, right in BROADCASTS:
            x, y = random_array(left, dtype), random_array(right, dtype, 1)
            yield example(node, _first(node, x), _second(node, y))
        if is_logical:
            continue
        yield example(node, np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES)))
        for other in ("int32", "int64", *FLOATS):
            x = _first(node, random_array((2, 50), _dtype(other)))
            yield example(node, x, _second(node, random_array((50,), _dtype(other), 1)))


def _other_elementwise_examples() -> Iterator[Example]:
    for shapes in (((4,), (4,), (4,)), ((3, 1), (5,), (3, 5)), ((), (2, 3), ())):
        condition = random_array(shapes[0], np.bool_)
        values = [random_array(shape, seed=1) for shape in shapes[1:]]
        yield example(glow.SelectOp, condition, *values)
    x, integers = random_array((3, 7)) * np.float32(50), random_array((3, 7), np.int32)
    for dtype in ("float16", "bfloat16", "float64", "int8", "int32", "int64", "bool"):
        result = ((3, 7), _dtype(dtype))
        yield example(glow.ConvertOp, x, result=result)
        yield example(glow.ConvertOp, integers, result=result)
    for dtype in ("float32", "int32"):
        source = random_array((3, 7), np.bool_)
        yield example(glow.ConvertOp, source, result=((3, 7), dtype))


# Windows, matrices, normalizations ------------------------------------------------------


def _conv2d(
    image: Sequence[int],
    outputs: int,
    kernel: Sequence[int],
    bias: bool = True,
    **attributes: Any,
) -> Example:
    group = attributes.get("group", 1)
    weights = random_array((outputs, image[1] // group, *kernel), seed=1)
    operands = [random_array(image), weights]
    if bias:
        operands.append(random_array((outputs,), seed=2))
    return example(glow.Conv2dOp, *operands, **attributes)


def _convolution_examples() -> Iterator[Example]:
    yield _conv2d((1, 1, 1, 1), 1, (1, 1))
    yield _conv2d((1, 3, 9, 9), 16, (3, 3), pads=[1, 1, 1, 1])
    yield _conv2d((2, 16, 7, 5), 32, (1, 1))
    yield _conv2d((1, 32, 8, 8), 16, (1, 1), strides=[2, 2], bias=False)
    yield _conv2d((1, 3, 23, 17), 16, (7, 7), strides=[2, 2], pads=[3, 3, 3, 3])
    yield _conv2d((1, 5, 6, 7), 7, (2, 3), pads=[1, 0, 0, 2])
    yield _conv2d((2, 6, 7, 7), 9, (3, 3), group=3, pads=[1, 1, 1, 1], bias=False)
    yield _conv2d((1, 16, 9, 9), 16, (3, 3), group=16, pads=[1, 1, 1, 1])
    yield _conv2d((1, 20, 6, 6), 40, (3, 3), group=20, strides=[2, 1])
    yield _conv2d((1, 4, 11, 11), 8, (3, 3), dilations=[2, 3], pads=[2, 3, 2, 3])
    yield _conv2d((1, 32, 14, 14), 64, (3, 3), pads=[1, 1, 1, 1])
    yield _conv2d((0, 3, 5, 5), 4, (3, 3))
    yield from _spatial_convolution_examples()
    fused = (("relu", []), ("clip", [0.0, 6.0]), ("sigmoid", []), ("tanh", []),
             ("leaky_relu", [0.1]), ("hard_swish", []))  # fmt: skip
    for activation, arguments in fused:
        extra = {"activation_args": arguments} if arguments else {}
        yield _conv2d((1, 16, 5, 5), 16, (3, 3), activation=activation, **extra)
        matrices = random_array((3, 8)), random_array((8, 5), seed=1)
        yield example(glow.FullyConnectedOp, *matrices, activation=activation, **extra)


def _spatial_convolution_examples() -> Iterator[Example]:
    volumes: list[tuple[Sequence[int], Sequence[int], dict[str, Any]]] = [
        ((1, 1, 1, 1, 1), (1, 1, 1, 1, 1), {}),
        ((2, 3, 5, 6, 7), (4, 3, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
        ((1, 16, 4, 5, 5), (32, 16, 2, 1, 3), {"strides": [2, 1, 2]}),
        ((1, 6, 7, 7, 7), (9, 2, 3, 2, 3), {"group": 3, "pads": [1, 0, 2, 0, 1, 1]}),
        ((1, 2, 9, 8, 7), (3, 2, 3, 2, 2), {"dilations": [3, 2, 1]}),
    ]
    for image, kernel, attributes in volumes:
        operands = [random_array(image), random_array(kernel, seed=1)]
        yield example(glow.Conv3dOp, *operands, **attributes)
    bias = random_array((4,), seed=2)
    yield example(
        glow.Conv3dOp,
        random_array((1, 2, 3, 4, 5)),
        random_array((4, 2, 2, 2, 2)),
        bias,
    )
    planes: list[tuple[Sequence[int], Sequence[int], dict[str, Any]]] = [
        ((1, 1, 1, 1), (1, 1, 1, 1), {}),
        ((1, 3, 5, 7), (3, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((2, 16, 6, 5), (16, 8, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 4, 5, 5), (4, 6, 3, 3), {"strides": [2, 2], "output_padding": [1, 1],
                                      "pads": [1, 1, 1, 1]}),
        ((1, 3, 4, 5), (3, 2, 3, 2), {"strides": [3, 2]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"dilations": [2, 3], "strides": [2, 1]}),
        ((1, 2, 5, 5), (2, 3, 2, 2), {"strides": [3, 3], "pads": [2, 4, 1, 0]}),
        ((1, 3, 4, 4), (3, 2, 5, 5), {"strides": [2, 2], "pads": [4, 3, 4, 3]}),
    ]  # fmt: skip
    volumes = [
        ((1, 1, 1, 1, 1), (1, 1, 1, 1, 1), {}),
        ((2, 3, 3, 2, 4), (3, 4, 3, 1, 2), {"pads": [1, 0, 0, 0, 0, 1]}),
        ((1, 4, 2, 3, 3), (4, 3, 3, 2, 3), {"strides": [2, 3, 1],
                                            "output_padding": [1, 2, 0]}),
        ((1, 2, 3, 2, 3), (2, 3, 2, 3, 2), {"dilations": [1, 2, 3], "strides": [2, 2, 2],
                                            "pads": [1, 2, 0, 2, 1, 1]}),
    ]  # fmt: skip
    layers = [(glow.ConvTranspose2dOp, *plane) for plane in planes]
    for layer, image, kernel, attributes in (
        *layers, *((glow.ConvTranspose3dOp, *volume) for volume in volumes)
    ):  # fmt: skip
        operands = [random_array(image), random_array(kernel, seed=1)]
        yield example(layer, *operands, **attributes)
        outputs = kernel[1] * attributes.get("group", 1)
        operands.append(random_array((outputs,), seed=2))
        yield example(layer, *operands, **attributes)


def _pool_examples() -> Iterator[Example]:
    settings: list[tuple[Sequence[int], dict[str, Any]]] = [
        ((1, 1, 1, 1), {"kernel": [1, 1]}),
        ((1, 16, 8, 8), {"kernel": [2, 2], "strides": [2, 2]}),
        ((2, 5, 7, 9), {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 16, 7, 7), {"kernel": [7, 7]}),
        ((1, 3, 6, 8), {"kernel": [3, 2], "strides": [2, 3], "pads": [0, 1, 1, 0]}),
        ((1, 3, 6, 6), {"kernel": [3, 3], "strides": [2, 2], "ceil_mode": True}),
        ((1, 4, 7, 8), {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1],
                        "ceil_mode": True}),
        ((1, 2, 9, 9), {"kernel": [2, 3], "dilations": [2, 2]}),
    ]  # fmt: skip
    for shape, attributes in settings:
        yield example(glow.MaxPool2dOp, random_array(shape), **attributes)
        yield example(glow.AvgPool2dOp, random_array(shape), **attributes)
        attributes = {**attributes, "count_include_pad": True}
        yield example(glow.AvgPool2dOp, random_array(shape), **attributes)
    with_nan = random_array((1, 2, 4, 4))
    with_nan[0, 1, 2, 2] = np.nan
    yield example(glow.MaxPool2dOp, with_nan, kernel=[2, 2])
    yield example(glow.MaxPool2dOp, random_array((1, 2, 4, 4), np.int8), kernel=[2, 2])


def _matrix_examples() -> Iterator[Example]:
    shapes = (
        ((1, 1), (1, 1)), ((7, 5), (5, 3)), ((1, 64), (64, 33)), ((33, 17), (17, 65)),
        ((2, 3, 4, 5), (2, 3, 5, 6)), ((2, 1, 4, 5), (3, 5, 6)), ((3, 0), (0, 2)),
    )  # fmt: skip
    for left, right in shapes:
        x, y = random_array(left), random_array(right, seed=1)
        yield example(glow.MatmulOp, x, y)
        yield example(
            glow.MatmulOp, x, np.swapaxes(y, -1, -2).copy(), transpose_rhs=True
        )
        yield example(
            glow.MatmulOp, np.swapaxes(x, -1, -2).copy(), y, transpose_lhs=True
        )
    for m, k, n in ((2, 1, 3), (1, 16, 10), (5, 33, 17)):
        x, y = random_array((m, k)), random_array((k, n), seed=1)
        yield example(glow.FullyConnectedOp, x, y)
        yield example(glow.FullyConnectedOp, x, y, random_array((n,), seed=2))
        yield example(glow.GemmOp, x, y, alpha=0.5)
        for addend in sorted({(n,), (m, 1), (m, n), ()}):
            bias = random_array(addend, seed=2)
            yield example(glow.GemmOp, x, y, bias, alpha=2.0, beta=0.25)
        transposed = x.T.copy(), y.T.copy()
        yield example(glow.GemmOp, *transposed, transpose_lhs=True, transpose_rhs=True)


def _attention_examples() -> Iterator[Example]:
    cases: tuple[
        tuple[Sequence[int], Sequence[int], int, Sequence[int] | None], ...
    ] = (
        ((1, 1, 1, 1), (1, 1, 1, 1), 1, None),
        ((2, 3, 7, 8), (2, 3, 5, 8), 4, (5,)),
        ((1, 4, 17, 32), (1, 4, 17, 32), 32, (17, 17)),
        ((2, 2, 6, 16), (2, 2, 9, 16), 5, (2, 1, 1, 9)),
    )
    for queries, keys, width, mask in cases:
        operands = [
            random_array(queries),
            random_array(keys, seed=1),
            random_array((*keys[:-1], width), seed=2),
        ]
        yield example(glow.AttentionOp, *operands)
        if mask is not None:
            operands.append(random_array(mask, seed=3))
            yield example(glow.AttentionOp, *operands, scale=0.25)


def _normalization_examples() -> Iterator[Example]:
    for shape in ((1, 1, 1, 1), (2, 16, 5, 3), (3, 7)):
        channels = shape[1:2]
        scale, bias, mean = (random_array(channels, seed=seed) for seed in (1, 2, 3))
        variance = np.abs(random_array(channels, seed=4))
        for settings in ({}, {"epsilon": 0.01}):
            operands = random_array(shape), scale, bias, mean, variance
            yield example(glow.BatchNormOp, *operands, **settings)
    for shape, axis in (((2, 5, 16), 2), ((3, 7, 5), 1), ((1, 1), 1), ((4, 33), 0)):
        scale, bias = (random_array(shape[axis:], seed=seed) for seed in (1, 2))
        yield example(glow.LayerNormOp, random_array(shape), scale, axis=axis)
        operands = random_array(shape), scale, bias
        yield example(glow.LayerNormOp, *operands, axis=axis, epsilon=0.001)
    for size in (1, 3, 4, 5):
        settings = {"size": size, "alpha": 0.5, "beta": 0.6, "offset": 2.0}
        yield example(glow.LocalResponseNormOp, random_array((1, 7, 3, 2)), **settings)


def _reduction_examples() -> Iterator[Example]:
    for node in (glow.SoftmaxOp, glow.LogSoftmaxOp):
        for shape, axis in (((1,), 0), ((3, 5), 1), ((2, 33, 4), 1), ((4, 7), 0)):
            yield example(node, random_array(shape), axis=axis)
        yield example(node, random_array((2, 1000)) * np.float32(100), axis=1)
    reductions = (
        glow.ReduceSumOp, glow.ReduceMeanOp, glow.ReduceMaxOp, glow.ReduceMinOp,
        glow.ReduceProdOp,
    )  # fmt: skip
    cases = (((1,), [0]), ((3, 5), [1]), ((3, 5), [0]), ((2, 9, 7, 4), [2, 3]),
             ((2, 3, 4), [0, 2]), ((2, 3), []), ((2, 3), [0, 1]))  # fmt: skip
    for node in reductions:
        for shape, axes in cases:
            yield example(node, random_array(shape), axes=axes)
            yield example(node, random_array(shape), axes=axes, keepdims=True)
        yield example(node, random_array((3, 5), np.int32), axes=[1])
        yield example(node, EDGES.reshape(-1, 1), axes=[1])
    for node in (glow.ArgMaxOp, glow.ArgMinOp):
        for shape, axis in (((1,), 0), ((3, 5), 1), ((2, 17, 3), 1)):
            yield example(node, random_array(shape), axis=axis)
            ties = random_array(shape, np.int32) // 5
            yield example(node, ties, axis=axis, select_last=True, keepdims=True)
            yield example(node, ties, axis=axis)


# Element movement, recurrence, text -----------------------------------------------------


def _movement_examples() -> Iterator[Example]:
    x = random_array((2, 3, 4))
    for shape in ((24,), (4, 6), (1, 2, 3, 4)):
        yield example(glow.ReshapeOp, x, result=(shape, np.float32))
    for permutation in ([0, 1, 2], [2, 0, 1], [0, 2, 1]):
        yield example(glow.TransposeOp, x, permutation=permutation)
    yield example(
        glow.TransposeOp, random_array((2, 33, 5, 7)), permutation=[0, 2, 3, 1]
    )
    yield example(glow.TransposeOp, random_array((33, 17), np.int8), permutation=[1, 0])
    for axis, sizes in ((0, (2, 1, 5)), (1, (3,)), (2, (4, 0, 4))):
        shapes = [[*x.shape[:axis], size, *x.shape[axis + 1 :]] for size in sizes]
        parts = [random_array(shape, seed=seed) for seed, shape in enumerate(shapes)]
        yield example(glow.ConcatOp, *parts, axis=axis)
    for starts, sizes, steps in (
        ([0, 0, 0], [2, 3, 4], [1, 1, 1]), ([1, 0, 3], [1, 2, 4], [1, 2, -1]),
        ([1, 2, 1], [2, 3, 2], [-1, -1, 2]), ([0, 0, 0], [2, 0, 4], [1, 1, 1]),
    ):  # fmt: skip
        yield example(glow.SliceOp, x, starts=starts, sizes=sizes, steps=steps)
    for rows in (1, 5):
        table, row = random_array((rows, 3, 4)), random_array((3, 4), seed=1)
        position = np.array(rows - 1, np.int64)
        yield example(glow.DynamicSliceOp, table, position)
        yield example(glow.DynamicUpdateOp, table, row, position)
    for mode in ("constant", "edge", "reflect", "wrap"):
        yield example(glow.PadOp, x, pads=[0, 1, 2, 0, 2, 1], mode=mode)
    yield example(glow.PadOp, x, pads=[0, -1, 2, 1, 0, -2], value=-1.5)
    for source, target in (
        ((3, 1), (3, 4)),
        ((4,), (2, 3, 4)),
        ((), (2,)),
        ((1, 5), (0, 5)),
    ):
        yield example(
            glow.BroadcastOp, random_array(source), result=(target, np.float32)
        )
    for repeats in ([1, 1, 1], [2, 1, 3], [0, 1, 1]):
        yield example(glow.TileOp, x, repeats=repeats)
    yield from _gather_examples(x)


def _gather_examples(x: Array) -> Iterator[Example]:
    for axis, shape in ((0, (5,)), (1, (2, 2)), (2, ()), (1, (0,))):
        indices = random_array(shape, np.int64) % x.shape[axis]
        yield example(glow.GatherOp, x, indices, axis=axis)
    negative = np.array([-1, 0, -2], np.int32)
    yield example(glow.GatherOp, x, negative, axis=1)
    for axis, shape in ((0, (5, 3, 4)), (1, (2, 7, 4)), (2, (2, 3, 9)), (1, (2, 0, 4))):
        size = x.shape[axis]
        indices = random_array(shape, np.int64) % (2 * size) - size
        yield example(glow.GatherElementsOp, x, indices, axis=axis)
    yield example(glow.GatherElementsOp, random_array((3,)), negative)


def _recurrent_examples() -> Iterator[Example]:
    layers: tuple[tuple[type[glow.RecurrentOp], dict[str, Any]], ...] = (
        (glow.LstmOp, {}),
        (glow.GruOp, {}),
        (glow.GruOp, {"linear_before_reset": True}),
        (glow.RnnOp, {}),
        (glow.RnnOp, {"activation": "relu"}),
        (glow.RnnOp, {"activation": "sigmoid"}),
    )
    directions = (("forward", 1), ("reverse", 1), ("bidirectional", 2))
    sizes = ((1, 1, 1, 1), (5, 2, 3, 4))
    for (layer, attributes), (direction, count), (
        steps,
        batch,
        size,
        hidden,
    ) in product(layers, directions, sizes):
        shapes = (
            (steps, batch, size), (count, layer.GATES * hidden, size),
            (count, layer.GATES * hidden, hidden), (count, 2 * layer.GATES * hidden),
            *[(count, batch, hidden)] * layer.STATES,
        )  # fmt: skip
        operands = [random_array(shape, seed=n) for n, shape in enumerate(shapes)]
        yield example(layer, *operands, direction=direction, **attributes)


FUSED = """
func.func @main(%x: tensor<3x5xf32>, %y: tensor<5xf32>) -> (tensor<3x5xf32>) {
  %0 = glow.fused %x, %y {
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    %zero = arith.constant 0.0 : f32
    %max = arith.maximumf %sum, %zero : f32
    %power = math.exp %a : f32
    %greater = arith.cmpf ogt, %a, %b : f32
    %result = arith.select %greater, %power, %max : f32
    glow.yield %result
  } : tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}
"""
CONSTANTS = """
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = glow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = glow.splat -2.5 : tensor<2x2xf32>
  %2 = glow.add %x, %0 : tensor<2x2xf32>
  %3 = glow.mul %x, %1 : tensor<2x2xf32>
  func.return %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<4x3xf32>, %out: tensor<4x3xf32>, %h: tensor<3xf32>)
    -> (tensor<4x3xf32>, tensor<3xf32>) {
  %first = arith.constant 0 : index
  %last = arith.constant 3 : index
  %end = arith.constant 4 : index
  %step = arith.constant 1 : index
  %states, %state = scf.for %i = %first to %end step %step
      iter_args(%all = %out, %s = %h) -> (tensor<4x3xf32>, tensor<3xf32>) {
    %reverse = arith.subi %last, %i : index
    %row = glow.dynamic_slice %x, %reverse : tensor<3xf32>
    %sum = glow.add %row, %s : tensor<3xf32>
    %next = glow.tanh %sum : tensor<3xf32>
    %updated = glow.dynamic_update %all, %next, %i : tensor<4x3xf32>
    scf.yield %updated, %next : tensor<4x3xf32>, tensor<3xf32>
  }
  func.return %states, %state : tensor<4x3xf32>, tensor<3xf32>
}
"""


def _text_examples() -> Iterator[Example]:
    texts: tuple[tuple[str, type[NodeOp], str, Sequence[Sequence[int]]], ...] = (
        ("fused", glow.FusedOp, FUSED, [(3, 5), (5,)]),
        ("constant", glow.ConstantOp, CONSTANTS, [(2, 2)]),
        ("splat", glow.SplatOp, CONSTANTS, [(2, 2)]),
        ("loop", glow.DynamicUpdateOp, LOOP, [(4, 3), (4, 3), (3,)]),
    )
    for name, node, text, shapes in texts:
        inputs = tuple(random_array(shape, seed=n) for n, shape in enumerate(shapes))
        yield Example(name, node, inputs, {}, text=text)


def nodes_under_test() -> list[Example]:
    """Examples of every node class, edge shapes and values included."""
    return [
        *_unary_examples(),
        *_binary_examples(),
        *_other_elementwise_examples(),
        *_convolution_examples(),
        *_pool_examples(),
        *_matrix_examples(),
        *_attention_examples(),
        *_normalization_examples(),
        *_reduction_examples(),
        *_movement_examples(),
        *_recurrent_examples(),
        *_text_examples(),
    ]
