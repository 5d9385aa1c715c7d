"""Operators on quantized tensors, at every rank and with sizes of 1, against ONNX Runtime.

Each row of `CASES` is an operator with shapes, axes or attributes; factors come as
constants and computed. The interpreter and native code give ONNX Runtime's integers, but
for a step where floats are summed up in another order, or where sums are nearly a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.onnx_models.quantized_models import (
    CONTRIB,
    Array,
    model_of,
    ours_and_theirs,
    scalar,
    whole,
)

import glow

SHAPES = ((5,), (1,), (3, 4), (1, 1), (2, 3, 4), (1, 2, 3, 4), (2, 1, 3, 1, 2))
BYTES = (np.uint8, np.int8)
SCALES = (0.02, 0.05, 0.3)
FACTORS = (
    ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((5, 1), (1, 1)), ((2, 2, 3), (3, 4)),
    ((2, 2, 3), (2, 3, 1)), ((1, 2, 1, 3), (2, 1, 3, 4)), ((2, 1, 1, 2, 3), (3, 2)),
)  # fmt: skip
WINDOWS = (
    ((1, 2, 1, 1), (3, 2, 1, 1), {}),
    ((1, 4, 2, 2), (3, 4, 2, 2), {"strides": [2, 2]}),
    ((1, 2, 1, 1), (2, 2, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 4, 5, 3), (4, 2, 3, 2), {"group": 2, "strides": [2, 1], "pads": [1, 0, 0, 1]}),
    ((1, 3, 4, 4), (3, 1, 2, 2), {"group": 3, "dilations": [2, 1]}),
)  # fmt: skip


@dataclass
class Operands:
    """Draws what a model reads; `computed` are the inputs of the model."""

    generator: np.random.Generator
    constant: bool
    computed: dict[str, Array] = field(default_factory=dict[str, Array])

    def values(self, shape: Sequence[int], dtype: Any, may_be: bool) -> Array | str:
        """Integers: a constant where it may be one and the case asks for it."""
        array = whole(self.generator, shape, dtype)
        if may_be and self.constant:
            return array
        name = f"x{len(self.computed)}"
        self.computed[name] = array
        return name

    def parameters(self, dtype: Any, count: int = 0) -> list[Array]:
        """A scale and a zero point, or a scale for each of some channels."""
        info = np.iinfo(dtype)
        if count:
            scales = self.generator.uniform(0.01, 0.1, count).astype(np.float32)
            return [scales, np.zeros(count, dtype)]
        scale = scalar(self.generator.choice(SCALES))
        return [scale, scalar(self.generator.integers(info.min, info.max + 1), dtype)]

    def tensor(
        self, shape: Sequence[int], dtype: Any, *, may_be: bool = False, count: int = 0
    ) -> list[Array | str]:
        """A quantized operand: integers, scale and zero point."""
        return [self.values(shape, dtype, may_be), *self.parameters(dtype, count)]


Built = tuple[ModelProto, int]
"""A model, and by how many steps results may differ."""
Build = Callable[[Operands, Any], Built]


def binary(operator: str, shape: Sequence[int]) -> Build:
    """A sum or product with the last axis of its operand."""

    def build(made: Operands, dtype: Any) -> Built:
        inputs = [
            *made.tensor(shape, dtype),
            *made.tensor(shape[-1:], dtype, may_be=True),
            *made.parameters(dtype),
        ]
        return model_of(operator, made.computed, inputs, CONTRIB), 1

    return build


def function(operator: str, shape: Sequence[int]) -> Build:
    """A table."""

    def build(made: Operands, dtype: Any) -> Built:
        inputs = [*made.tensor(shape, dtype), *made.parameters(dtype)]
        return model_of(operator, made.computed, inputs, CONTRIB), 1

    return build


def concat(shape: Sequence[int], axis: int) -> Build:
    """Two tensors of their own scales, one of which may be a constant."""

    def build(made: Operands, dtype: Any) -> Built:
        inputs = [*made.parameters(dtype), *made.tensor(shape, dtype)]
        inputs += made.tensor(shape, dtype, may_be=True)
        return model_of("QLinearConcat", made.computed, inputs, CONTRIB, axis=axis), 1

    return build


def cast(operator: str, shape: Sequence[int], axis: int | None) -> Build:
    """Between floats and integers, by a scale for the tensor or for each of an axis."""

    def build(made: Operands, dtype: Any) -> Built:
        parameters = made.parameters(dtype, 0 if axis is None else shape[axis])
        values: Array = whole(made.generator, shape, dtype)
        if operator == "QuantizeLinear":
            values = made.generator.standard_normal(shape).astype(np.float32)
        made.computed["x"] = values
        attributes = {} if axis is None else {"axis": axis}
        inputs = ["x", *parameters]
        return model_of(operator, made.computed, inputs, **attributes), 0

    return build


def matmul(left: Sequence[int], right: Sequence[int], channels: bool) -> Build:
    """A product, of weights with a scale for each column or for all."""

    def build(made: Operands, dtype: Any) -> Built:
        count = right[-1] if channels else 0
        inputs = made.tensor(left, dtype)
        inputs += made.tensor(right, np.int8, may_be=True, count=count)
        inputs += made.parameters(dtype)
        return model_of("QLinearMatMul", made.computed, inputs), 0

    return build


def integer_matmul(left: Sequence[int], right: Sequence[int]) -> Build:
    """Sums of products in 32 bits."""

    def build(made: Operands, dtype: Any) -> Built:
        values = [made.values(left, dtype, False), made.values(right, np.int8, True)]
        points = [made.parameters(kind)[1] for kind in (dtype, np.int8)]
        return model_of("MatMulInteger", made.computed, [*values, *points]), 0

    return build


def convolution(
    image: Sequence[int], weights: Sequence[int], attributes: dict[str, Any]
) -> Build:
    """A convolution with scales by channel and a bias."""

    def build(made: Operands, dtype: Any) -> Built:
        inputs = made.tensor(image, dtype)
        inputs += made.tensor(weights, np.int8, may_be=True, count=weights[0])
        bias = made.generator.integers(-99, 99, weights[:1]).astype(np.int32)
        inputs += [*made.parameters(dtype), bias]
        return model_of("QLinearConv", made.computed, inputs, **attributes), 0

    return build


def integer_convolution(
    image: Sequence[int], weights: Sequence[int], attributes: dict[str, Any]
) -> Build:
    """Sums of products of windows in 32 bits."""

    def build(made: Operands, dtype: Any) -> Built:
        unsigned = np.uint8  # all that ONNX Runtime convolves
        values = [made.values(image, unsigned, False)]
        values += [made.values(weights, unsigned, True)]
        points = [scalar(100, unsigned), scalar(120, unsigned)]
        inputs = [*values, *points]
        return model_of("ConvInteger", made.computed, inputs, **attributes), 0

    return build


def pool(shape: Sequence[int], attributes: dict[str, Any] | None) -> Build:
    """A mean of windows, which ONNX Runtime computes in floats, or of the plane."""

    def build(made: Operands, dtype: Any) -> Built:
        operator = (
            "QLinearGlobalAveragePool" if attributes is None else ("QLinearAveragePool")
        )
        inputs = [*made.tensor(shape, dtype), *made.parameters(dtype)]
        given = attributes or {}
        model = model_of(operator, made.computed, inputs, CONTRIB, **given)
        return model, 0 if attributes is None else 1

    return build


def gemm(transposed: bool, rows: int) -> Build:
    """QGemm with a bias in 32 bits; only constant weights may be transposed."""

    def build(made: Operands, dtype: Any) -> Built:
        inputs = made.tensor((rows, 3), dtype)
        is_transposed = transposed and made.constant
        shape = (4, 3) if is_transposed else (3, 4)
        inputs += made.tensor(shape, np.int8, may_be=True)
        bias = made.generator.integers(-99, 99, 4).astype(np.int32)
        inputs += [bias, *made.parameters(dtype)]
        given = {"transB": int(is_transposed)}
        return model_of("QGemm", made.computed, inputs, CONTRIB, **given), 0

    return build


def between_casts(
    operator: str,
    shapes: Sequence[Sequence[int]],
    factors: Sequence[int] = (),
    bias: int = 0,
    **attributes: Any,
) -> Build:
    """An operator on floats between DequantizeLinear and QuantizeLinear.

    The operands numbered in `factors` may be constants; a bias is one of floats.
    """

    def build(made: Operands, dtype: Any) -> Built:
        nodes, constants, names = [], {}, []
        for number, shape in enumerate(shapes):
            operand = made.tensor(shape, dtype, may_be=number in factors)
            stored = [f"q{number}", f"s{number}", f"z{number}"]
            for name, value in zip(stored, operand, strict=True):
                if isinstance(value, np.ndarray):
                    constants[name] = value
            inputs = [operand[0] if isinstance(operand[0], str) else stored[0]]
            inputs += stored[1:]
            names.append(f"d{number}")
            nodes.append(helper.make_node("DequantizeLinear", inputs, names[-1:]))
        if bias:
            constants["b"] = made.generator.standard_normal(bias).astype(np.float32)
            names.append("b")
        constants["s"], constants["z"] = made.parameters(dtype)
        nodes.append(helper.make_node(operator, names, ["f"], **attributes))
        nodes.append(helper.make_node("QuantizeLinear", ["f", "s", "z"], ["y"]))
        return graph_of(nodes, made.computed, constants), 1

    return build


def graph_of(
    nodes: Sequence[Any], computed: dict[str, Array], constants: dict[str, Array]
) -> ModelProto:
    """A model of several nodes."""
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in computed.items()
    ]
    initial = [
        numpy_helper.from_array(array, name) for name, array in constants.items()
    ]
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph(nodes, "casts", inputs, outputs, initial)
    opsets = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


Cases = Iterator[tuple[str, Build]]
"""What is built, by a name for the test's report."""


def element_cases() -> Cases:
    """Functions, sums, casts and movement of tensors of every rank."""
    for shape in SHAPES:
        for operator in ("QLinearAdd", "QLinearMul"):
            yield f"{operator}-{shape}", binary(operator, shape)
        for operator in ("QLinearSigmoid", "QLinearLeakyRelu"):
            yield f"{operator}-{shape}", function(operator, shape)
        yield f"QLinearConcat-{shape}", concat(shape, len(shape) - 1)
        for operator in ("QuantizeLinear", "DequantizeLinear"):
            yield f"{operator}-{shape}", cast(operator, shape, None)
            yield f"{operator}-{shape}-axis", cast(operator, shape, len(shape) - 1)
        for operator in ("Relu", "Sigmoid", "Clip", "LeakyRelu"):
            yield f"{operator}-{shape}", between_casts(operator, [shape])
        for operator in ("Add", "Sub", "Mul", "Max", "Min"):
            operands = [shape, shape[-1:]]
            yield f"{operator}-{shape}", between_casts(operator, operands, [1])
        flipped = list(range(len(shape)))[::-1]
        yield f"Transpose-{shape}", between_casts("Transpose", [shape], perm=flipped)
        axes = {"axes": [len(shape) - 1]}
        yield f"ReduceMean-{shape}", between_casts("ReduceMean", [shape], **axes)
        yield f"Concat-{shape}", between_casts("Concat", [shape] * 2, [1], axis=0)


def product_cases() -> Cases:
    """Products of matrices and batches of them."""
    for left, right in FACTORS:
        for channels in (False, True) if len(right) == 2 else (False,):
            name = f"QLinearMatMul-{left}-{right}" + "-channels" * channels
            yield name, matmul(left, right, channels)
        yield f"MatMulInteger-{left}-{right}", integer_matmul(left, right)
        yield f"MatMul-{left}-{right}", between_casts("MatMul", [left, right], [1])
    for rows in (1, 3):
        for transposed in (False, True):
            name = f"{rows}-transB" if transposed else f"{rows}"
            yield f"QGemm-{name}", gemm(transposed, rows)
            shapes = [(rows, 3), (4, 3) if transposed else (3, 4)]
            product = between_casts("Gemm", shapes, [1], 4, transB=int(transposed))
            yield f"Gemm-{name}", product


def window_cases() -> Cases:
    """Convolutions and pools."""
    for image, weights, given in WINDOWS:
        yield f"QLinearConv-{image}-{weights}", convolution(image, weights, given)
        yield f"ConvInteger-{image}", integer_convolution(image, weights, given)
        conv = between_casts("Conv", [image, weights], [1], weights[0], **given)
        yield f"Conv-{image}-{weights}", conv
    for shape in ((1, 2, 1, 1), (2, 3, 4, 5), (1, 1, 7, 1)):
        kernel = {"kernel_shape": [min(2, shape[2]), 1], "strides": [2, 1]}
        yield f"QLinearGlobalAveragePool-{shape}", pool(shape, None)
        yield f"QLinearAveragePool-{shape}", pool(shape, kernel)
        yield f"AveragePool-{shape}", between_casts("AveragePool", [shape], **kernel)
        yield f"MaxPool-{shape}", between_casts("MaxPool", [shape], **kernel)
        global_pool = between_casts("GlobalAveragePool", [shape])
        yield f"GlobalAveragePool-{shape}", global_pool


CASES = dict([*element_cases(), *product_cases(), *window_cases()])


@pytest.mark.parametrize("name", CASES)
def test_operators_give_the_integers_of_onnxruntime(name: str) -> None:
    """The interpreter, with both kinds of factors; native code in a third of the cases."""
    seed = sum(map(ord, name))
    for constant in (False, True):
        made = Operands(np.random.default_rng(seed), constant)
        model, steps = CASES[name](made, BYTES[seed % 2])
        (mine,), (other,) = ours_and_theirs(model, made.computed)
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
        if mine.dtype.kind == "f":
            np.testing.assert_array_equal(mine, other)
        difference = np.abs(mine.astype(np.float64) - other.astype(np.float64))
        assert difference.max(initial=0) <= steps
        if seed % 3 == 0:
            (compiled,) = glow.compile(model, threads=1).run(made.computed).values()
            np.testing.assert_array_equal(compiled, mine)


def test_averages_between_casts_round_the_exact_mean() -> None:
    """A tie becomes even; ONNX Runtime may have its neighbour there, and nowhere else."""
    x = whole(np.random.default_rng(0), (1, 8, 16, 16), np.uint8)
    constants = {"s": scalar(0.05), "z": scalar(3, np.uint8)}
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["f"]),
        helper.make_node("AveragePool", ["f"], ["mean"], **pool),
        helper.make_node("QuantizeLinear", ["mean", "s", "z"], ["y"]),
    ]
    model = graph_of(nodes, {"x": x}, constants)
    sums = (x.astype(np.int64) - 3).reshape(1, 8, 8, 2, 8, 2).sum((3, 5))
    (mine,), (other,) = ours_and_theirs(model, {"x": x})
    np.testing.assert_array_equal(mine, np.rint(sums / 4) + 3)
    (compiled,) = glow.compile(model, threads=1).run({"x": x}).values()
    np.testing.assert_array_equal(compiled, mine)
    assert (other == mine)[sums % 4 != 2].all()
    assert np.abs(other.astype(int) - mine).max() <= 1
