"""Passes on instructions: the level stays the same, memory traffic and size shrink.

Each pass is one file.
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_passes

PASSES = lazy_passes(
    "glow.passes.instr",
    "align_buffers",
    "eliminate_copies",
    "eliminate_dead_allocs",
    "eliminate_dead_stores",
    "fill_outputs",
    "fit_memory",
    "hoist_deallocs",
    "plan_memory",
    "schedule_for_memory",
    "share_buffers",
    "simplify_instr",
    "sink_allocs",
    "stack_data_parallel",
    "verify_instr",
)
"""Pass name to factory."""
