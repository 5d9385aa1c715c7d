"""Appends operations of TOSA 1.0: operands have one rank, and images their channels last."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ShapedType,
    TensorType,
    UnregisteredAttr,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.quantized import is_quantized, stored_type
from glow.dialects.weights import numpy_to_dense
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import ProgramWriter, type_like


def integer(value: int) -> IntegerAttr[IntegerType]:
    """`value : i32`."""
    return IntegerAttr(value, i32)


class TosaWriter(ProgramWriter):
    """A function of TOSA."""

    CONSTANT: ClassVar[str] = "tosa.const"
    VALUE: ClassVar[str] = "values"

    def op(
        self,
        name: str,
        *operands: SSAValue,
        to: TensorType[Attribute] | None = None,
        **properties: Attribute,
    ) -> SSAValue:
        """An operation whose result has the type of the first operand, or another."""
        types = [operands[0].type if to is None else to]
        kinds = [*types, *(operand.type for operand in operands)]
        if any(isinstance(one, ShapedType) and 0 in one.get_shape() for one in kinds):
            raise CannotExport("of a tensor without elements")
        return self.emit(f"tosa.{name}", operands, types, properties)

    def type_of(self, kind: Attribute) -> Attribute:
        """Quantized elements as the integers that are stored."""
        if not is_quantized(kind):
            return kind
        return stored_type(cast("TensorType[Attribute]", kind))

    # Constants

    def shape(self, sizes: Sequence[int]) -> SSAValue:
        """The operand that says a shape."""
        count = max(len(sizes), 0)
        kind = UnregisteredAttr.with_name_and_type("tosa.shape", True)
        held = kind("tosa.shape", True, False, str(count))
        values = numpy_to_dense(np.array(sizes, np.int64))
        held_type = cast("TensorType[IndexType]", tensor_type([count], IndexType()))
        index = DenseIntOrFPElementsAttr(held_type, values.data)
        return self.emit("tosa.const_shape", [], [held], {"values": index})

    def one(self, number: float, element: Attribute, rank: int = 1) -> SSAValue:
        """A number of a rank, which broadcasts."""
        return self.splat(number, [1] * rank, element)

    def zero_point(self, element: Attribute) -> SSAValue:
        """The zero point of elements that have none."""
        return self.one(0, element)

    def as_boolean(self, value: SSAValue) -> SSAValue:
        """Whether elements are not 0."""
        return self.op("cast", value, to=type_like(value, element=IntegerType(1)))

    # Movement

    def reshape(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """The value in another shape."""
        if shape_of(value) == tuple(sizes):
            return value
        return self.op("reshape", value, self.shape(sizes), to=type_like(value, sizes))

    def transpose(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """The value with its axes in another order."""
        if list(order) == list(range(len(order))):
            return value
        sizes = [shape_of(value)[axis] for axis in order]
        perms = DenseArrayBase.from_list(i32, order)
        return self.op("transpose", value, to=type_like(value, sizes), perms=perms)

    def slice(
        self, value: SSAValue, starts: Sequence[int], sizes: Sequence[int]
    ) -> SSAValue:
        """A part of the value."""
        if tuple(sizes) == shape_of(value):
            return value
        places = [self.shape(starts), self.shape(sizes)]
        return self.op("slice", value, *places, to=type_like(value, sizes))

    def pad(
        self, value: SSAValue, low: Sequence[int], high: Sequence[int], number: float
    ) -> SSAValue:
        """The value with a border of a number."""
        if not any((*low, *high)):
            return value
        sizes = [
            size + before + behind
            for size, before, behind in zip(shape_of(value), low, high, strict=True)
        ]
        pairs = [one for pair in zip(low, high, strict=True) for one in pair]
        operands = [self.shape(pairs), self.one(number, element_of(value))]
        return self.op("pad", value, *operands, to=type_like(value, sizes))

    def tile(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """The value repeated along its axes of size 1."""
        own = shape_of(value)
        if own == tuple(sizes):
            return value
        counts = [
            wanted if size == 1 else 1 for size, wanted in zip(own, sizes, strict=True)
        ]
        return self.op("tile", value, self.shape(counts), to=type_like(value, sizes))

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """The values behind each other."""
        sizes = list(shape_of(values[0]))
        sizes[axis] = sum(shape_of(value)[axis] for value in values)
        to = type_like(values[0], sizes)
        return self.op("concat", *values, to=to, axis=integer(axis))

    # Arithmetic

    def together(self, *values: SSAValue) -> tuple[list[SSAValue], tuple[int, ...]]:
        """The values in one rank, and the shape that they broadcast to."""
        shape = broadcast_shape([shape_of(value) for value in values])
        ranked = [
            self.reshape(
                value, [*[1] * (len(shape) - len(shape_of(value))), *shape_of(value)]
            )
            for value in values
        ]
        return ranked, tuple(shape)

    def binary(
        self, name: str, *values: SSAValue, element: Attribute | None = None
    ) -> SSAValue:
        """An operation on values that broadcast."""
        ranked, shape = self.together(*values)
        to = type_like(values[0], shape, element)
        more = [self.one(0, i8)] if name == "mul" else []
        return self.op(name, *ranked, *more, to=to)

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The elements in another type; floats are rounded."""
        if element_of(value) == element:
            return value
        return self.op("cast", value, to=type_like(value, element=element))

    def reduce(self, name: str, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """A reduction along axes, which stay with size 1."""
        for axis in axes:
            sizes = list(shape_of(value))
            sizes[axis] = 1
            to = type_like(value, sizes)
            value = self.op(f"reduce_{name}", value, to=to, axis=integer(axis))
        return value

    def product(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        zeros: Sequence[int] = (0, 0),
        total: Attribute | None = None,
    ) -> SSAValue:
        """[B, M, K] x [B, K, N], of elements less their zero points."""
        points = [self.one(zero, element_of(lhs)) for zero in zeros]
        to = type_like(lhs, [*shape_of(lhs)[:2], shape_of(rhs)[2]], total)
        return self.op("matmul", lhs, rhs, *points, to=to)


def collapsed(shape: Sequence[int]) -> int:
    """The number of matrices of a batch."""
    return prod(shape[:-2])
