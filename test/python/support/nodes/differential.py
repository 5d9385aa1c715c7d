"""Examples of single nodes, with inputs, for comparing one executor with another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint

from glow.dialects import glow
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
    result: TensorType[Attribute] | None = None
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
        node = self.node.build_node(block.args, results, **self.attributes)
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


def rows_with_nan(size: int) -> Array:
    """Rows of numbers with a NaN first, last, several times, all along, and by infinities."""
    rows = random_array((8, size))
    rows[0, 0] = rows[1, -1] = np.nan
    rows[2, size // 3 :: 4] = np.nan
    rows[3] = np.nan
    rows[4, 0], rows[4, size // 2], rows[4, -1] = np.inf, np.nan, np.inf
    rows[5, 0], rows[5, size // 2] = -np.inf, np.inf
    rows[6] = -np.inf
    rows[7] = np.inf
    return rows


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
