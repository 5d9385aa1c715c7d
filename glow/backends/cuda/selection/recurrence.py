"""Recurrent layers: a kernel for many threads, called step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.program import Invocation, Repetition
from glow.backends.cpu.selection.recurrence import Steps
from glow.backends.cuda.kernels.recurrence import StepSpec, build_step
from glow.backends.cuda.recurrence_tiling import SMALLEST, choose_step
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import thread_request
from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.lowering.loop_builder.scalar_region import ScalarRegion


def _recurrence(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation | Repetition] | str:
    if op.attributes_view().get("panels") is not None:
        return "its weights lie in panels"
    if any(element_of(value) != f32 for value in (*op.ins, *op.outs)):
        return "it computes in other elements than f32"
    rows, units = shape_of(op.ins[2])
    gates = op.attributes_view().int("gates")
    others = tuple(len(shape_of(other)) > 1 for other in op.ins[3:])
    cell = ScalarRegion(op.regions[0].block)
    spec = StepSpec(rows, units, gates, cell, others, SMALLEST)
    chosen = choose_step(spec, choice.machine)
    request = thread_request("recurrence", chosen, build_step)
    return Steps(op, others, lambda _: request).calls()


ROWS: Mapping[type[Operation], Row] = {cpu.RecurrenceOp: _recurrence}
