"""From where to where each buffer is alive, by the numbers of the operations.

The one contract of `plan-memory`: an `instr.alloc` has one `instr.dealloc` in its block,
after all uses, or it has its place in the arena already and lives to the end of its block.
Operations are numbered as they stand in the text, those of loops too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.node import node_name
from glow.passes.instr.buffers import aligned, byte_size, root_of
from glow.passes.instr.packing.interval_packing import Interval
from glow.passes.rewriting.operations import all_operations
from glow.verification import place_of


@dataclass(frozen=True)
class Lifetime(Interval):
    """The life of an allocation, its size rounded up to the alignment."""

    alloc: instr.AllocOp


def lifetimes(function: func.FuncOp) -> list[Lifetime]:
    """The lives of a function's allocations in the order of their starts.

    Raises GlowError for a buffer that is used after its end, that ends twice or never.
    """
    ops = all_operations(function.body)
    position = {op: number for number, op in enumerate(ops)}
    found: list[Lifetime] = []
    for start, op in enumerate(ops):
        if isinstance(op, instr.AllocOp):
            end = position[_end_of(op, position)]
            found.append(Lifetime(aligned(byte_size(op.result)), start, end, op))
        elif isinstance(op, instr.DeallocOp):
            _check_dealloc(op)
    ends: dict[SSAValue, int] = {
        lifetime.alloc.result: lifetime.end for lifetime in found
    }
    for number, op in enumerate(ops):
        for operand in op.operands:
            if number > ends.get(root_of(operand), number):
                fail(op, "uses a buffer after its dealloc")
    return found


def _end_of(alloc: instr.AllocOp, position: Mapping[Operation, int]) -> Operation:
    """The dealloc of a buffer, or the end of its block."""
    deallocs = sorted(_deallocs(alloc), key=position.__getitem__)
    if len(deallocs) > 1:
        fail(deallocs[1], "ends the life of a buffer that has ended already")
    if deallocs:
        return deallocs[0]
    if alloc.offset is None:
        fail(alloc, "needs an instr.dealloc, or a place in the arena")
    assert alloc.parent is not None
    assert alloc.parent.last_op is not None
    return alloc.parent.last_op


def _deallocs(alloc: instr.AllocOp) -> Iterator[Operation]:
    for use in alloc.result.uses:
        if isinstance(use.operation, instr.DeallocOp):
            yield use.operation


def _check_dealloc(op: instr.DeallocOp) -> None:
    alloc = op.buffer.owner
    if not isinstance(alloc, instr.AllocOp) or alloc.parent is not op.parent:
        fail(op, "ends a life that no instr.alloc of its block has started")


def fail(op: Operation, rule: str) -> NoReturn:
    """Raise the error of a broken rule, naming the node or else the place."""
    name = node_name(op)
    place = "" if name else described_place(op)
    raise GlowError(f"{op.name}: {rule}{place}", node=name, location=place_of(op))


def described_place(op: Operation) -> str:
    """Which operation of which function it is, for those without a name."""
    function = op.parent_op()
    while function is not None and not isinstance(function, func.FuncOp):
        function = function.parent_op()
    if function is None:
        return ""
    number = 1 + all_operations(function.body).index(op)
    return f" (operation {number} of @{function.sym_name.data})"
