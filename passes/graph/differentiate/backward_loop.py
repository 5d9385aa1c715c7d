"""The loop that goes back through a loop, from its last iteration to the first.

Each computes its values again, from the states with which it began:

    %y = scf.for %i = %0 to %9 iter_args(%s = %x) {      %s.saved : tensor<9x4xf32>
      %next = glow.tanh %s                           ->  scf.for %k ... iter_args(%g = %y.grad) {
      scf.yield %next                                      %s = glow.dynamic_slice %s.saved, %i
    }                                                      ...
                                                           scf.yield %s.grad
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.region_copies import (
    INDEX,
    Values,
    builder_in,
    captured_by,
    go_back,
    zeros_like,
)
from glow.passes.rewriting.node_builder import NodeBuilder, replace_value


class Loop(ABC):
    """A loop, as its backward loop needs it.

    `states` are what it begins with, of which the `active` numbers have a gradient; `end`
    is the index behind the last, a tensor of `i64`, where the number of iterations is data.
    """

    states: Sequence[SSAValue]
    end: SSAValue | None = None

    def __init__(self, builder: GradientBuilder, op: Operation) -> None:
        self.builder = builder
        self.captured = captured_by(builder, op)
        self.active = {k for k, v in enumerate(self.states) if v in builder.needed}
        while (more := self.reached() | self.active) != self.active:
            self.active = more

    @abstractmethod
    def reached(self) -> set[int]:
        """The states after an iteration that depend on what is active and captured."""

    @abstractmethod
    def bounds(self) -> Sequence[SSAValue]:
        """Of the backward loop, which counts upwards."""

    @abstractmethod
    def index(self, builder: NodeBuilder, count: SSAValue) -> SSAValue:
        """The forward index of an iteration of the backward loop, of known bounds."""

    @abstractmethod
    def copy(
        self, builder: NodeBuilder, index: SSAValue, states: Sequence[SSAValue]
    ) -> tuple[list[Operation], list[SSAValue]]:
        """The operations of an iteration again, and the states behind it."""

    @abstractmethod
    def recall(
        self, builder: NodeBuilder, index: SSAValue, numbers: Sequence[int]
    ) -> Sequence[SSAValue]:
        """Some of the states that an iteration begins with."""

    def back(
        self, gradients: Sequence[SSAValue | None]
    ) -> tuple[list[SSAValue | None], Values]:
        """The gradients of the initial states and of what is captured.

        From those of the states behind the loop.
        """
        builder, captured, active = self.builder, self.captured, sorted(self.active)
        given = [gradients[number] for number in active]
        initial = [
            zeros_like(builder, self.states[number]) if gradient is None else gradient
            for number, gradient in zip(active, given, strict=True)
        ]
        initial += [zeros_like(builder, value) for value in captured]
        if self.end is not None:
            initial.insert(0, builder.node(glow.SubOp, self.end, builder.splat(1, i64)))
        types = [value.type for value in initial]
        block = Block(arg_types=[INDEX, *types, *(s.type for s in self.states)])
        inner = builder_in(block, builder)
        first, end, step = self.bounds()
        loop = scf.ForOp(first, end, step, initial, Region(block))
        results = builder.insert(loop).results
        values = block.args[1:]
        index, counter = self._counted_down(NodeBuilder(inner.anchor), values)
        values = values[len(counter) :]
        after, values = values[: len(active)], values[len(active) :]
        known = dict(zip(captured, values, strict=False))
        states = values[len(captured) :]
        ops, ends = self.copy(inner, index, states)
        found = zip((ends[number] for number in active), after, strict=True)
        sources = [*(states[number] for number in active), *captured]
        back = go_back(inner, ops, sources, found, known)
        inner.anchor.operands = [*counter, *back]
        inner.erase_unused()
        self._put_states(block, index, states)
        results = results[len(counter) :]
        of_states: list[SSAValue | None] = [None] * len(self.states)
        for number, result in zip(active, results, strict=False):
            of_states[number] = result
        return of_states, dict(zip(captured, results[len(active) :], strict=True))

    def _counted_down(
        self, builder: NodeBuilder, arguments: Sequence[SSAValue]
    ) -> tuple[SSAValue, list[SSAValue]]:
        """The forward index of an iteration, and the counter's next value if there is one."""
        if self.end is None:
            block = builder.anchor.parent
            assert block is not None
            return self.index(builder, block.args[0]), []
        counter = arguments[0]
        next_ = builder.node(glow.SubOp, counter, builder.splat(1, i64))
        return index_in(builder, counter), [next_]

    def _put_states(
        self, block: Block, index: SSAValue, states: Sequence[BlockArgument]
    ) -> None:
        """Recall the states that the backward iteration reads; none are carried."""
        numbers = [number for number, state in enumerate(states) if state.uses]
        counted = index.owner
        assert isinstance(counted, Operation)
        assert counted.next_op is not None
        if numbers:
            recalled = self.recall(NodeBuilder(counted.next_op), index, numbers)
            for number, value in zip(numbers, recalled, strict=True):
                replace_value(states[number], value)
        for state in states:
            block.erase_arg(state)


def index_in(builder: NodeBuilder, number: SSAValue) -> SSAValue:
    """A number in a tensor as an index."""
    scalar = builder.insert(tensor.ExtractOp(number, [], i64)).results[0]
    return builder.insert(arith.IndexCastOp(scalar, INDEX)).results[0]


def tensor_behind(index: SSAValue) -> SSAValue | None:
    """The tensor of one `i64` that an index was taken from."""
    cast = index.owner
    scalar = cast.operands[0].owner if isinstance(cast, arith.IndexCastOp) else None
    if not isinstance(scalar, tensor.ExtractOp) or scalar.indices:
        return None
    return scalar.tensor if scalar.result.type == i64 else None
