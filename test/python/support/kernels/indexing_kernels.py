"""A small kernel of each kind that reads, writes or goes along an axis in its own order."""

from __future__ import annotations

from collections.abc import Callable

from support.kernels.kernel_testing import TARGET
from xdsl.dialects.builtin import f32, i64

from glow.backends.cpu.kernels.indexing.boxes import BoxesSpec, build_boxes
from glow.backends.cpu.kernels.indexing.compact import CompactSpec, build_compact
from glow.backends.cpu.kernels.indexing.cumulative import (
    CumulativeSpec,
    build_cumulative,
)
from glow.backends.cpu.kernels.indexing.scatter import (
    GatherNDSpec,
    Positions,
    ScatterSpec,
    build_gather_nd,
    build_scatter,
)
from glow.backends.cpu.kernels.indexing.top_k import TopKSpec, build_top_k
from glow.backends.cpu.kernels.matmul.lu import LuSpec, build_lu
from glow.backends.cpu.selection.indexing import SCATTER_STEPS
from glow.backends.cpu.selection.plain import region
from glow.lowering.loop_builder.kernel import Kernel

ADD = region(f32, 2, SCATTER_STEPS["add"])

INDEXING: dict[str, Callable[[], Kernel]] = {
    "gather_nd": lambda: build_gather_nd(
        GatherNDSpec(Positions((5, 4), 19, (-1, -2), (7,), 1, 2), f32), TARGET
    ),
    "scatter": lambda: build_scatter(
        ScatterSpec(Positions((21,), 3, (-1,), (40,), 1, 1), f32, ADD), TARGET
    ),
    "cumulative": lambda: build_cumulative(
        CumulativeSpec(2, 5, 37, ADD, 0.0, exclusive=True), TARGET
    ),
    "heap": lambda: build_top_k(TopKSpec(3, 100, 5, f32), TARGET),
    "sort": lambda: build_top_k(TopKSpec(3, 50, 50, i64, smallest=True), TARGET),
    "compact": lambda: build_compact(CompactSpec(33), TARGET),
    "select boxes": lambda: build_boxes(BoxesSpec(2, 9, 2, 9, 4), TARGET),
    "select many boxes": lambda: build_boxes(BoxesSpec(1, 700, 1, 700, 400), TARGET),
    "lu": lambda: build_lu(LuSpec(3, 19), TARGET),
}
"""Kernels by name."""
