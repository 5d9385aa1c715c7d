"""Places every buffer in one arena (Glow's static memory allocation).

    %a = instr.alloc : memref<16xf32>           %a = instr.alloc offset 0 : ...
    %b = instr.alloc : memref<16xf32>     ->    %b = instr.alloc offset 64 : ...

`interval_packing` finds the offsets; only `instr.alloc`, `instr.dealloc` and the order
of the operations matter, so that functions written by hand for nothing but their memory
can be planned too. The function gets `glow.arena_bytes` and `glow.live_bytes`, the
largest live set, which no plan can beat. `report` prints both and their ratio to stderr, and what
variables take, which are not in the arena;
`limit` is the most that the arena may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from glow.diagnostics import remark
from glow.dialects import instr
from glow.dialects.attributes import int_attr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import ARENA_BYTES, LIVE_BYTES, RECOMPUTED
from glow.dialects.glow.state import variables_of
from glow.dialects.node import node_name
from glow.passes.instr.accesses import functions_of
from glow.passes.instr.buffers import aligned, byte_size
from glow.passes.instr.lifetimes import Lifetime, described_place, lifetimes
from glow.passes.instr.packing.interval_packing import height, live_bound, pack
from glow.passes.rewriting.operations import all_operations


def plan(function: func.FuncOp) -> tuple[list[Lifetime], int]:
    """Plan a function; returns its buffers and the bytes of the arena."""
    buffers = lifetimes(function)
    offsets = pack(buffers)
    for buffer, offset in zip(buffers, offsets, strict=True):
        buffer.alloc.properties["offset"] = int_attr(offset)
    size = height(buffers, offsets)
    function.attributes[ARENA_BYTES] = int_attr(size)
    function.attributes[LIVE_BYTES] = int_attr(live_bound(buffers))
    return buffers, size


def bytes_of_variables(function: func.FuncOp) -> int:
    """What the variables of a function take, which outlive its calls."""
    variables = variables_of(function).values()
    return sum(aligned(byte_size(op.results[0])) for op in variables)


def recomputed(function: func.FuncOp) -> list[str]:
    """The names of the buffers that are computed again to keep to a limit."""
    names = function.attributes.get(RECOMPUTED)
    return [name.data for name in names] if isa(names, ArrayAttr[StringAttr]) else []


def report_line(function: func.FuncOp, buffers: Sequence[Lifetime], size: int) -> str:
    """What `report` prints."""
    name, variables = function.sym_name.data, bytes_of_variables(function)
    bound = live_bound(buffers)
    line = (
        f"plan-memory: @{name}: arena {size} bytes, live-set bound {bound} bytes, "
        f"ratio {size / bound if bound else 1:.4f}, {len(buffers)} buffers"
    )
    if variables:
        line += f", variables of {variables} bytes"
    if again := recomputed(function):
        line += f", computed again: {', '.join(again)}"
    return line


def peak_instruction(function: func.FuncOp, buffers: Sequence[Lifetime]) -> Operation:
    """The first instruction while the most bytes are alive."""
    ops = all_operations(function.body)
    live = [0] * (len(ops) + 1)
    for buffer in buffers:
        live[buffer.start] += buffer.size
        live[buffer.end + 1] -= buffer.size
    for number in range(1, len(live)):
        live[number] += live[number - 1]
    peak = live.index(max(live))
    return next(
        (op for op in ops[peak:] if isinstance(op, instr.InstructionOp)), ops[peak]
    )


def check_limit(
    function: func.FuncOp, buffers: Sequence[Lifetime], size: int, limit: int
) -> None:
    """Raise GlowError that names the peak if the arena takes more than the limit."""
    if size <= limit:
        return
    op = peak_instruction(function, buffers)
    name = node_name(op)
    number = all_operations(function.body).index(op)
    alive = [buffer for buffer in buffers if buffer.start <= number <= buffer.end]
    raise GlowError(
        f"the memory limit is {limit} bytes, but @{function.sym_name.data} needs {size}: "
        f"its peak is at {op.name}"
        f"{'' if name else described_place(op)}, while {len(alive)} buffers of "
        f"{sum(buffer.size for buffer in alive)} bytes are alive",
        node=name,
    )


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Give each `instr.alloc` its offset in the function's arena."""

    name = "plan-memory"
    report: bool = False
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan each function on its own."""
        for function in functions_of(op):
            buffers, size = plan(function)
            if self.report:
                remark(report_line(function, buffers, size))
            if self.limit is not None:
                check_limit(function, buffers, size, self.limit)
