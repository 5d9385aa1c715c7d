"""Passes on instructions: the level stays the same, memory traffic and size shrink.

Each pass is one file; `PASSES` names them lazily.
"""

from collections.abc import Callable

from xdsl.passes import ModulePass


def _schedule_for_memory() -> type[ModulePass]:
    from glow.passes.instr.schedule_for_memory import ScheduleForMemoryPass

    return ScheduleForMemoryPass


def _eliminate_copies() -> type[ModulePass]:
    from glow.passes.instr.eliminate_copies import EliminateCopiesPass

    return EliminateCopiesPass


def _eliminate_dead_stores() -> type[ModulePass]:
    from glow.passes.instr.eliminate_dead_stores import EliminateDeadStoresPass

    return EliminateDeadStoresPass


def _stack_data_parallel() -> type[ModulePass]:
    from glow.passes.instr.stack_data_parallel import StackDataParallelPass

    return StackDataParallelPass


def _share_buffers() -> type[ModulePass]:
    from glow.passes.instr.share_buffers import ShareBuffersPass

    return ShareBuffersPass


def _plan_memory() -> type[ModulePass]:
    from glow.passes.instr.plan_memory import PlanMemoryPass

    return PlanMemoryPass


def _verify_instr() -> type[ModulePass]:
    from glow.passes.instr.verify_instr import VerifyInstrPass

    return VerifyInstrPass


def _fit_memory() -> type[ModulePass]:
    from glow.passes.instr.fit_memory import FitMemoryPass

    return FitMemoryPass


def _hoist_deallocs() -> type[ModulePass]:
    from glow.passes.instr.hoist_deallocs import HoistDeallocsPass

    return HoistDeallocsPass


def _sink_allocs() -> type[ModulePass]:
    from glow.passes.instr.sink_allocs import SinkAllocsPass

    return SinkAllocsPass


def _eliminate_dead_allocs() -> type[ModulePass]:
    from glow.passes.instr.eliminate_dead_allocs import EliminateDeadAllocsPass

    return EliminateDeadAllocsPass


def _simplify_instr() -> type[ModulePass]:
    from glow.passes.instr.simplify_instr import SimplifyInstrPass

    return SimplifyInstrPass


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "schedule-for-memory": _schedule_for_memory,
    "eliminate-copies": _eliminate_copies,
    "eliminate-dead-stores": _eliminate_dead_stores,
    "stack-data-parallel": _stack_data_parallel,
    "share-buffers": _share_buffers,
    "plan-memory": _plan_memory,
    "fit-memory": _fit_memory,
    "hoist-deallocs": _hoist_deallocs,
    "sink-allocs": _sink_allocs,
    "eliminate-dead-allocs": _eliminate_dead_allocs,
    "simplify-instr": _simplify_instr,
    "verify-instr": _verify_instr,
}
