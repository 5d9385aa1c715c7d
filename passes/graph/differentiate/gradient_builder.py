"""What rules build the backward graph with: few nodes, since each costs compile time.

    builder.mul(gradient, x)     gradient * x; x alone if the gradient is the number 1
    builder.sum(x, [0])          the sum along axis 0; x itself along no axes

It writes formulas (`Formula`) too, so the derivatives of element-wise nodes are written by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, prod
from typing import TypeAlias, TypeGuard

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.elementwise import (
    FloatUnaryOp,
    NumberBinaryOp,
    NumberUnaryOp,
    is_integer,
)
from glow.dialects.locations import named_location, node_name
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.matching import number_of
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    element_type,
    erase,
    like,
)
from glow.passes.rewriting.tensor_builder import Tensors

FOLDED = (NumberBinaryOp, NumberUnaryOp, FloatUnaryOp)
"""Bases of the nodes that are computed at once where their operands are numbers."""


Gradients: TypeAlias = Sequence[SSAValue | None]
"""Of several values; None stands for zero."""

Rules: TypeAlias = Mapping[type[Operation], Callable[..., Gradients]]
"""Operation class to rule (`rules.Rule`)."""


class GradientBuilder(Tensors, NodeBuilder):
    """Inserts nodes of a backward graph before `anchor`.

    `needed` are the values whose gradients are asked for, and those that depend on them;
    `rules` those of all operations, which regions are differentiated by.
    """

    def __init__(self, anchor: Operation, needed: set[SSAValue], rules: Rules) -> None:
        NodeBuilder.__init__(self, anchor)
        Tensors.__init__(self, self)
        self.needed = needed
        self.rules = rules
        self.inserted: dict[Operation, None] = {}
        self._numbers: dict[tuple[float, Attribute], SSAValue] = {}

    def stand_for(self, op: Operation) -> None:
        """What is built from now on belongs to the derivative of an operation."""
        name = node_name(op)
        self.location = named_location(f"{name}.grad") if name else op.location

    def insert(self, op: Operation) -> Operation:
        """The operation, placed before the anchor."""
        self.inserted[op] = None
        return super().insert(op)

    def erase_unused(self) -> None:
        """Erase what rules have built for values that need no gradient."""
        for op in reversed(self.inserted):
            if op.parent is not None and not any(result.uses for result in op.results):
                erase(op)

    def name(self, value: SSAValue, hint: str) -> None:
        """Call what this builder has made by a name in text, unless it has one.

        Numbers have none, since they serve many.
        """
        owner = value.owner
        is_own = isinstance(owner, Operation) and owner in self.inserted
        if is_own and not isinstance(owner, glow.SplatOp) and value.name_hint is None:
            if SSAValue.is_valid_name(hint):
                value.name_hint = hint

    def splat(self, number: float, element_type: Attribute) -> SSAValue:
        """One number of rank 0, which broadcasts to anything; built once."""
        key = (number, element_type)
        if key not in self._numbers:
            self._numbers[key] = super().splat(number, element_type)
        return self._numbers[key]

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """An element-wise node without attributes, or what is the same.

        Where an operand is neutral the other one comes back, which may be of a smaller shape
        that broadcasts to that of the result.
        """
        numbers = [self.number_in(operand) for operand in operands]
        if issubclass(node, FOLDED) and all_numbers(numbers):
            arrays = [np.asarray(number, np.float64) for number in numbers]
            with np.errstate(all="ignore"):
                result = float(glow.FACTS[node].reference(*arrays))
            if isfinite(result):
                return self.splat(result, element_type(operands[0]))
        neutral = glow.FACTS[node].neutral
        if neutral is not None and numbers[1] == neutral:
            return operands[0]
        if neutral is not None and glow.FACTS[node].commutative:
            if numbers[0] == neutral:
                return operands[1]
        if node is glow.MulOp and numbers[1] is not None:
            return self._multiple(operands[0], operands[1], numbers[1])
        return super().apply(node, *operands)

    def _multiple(self, value: SSAValue, factor: SSAValue, number: float) -> SSAValue:
        """value * factor; numbers that gradients are multiplied with become one."""
        inner = value.owner
        if isinstance(inner, glow.MulOp) and inner in self.inserted:
            first = self.number_in(inner.rhs)
            if first is not None:
                return self.scale(inner.lhs, first * number)
        return super().apply(glow.MulOp, value, factor)

    def number_in(self, value: SSAValue) -> float | None:
        """The number that all elements of a value are, if it is written in the program."""
        owner = value.owner
        if value in self.needed or is_integer(element_type(value)):
            return None
        if isinstance(owner, glow.ConstantOp) and owner.weight_name is not None:
            return None
        return number_of(value)

    def scale(self, value: SSAValue, factor: float) -> SSAValue:
        """value * factor."""
        return self.mul(value, self.number(factor, value))

    def neg(self, x: SSAValue) -> SSAValue:
        """-x."""
        return self.apply(glow.NegOp, x)

    def sum(
        self, value: SSAValue, axes: Sequence[int], keepdims: bool = False
    ) -> SSAValue:
        """The sum along axes; a reshape where all of them have size 1."""
        shape = shape_of(value)
        kept = [
            1 if axis in axes else size
            for axis, size in enumerate(shape)
            if keepdims or axis not in axes
        ]
        number = self.number_in(value)
        if number is not None:
            count = prod(shape[axis] for axis in axes)
            return self.full(number * count, like(value, kept))
        if all(shape[axis] == 1 for axis in axes):
            return self.reshape(value, kept)
        return self.node(glow.ReduceSumOp, value, axes=sorted(axes), keepdims=keepdims)

    def full(self, number: float, result: TensorType[Attribute]) -> SSAValue:
        """A tensor of one number."""
        if not result.get_shape():
            return self.splat(number, result.element_type)
        op = glow.SplatOp.from_number(number, result)
        return self.insert(op).results[0]

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value under another shape; itself when it has that shape."""
        number = self.number_in(value)
        if number is None or shape_of(value) == tuple(shape):
            return super().reshape(value, shape)
        return self.full(number, like(value, shape))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value repeated to a shape; itself when it has that shape."""
        if shape_of(value) == tuple(shape):
            return value
        number = self.number_in(value)
        if number is not None:
            return self.full(number, like(value, shape))
        if prod(shape_of(value)) == prod(shape):
            return self.reshape(value, shape)
        return self.create(glow.BroadcastOp, [value], {}, types=[like(value, shape)])

    def convert(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value with elements of another type; itself when it has that type."""
        if element_type(value) == element:
            return value
        result = TensorType(element, shape_of(value))
        return self.create(glow.ConvertOp, [value], {}, types=[result])


def all_numbers(numbers: Sequence[float | None]) -> TypeGuard[Sequence[float]]:
    """Whether none is missing."""
    return None not in numbers
