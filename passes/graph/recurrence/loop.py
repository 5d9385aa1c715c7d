"""Reads the body of a counted loop as expressions of its states and of its step's input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from glow.dialects import arith, glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.recurrence.expressions import (
    FUNCTIONS,
    Affine,
    Apply,
    Expression,
    Number,
    Sequence,
    State,
    Weights,
    total,
)
from glow.passes.rewriting.matching import number_of


class UnknownError(Exception):
    """A value that is no expression of a cell."""


@dataclass(frozen=True)
class Stack:
    """A result of the loop that gathers a value of each step."""

    index: int
    value: SSAValue
    is_reversed: bool


@dataclass(frozen=True)
class Factors:
    """What a product multiplies, and adds."""

    x: SSAValue
    weights: SSAValue
    bias: SSAValue | None
    is_transposed: bool

    @classmethod
    def of(cls, op: glow.MatmulOp | glow.FullyConnectedOp) -> Factors:
        """Those of a node; UnknownError unless it is a plain product with a matrix."""
        if isinstance(op, glow.FullyConnectedOp):
            is_plain, bias, is_transposed = op.activation is None, op.bias, False
        else:
            is_plain, bias = op.transpose_lhs is None, None
            is_transposed = op.transpose_rhs is not None
        x, weights = op.operands[:2]
        if not is_plain or len(shape_of(weights)) != 2:
            raise UnknownError
        return cls(x, weights, bias, is_transposed)

    def part(self, columns: tuple[int, int], rows: tuple[int, int]) -> Weights:
        """A part of the weights."""
        return Weights(self.weights, columns, rows, self.is_transposed)


class LoopBody:
    """A loop of `steps` iterations, over states of `batch` rows and `size` columns."""

    def __init__(self, op: scf.ForOp) -> None:
        self.op = op
        self.block: Block = op.body.block
        self.first, self.steps = _trips(op)
        self.stacks: list[Stack] = []
        self.states: list[int] = []
        self.directions: set[bool] = set()
        for index, argument in enumerate(self.block.args[1:]):
            stack = self._stack(index, argument)
            if stack is None:
                self.states.append(index)
            else:
                self.stacks.append(stack)
        if not 1 <= len(self.states) <= 2:
            raise UnknownError
        shapes = {shape_of(self.block.args[1 + one]) for one in self.states}
        if len(shapes) != 1 or not (shape := shapes.pop()):
            raise UnknownError
        self.batch, self.size = prod(shape[:-1]), shape[-1]

    def yielded(self, index: int) -> SSAValue:
        """What a state becomes."""
        last = self.block.last_op
        assert last is not None
        return last.operands[index]

    def _stack(self, index: int, argument: BlockArgument) -> Stack | None:
        """A state that is written at the step's place, and not read."""
        update = self.yielded(index).owner
        if not isinstance(update, glow.DynamicUpdateOp) or update.input is not argument:
            return None
        uses = list(argument.uses)
        if len(uses) != 1 or shape_of(argument)[0] != self.steps:
            raise UnknownError
        return Stack(index, update.value, self._is_reversed(update.index))

    def _is_reversed(self, index: SSAValue) -> bool:
        """Whether a place counts from the end; UnknownError if neither way."""
        factor, offset = self._counted(index)
        if (factor, offset) == (1, -self.first):
            return False
        if (factor, offset) == (-1, self.first + self.steps - 1):
            return True
        raise UnknownError

    def _counted(self, value: SSAValue) -> tuple[int, int]:
        """a and b of `a * counter + b`."""
        if value is self.block.args[0]:
            return 1, 0
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr() as number):
                return 0, number.value.data
            case arith.AddiOp() as op:
                (a, b), (c, d) = map(self._counted, op.operands)
                return a + c, b + d
            case arith.SubiOp() as op:
                (a, b), (c, d) = map(self._counted, op.operands)
                return a - c, b - d
            case _:
                raise UnknownError

    def is_constant(self, value: SSAValue) -> bool:
        """Whether a value is the same in all steps."""
        owner = value.owner
        if not self._is_inside(value):
            return True
        return (
            isinstance(owner, NodeOp)
            and not owner.regions
            and all(self.is_constant(operand) for operand in owner.operands)
        )

    def _is_inside(self, value: SSAValue) -> bool:
        owner = value.owner
        return (owner if isinstance(owner, Block) else owner.parent) is self.block

    def read(self, value: SSAValue, start: int, size: int) -> Expression:
        """The expression of some columns of a value."""
        number = number_of(value)
        if number is not None:
            return Number(number)
        if self.is_constant(value):
            return Affine(biases=(self._bias(value, start, size),))
        if isinstance(value, BlockArgument):
            return self._state(value, start, size)
        if self.batch * shape_of(value)[-1] != prod(shape_of(value)):
            raise UnknownError
        assert isinstance(value.owner, Operation)
        moved = self._moved(value.owner, start, size)
        if moved is not None:
            return self.read(*moved)
        return self._computed(value.owner, start, size)

    def _moved(
        self, op: Operation, start: int, size: int
    ) -> tuple[SSAValue, int, int] | None:
        """Where the columns come from that an operation hands on."""
        match op:
            case glow.SliceOp(input=x):
                return x, start + _only_last(op), size
            case glow.ConcatOp():
                return *_piece(op, start, size), size
            case glow.ReshapeOp(input=x) if _keeps_columns(op):
                return x, start, size
            case _:
                return None

    def _computed(self, op: Operation, start: int, size: int) -> Expression:
        match op:
            case glow.MatmulOp() | glow.FullyConnectedOp():
                factors = Factors.of(op)
                products = tuple(self._products(factors, start, size))
                return Affine(products, self._biases(factors, start, size))
            case glow.DynamicSliceOp():
                return self._projected(self._element(op), (start, size))
            case glow.ReluOp():
                return Apply(glow.ReluOp, (self.read(op.inputs[0], start, size),))
            case NodeOp() if isinstance(op, glow.MaxOp) and 0 in map(
                number_of, op.operands
            ):
                x = op.operands[number_of(op.operands[0]) == 0]
                return Apply(glow.ReluOp, (self.read(x, start, size),))
            case _ if type(op) in FUNCTIONS:
                return self._applied(op, start, size)
            case _:
                raise UnknownError

    def _applied(self, op: Operation, start: int, size: int) -> Expression:
        shape = shape_of(op.results[0])
        for operand in op.operands:
            if not self.is_constant(operand) and shape_of(operand) != shape:
                raise UnknownError
        operands = tuple(self.read(one, start, size) for one in op.operands)
        if isinstance(op, glow.AddOp):
            return total(*operands)
        return Apply(type(op), operands)

    def _state(self, value: BlockArgument, start: int, size: int) -> Expression:
        index = value.index - 1
        if index not in self.states or (start, size) != (0, self.size):
            raise UnknownError
        return State(index)

    def _bias(self, value: SSAValue, start: int, size: int) -> Weights:
        """Columns of a value whose rows are all the same."""
        shape, owner = shape_of(value), value.owner
        if (
            isinstance(owner, glow.BroadcastOp)
            and shape_of(owner.input)[-1:] == shape[-1:]
        ):
            return self._bias(owner.input, start, size)
        if not shape or start + size > shape[-1]:
            raise UnknownError
        if prod(shape) != shape[-1]:
            array = constant_value(value)
            if array is None or (array != array.reshape(-1, shape[-1])[0]).any():
                raise UnknownError
        return Weights(value, (start, size))

    def _biases(self, factors: Factors, start: int, size: int) -> tuple[Weights, ...]:
        bias = factors.bias
        return () if bias is None else (self._bias(bias, start, size),)

    def _products(
        self, factors: Factors, start: int, size: int
    ) -> Iterator[tuple[Expression, Weights]]:
        """Each part of the left operand with the rows of the weights that it meets."""
        if not self.is_constant(factors.weights):
            raise UnknownError
        parts = factors.x.owner
        inputs = [factors.x]
        if isinstance(parts, glow.ConcatOp):
            inputs = list(parts.operands)
            if parts.axis.value.data != len(shape_of(factors.x)) - 1:
                raise UnknownError
        row = 0
        for one in inputs:
            width = shape_of(one)[-1]
            rows = (row, width)
            yield self._source(one, width), factors.part((start, size), rows)
            row += width

    def _source(self, value: SSAValue, width: int) -> Expression:
        owner = value.owner
        if isinstance(owner, glow.ReshapeOp) and _keeps_columns(owner):
            return self._source(owner.input, width)
        if isinstance(owner, glow.DynamicSliceOp):
            return Sequence(self._element(owner))
        return self.read(value, 0, width)

    def _element(self, op: glow.DynamicSliceOp) -> SSAValue:
        """The sequence of which a step reads its element."""
        shape = shape_of(op.input)
        is_whole = shape[0] == self.steps and prod(shape[1:-1]) == self.batch
        if self._is_inside(op.input) or not is_whole:
            raise UnknownError
        self.directions.add(self._is_reversed(op.index))
        return op.input

    def _projected(
        self,
        value: SSAValue,
        columns: tuple[int, int],
        path: tuple[Operation, ...] = (),
    ) -> Expression:
        """A product that was made of the whole sequence before the loop."""
        op = value.owner
        match op:
            case glow.AddOp():
                lhs, rhs = op.operands
                if shape_of(lhs) != shape_of(value):
                    lhs, rhs = rhs, lhs
                bias = Affine(biases=(self._bias(rhs, *columns),))
                return total(self._projected(lhs, columns, path), bias)
            case glow.MatmulOp() | glow.FullyConnectedOp():
                factors = Factors.of(op)
                weights = factors.part(columns, (0, shape_of(factors.x)[-1]))
                products = ((Sequence(factors.x, path), weights),)
                return Affine(products, self._biases(factors, *columns))
            case glow.ReshapeOp(input=x) if _keeps_columns(op):
                return self._projected(x, columns, (op, *path))
            case glow.TransposeOp(input=x) if _keeps_last(op):
                return self._projected(x, columns, (op, *path))
            case _:
                raise UnknownError


def _keeps_columns(op: glow.ReshapeOp) -> bool:
    return shape_of(op.input)[-1:] == shape_of(op.results[0])[-1:]


def _keeps_last(op: glow.TransposeOp) -> bool:
    permutation = op.attributes_view().ints("permutation")
    return permutation[-1] == len(permutation) - 1


def _trips(op: scf.ForOp) -> tuple[int, int]:
    """The first number and how many."""
    bounds = list[int]()
    for value in (op.lb, op.ub, op.step):
        owner = value.owner
        if not isinstance(owner, arith.ConstantOp):
            raise UnknownError
        attribute: Attribute = owner.value
        if not isinstance(attribute, IntegerAttr):
            raise UnknownError
        bounds.append(attribute.value.data)
    first, end, step = bounds
    if step != 1 or end <= first:
        raise UnknownError
    return first, end - first


def _only_last(op: glow.SliceOp) -> int:
    """Where a slice of columns begins."""
    attributes = op.attributes_view()
    starts, sizes, steps = map(attributes.ints, ("starts", "sizes", "steps"))
    if set(steps) != {1} or any(starts[:-1]):
        raise UnknownError
    if sizes[:-1] != shape_of(op.input)[:-1]:
        raise UnknownError
    return starts[-1]


def _piece(op: glow.ConcatOp, start: int, size: int) -> tuple[SSAValue, int]:
    """The operand that has some columns, and where they begin in it."""
    if op.axis.value.data != len(shape_of(op.result)) - 1:
        raise UnknownError
    for operand in op.operands:
        width = shape_of(operand)[-1]
        if start < width:
            if start + size > width:
                raise UnknownError
            return operand, start
        start -= width
    raise UnknownError
