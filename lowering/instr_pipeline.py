"""From nodes to instructions on one planned arena, for the nodes of any backend."""

from __future__ import annotations

from xdsl.passes import ModulePass

from glow.lowering.glow_to_instr import GlowToInstrPass
from glow.passes.instr.eliminate_copies import EliminateCopiesPass
from glow.passes.instr.eliminate_dead_stores import EliminateDeadStoresPass
from glow.passes.instr.plan_memory import PlanMemoryPass
from glow.passes.instr.schedule_for_memory import ScheduleForMemoryPass
from glow.passes.instr.share_buffers import ShareBuffersPass
from glow.passes.instr.stack_data_parallel import StackDataParallelPass
from glow.passes.instr.verify_instr import VerifyInstrPass


def instr_passes(
    memory_limit: int | None = None, alignment: int | None = None
) -> list[ModulePass]:
    """Buffers, then fewer copies, stacked loops, shared buffers, one arena.

    A plan that may only take so many bytes comes after what makes room for it. Where
    buffers have to begin at multiples of so many bytes, copies that do are made of others.
    """
    return [
        GlowToInstrPass(),
        EliminateCopiesPass(),
        *aligned(alignment),
        ScheduleForMemoryPass(),
        StackDataParallelPass(),
        ShareBuffersPass(),
        EliminateDeadStoresPass(),
        *make_room(memory_limit),
        PlanMemoryPass(limit=memory_limit),
        VerifyInstrPass(),
    ]


def aligned(alignment: int | None) -> list[ModulePass]:
    """What aligns buffers, where kernels need that."""
    if alignment is None:
        return []
    from glow.passes.instr.align_buffers import AlignBuffersPass

    return [AlignBuffersPass(alignment)]


def make_room(memory_limit: int | None) -> list[ModulePass]:
    """What moves work and computes values twice, where there is a limit to keep."""
    if memory_limit is None:
        return []
    from glow.passes.instr.fit_memory import FitMemoryPass

    return [FitMemoryPass(memory_limit)]
