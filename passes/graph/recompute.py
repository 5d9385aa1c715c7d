"""Computes cheap values again instead of keeping them, where that lowers the peak.

A value that is read soon and again much later is alive in between. If a data-parallel
node makes it of values that are alive at the later reader anyway, a second node in front
of that reader frees its memory in between. The pass does so for the values alive at the
peak as long as the peak sinks; it knows the order of the program, so it runs last.

    %1 = glow.tanh %x                  %1 = glow.tanh %x
    %2 = ... %1, then large values     %2 = ... %1, then large values
    %3 = glow.add %2, %1               %4 = glow.tanh %x
                                       %3 = glow.add %2, %4
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import DataParallel, NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.passes.rewriting.contract import GraphPass
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, replace_value

STORAGE = (glow.ConstantOp, glow.SplatOp)
MAX_COPIES = 64


class Liveness:
    """Which values of a block are alive at which operation, and their bytes."""

    def __init__(self, block: Block) -> None:
        self.ops = list(block.ops)
        self.place = {op: place for place, op in enumerate(self.ops)}
        values: list[SSAValue] = [
            *block.args,
            *(r for op in self.ops if not isinstance(op, STORAGE) for r in op.results),
        ]
        self.spans = {value: self.span(value) for value in values}

    def span(self, value: SSAValue) -> tuple[int, int]:
        """The first and the last operation at which a value is alive."""
        readers = [
            self.place.get(_at_top(use.operation, self.place), 0) for use in value.uses
        ]
        owner = value.owner
        first = self.place[owner] if isinstance(owner, Operation) else 0
        return first, max([first, *readers])

    def peak(self) -> tuple[int, int]:
        """The most bytes alive at once, and where."""
        changes = [0] * (len(self.ops) + 1)
        for value, (first, last) in self.spans.items():
            changes[first] += _bytes(value)
            changes[last + 1] -= _bytes(value)
        alive, most, where = 0, 0, 0
        for place, change in enumerate(changes):
            alive += change
            if alive > most:
                most, where = alive, place
        return most, where

    def is_alive(self, value: SSAValue, place: int) -> bool:
        """Whether a value is alive at an operation, or needs no memory."""
        if value not in self.spans:
            return isinstance(value.owner, STORAGE)
        first, last = self.spans[value]
        return first <= place <= last


def _at_top(op: Operation, place: dict[Operation, int]) -> Operation:
    """The operation of the block that holds `op`."""
    while op not in place and (parent := op.parent_op()) is not None:
        op = parent
    return op


def _bytes(value: SSAValue) -> int:
    if not isinstance(value.type, TensorType):
        return 0
    return prod(shape_of(value)) * dtype_of(element_of(value)).itemsize


def candidate(liveness: Liveness, value: SSAValue, peak: int) -> Operation | None:
    """The first reader after the peak, if a cheap node makes the value again there."""
    owner = value.owner
    if (
        not isinstance(owner, NodeOp)
        or not owner.has_trait(DataParallel)
        or owner.regions
    ):
        return None
    places = sorted(liveness.place.get(use.operation, -1) for use in value.uses)
    later = [place for place in places if place > peak]
    if not places or places[0] < 0 or not later or liveness.place[owner] >= peak:
        return None
    if any(place == peak for place in places):
        return None
    alive = all(liveness.is_alive(operand, later[-1]) for operand in owner.operands)
    return liveness.ops[later[0]] if alive else None


def recompute_once(block: Block) -> bool:
    """Make one value again after the peak, if that lowers the peak."""
    liveness = Liveness(block)
    before, peak = liveness.peak()
    alive = [value for value in liveness.spans if liveness.is_alive(value, peak)]
    for value in sorted(alive, key=_bytes, reverse=True):
        reader = candidate(liveness, value, peak)
        if reader is None:
            continue
        copy = _copy_before(value, reader, liveness, peak)
        if Liveness(block).peak()[0] < before:
            return True
        replace_value(copy, value)
        assert isinstance(copy.owner, Operation)
        copy.owner.detach()
        copy.owner.erase()
    return False


def _copy_before(
    value: SSAValue, reader: Operation, liveness: Liveness, peak: int
) -> SSAValue:
    """A second node that makes the value, for its readers after the peak."""
    owner = value.owner
    assert isinstance(owner, NodeOp)
    copy = NodeBuilder(reader).create(
        type(owner),
        list(owner.inputs),
        attributes_of(owner),
        types=[value.type],  # pyright: ignore[reportArgumentType]
    )
    for use in list(value.uses):
        if liveness.place.get(use.operation, -1) > peak:
            use.operation.operands[use.index] = copy
    return copy


class RecomputePass(GraphPass):
    """Compute cheap values again where that lowers the peak of memory."""

    name = "recompute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                for _ in range(MAX_COPIES):
                    if not recompute_once(function.body.block):
                        break
