"""Appends operations of StableHLO, each method one of them or a common few.

Attributes are those that the specification requires; what has a default is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from glow.dialects.attributes import ints_attr
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.stablehlo.attributes import (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    ConvAttr,
    DotAttr,
    GatherAttr,
    ScatterAttr,
    word,
)
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import numpy_to_dense
from glow.exporters.programs.operations import operation
from glow.exporters.programs.writer import ProgramWriter, type_like


def integer(value: int) -> IntegerAttr:
    """`value : i64`."""
    return IntegerAttr(value, i64)


def pairs(rows: Sequence[Sequence[int]]) -> DenseIntOrFPElementsAttr:
    """`dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>`."""
    return numpy_to_dense(np.array(rows, np.int64).reshape(len(rows), 2))


class HloWriter(ProgramWriter):
    """A function of StableHLO."""

    CONSTANT: ClassVar[str] = "stablehlo.constant"

    # Element-wise operations

    def op(
        self,
        name: str,
        *operands: SSAValue,
        to: TensorType[Attribute] | None = None,
        **properties: Attribute,
    ) -> SSAValue:
        """An operation whose result has the type of the first operand, or another."""
        types = [operands[0].type if to is None else to]
        full = name if "." in name else f"stablehlo.{name}"
        return self.emit(full, operands, types, properties)

    def together(
        self, *values: SSAValue, shape: Sequence[int] | None = None
    ) -> list[SSAValue]:
        """The values, broadcast to one shape as NumPy does."""
        if shape is None:
            shape = broadcast_shape([shape_of(value) for value in values])
        return [self.broadcast(value, shape) for value in values]

    def number(self, number: float, like: SSAValue) -> SSAValue:
        """A number, as often as a value has elements."""
        return self.splat(number, shape_of(like), element_of(like))

    def scalar(self, number: float, element: Attribute) -> SSAValue:
        """A number of rank 0."""
        return self.splat(number, (), element)

    def compare(
        self, direction: str, lhs: SSAValue, rhs: SSAValue, order: str = "FLOAT"
    ) -> SSAValue:
        """EQ, NE, LT, LE, GT or GE of values of one type; `order` is that of floats."""
        kind = dtype_of(element_of(lhs)).kind
        names = {"b": "UNSIGNED", "u": "UNSIGNED", "i": "SIGNED"}
        return self.op(
            "compare",
            lhs,
            rhs,
            to=type_like(lhs, element=i1),
            comparison_direction=word(ComparisonDirectionAttr, direction),
            compare_type=word(ComparisonTypeAttr, names.get(kind, order)),
        )

    def select(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs` where the condition holds; all of one shape."""
        return self.op("select", condition, lhs, rhs, to=type_like(lhs))

    def convert(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The elements in another type."""
        if element_of(value) == element:
            return value
        return self.op("convert", value, to=type_like(value, element=element))

    def as_boolean(self, value: SSAValue) -> SSAValue:
        """Whether elements are not 0."""
        return self.compare("NE", value, self.number(0, value))

    # Movement

    def broadcast(
        self,
        value: SSAValue,
        shape: Sequence[int],
        axes: Sequence[int] | None = None,
    ) -> SSAValue:
        """The value in a shape, its axes put at `axes`, by default the last ones."""
        own = shape_of(value)
        if own == tuple(shape):
            return value
        if axes is None:
            axes = range(len(shape) - len(own), len(shape))
        to = type_like(value, shape)
        return self.op(
            "broadcast_in_dim", value, to=to, broadcast_dimensions=ints_attr(*axes)
        )

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value in another shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.op("reshape", value, to=type_like(value, shape))

    def transpose(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """The value with its axes in another order."""
        shape = [shape_of(value)[axis] for axis in order]
        to = type_like(value, shape)
        return self.op("transpose", value, to=to, permutation=ints_attr(*order))

    def slice(
        self,
        value: SSAValue,
        starts: Sequence[int],
        sizes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> SSAValue:
        """So many elements of each axis; steps are positive."""
        if tuple(sizes) == shape_of(value) and not any(starts):
            return value
        steps = steps or [1] * len(starts)
        limits = [
            start + (size - 1) * step + 1 if size else start
            for start, size, step in zip(starts, sizes, steps, strict=True)
        ]
        return self.op(
            "slice",
            value,
            to=type_like(value, sizes),
            start_indices=ints_attr(*starts),
            limit_indices=ints_attr(*limits),
            strides=ints_attr(*steps),
        )

    def pad(
        self, value: SSAValue, low: Sequence[int], high: Sequence[int], number: float
    ) -> SSAValue:
        """The value with a border of a number; negative ones crop."""
        shape = [
            size + before + behind
            for size, before, behind in zip(shape_of(value), low, high, strict=True)
        ]
        return self.op(
            "pad",
            value,
            self.scalar(number, element_of(value)),
            to=type_like(value, shape),
            edge_padding_low=ints_attr(*low),
            edge_padding_high=ints_attr(*high),
            interior_padding=ints_attr(*[0] * len(shape)),
        )

    def concatenate(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """The values behind each other along an axis."""
        shape = list(shape_of(values[0]))
        shape[axis] = sum(shape_of(value)[axis] for value in values)
        to = type_like(values[0], shape)
        return self.op("concatenate", *values, to=to, dimension=integer(axis))

    def iota(self, shape: Sequence[int], axis: int, element: Attribute) -> SSAValue:
        """The position along an axis."""
        to = tensor_type(shape, element)
        return self.emit("stablehlo.iota", [], [to], {"iota_dimension": integer(axis)})

    # Products, windows, reductions

    def dot(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        dimensions: Mapping[str, Sequence[int]],
        to: TensorType[Attribute],
    ) -> SSAValue:
        """A product: batch axes, free ones of lhs, free ones of rhs."""
        numbers = DotAttr.of(dimensions)
        return self.op("dot_general", lhs, rhs, to=to, dot_dimension_numbers=numbers)

    def convolution(
        self,
        value: SSAValue,
        weights: SSAValue,
        to: TensorType[Attribute],
        window: Mapping[str, Sequence[int]],
        padding: Sequence[Sequence[int]],
        group: int,
    ) -> SSAValue:
        """A convolution of [N, C, ...] with [O, I, ...]; `window` has lists by property."""
        axes = [str(axis) for axis in range(len(padding))]
        return self.op(
            "convolution",
            value,
            weights,
            to=to,
            dimension_numbers=ConvAttr.of(
                ["b", "f", *axes], ["o", "i", *axes], ["b", "f", *axes]
            ),
            feature_group_count=integer(group),
            batch_group_count=integer(1),
            padding=pairs(padding),
            **{name: ints_attr(*numbers) for name, numbers in window.items()},
        )

    def body(self, name: str, element: Attribute) -> Region:
        """The region that combines two numbers by one operation."""
        scalar = tensor_type((), element)
        block = Block(arg_types=[scalar, scalar])
        with self.inside(block):
            combined = self.op(name, *block.args)
            self.append(operation("stablehlo.return", [combined]))
        return Region(block)

    def reduce_window(
        self,
        value: SSAValue,
        how: tuple[str, SSAValue],
        to: TensorType[Attribute],
        window: Mapping[str, Sequence[int]],
        padding: Sequence[Sequence[int]],
    ) -> SSAValue:
        """What an operation makes of each window, from a start on."""
        name, start = how
        element = element_of(value)
        properties: dict[str, Attribute] = {
            key: ints_attr(*numbers) for key, numbers in window.items()
        }
        properties["padding"] = pairs(padding)
        return self.emit(
            "stablehlo.reduce_window",
            [value, start],
            [to],
            properties,
            [self.body(name, element)],
        )

    def reduce(
        self, value: SSAValue, how: tuple[str, float], axes: Sequence[int]
    ) -> SSAValue:
        """What an operation makes of all elements along axes, which it drops."""
        name, start = how
        element = element_of(value)
        kept = [size for at, size in enumerate(shape_of(value)) if at not in axes]
        return self.emit(
            "stablehlo.reduce",
            [value, self.scalar(start, element)],
            [type_like(value, kept)],
            {"dimensions": ints_attr(*axes)},
            [self.body(name, element)],
        )

    # Indexing

    def starts(self, index: SSAValue, rank: int) -> list[SSAValue]:
        """The start of a slice at an index of axis 0."""
        zero = self.scalar(0, element_of(index))
        return [index, *[zero] * (rank - 1)]

    def gather(
        self,
        value: SSAValue,
        indices: SSAValue,
        lists: Mapping[str, Sequence[int]],
        sizes: Sequence[int],
        to: TensorType[Attribute],
        vector_axis: int,
    ) -> SSAValue:
        """Slices of so many elements; the positions have their coordinates along an axis."""
        numbers = GatherAttr.of(lists, vector_axis)
        return self.op(
            "gather",
            value,
            indices,
            to=to,
            dimension_numbers=numbers,
            slice_sizes=ints_attr(*sizes),
            indices_are_sorted=BoolAttr.from_bool(False),
        )

    def scatter(
        self, operands: Sequence[SSAValue], numbers: ScatterAttr, name: str
    ) -> SSAValue:
        """Updates at positions, combined by an operation, or (no name) written."""
        element = element_of(operands[0])
        scalar = tensor_type((), element)
        block = Block(arg_types=[scalar, scalar])
        with self.inside(block):
            new = self.op(name, *block.args) if name else block.args[1]
            self.append(operation("stablehlo.return", [new]))
        flag = BoolAttr.from_bool(False)
        properties: dict[str, Attribute] = {
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": flag,
            "unique_indices": flag,
        }
        types = [operands[0].type]
        return self.emit(
            "stablehlo.scatter", operands, types, properties, [Region(block)]
        )
