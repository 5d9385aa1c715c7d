"""Sums over rows with the element-wise work around them, for many threads.

Threads stand at rows as those of softmax do (`row_threads.py`). Sums that wait for each other take
a pass over the row each, and so do the results behind them; sums of one pass are added up in
one trip. What a later pass needs again is computed again, from registers or the nearest cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cpu.dialect.fused_rows import RowSumOp
from glow.backends.cpu.kernels.reduction.fused_rows import (
    FusedRows,
    FusedRowsSpec,
    Terms,
)
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.reduction.row_threads import (
    THREADS,
    RowShape,
    RowThreads,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target


class ThreadRows(FusedRows):
    """The body of the kernel: a thread has some columns of its row."""

    keeps = False

    def __init__(
        self, b: GpuBuilder, spec: FusedRowsSpec, buffers: Sequence[SSAValue]
    ) -> None:
        super().__init__(b, spec, buffers)
        sums = sum(isinstance(op, RowSumOp) for op in self.stages.ops)
        self.threads = RowThreads(b, RowShape(spec.rows, spec.extent), sums)

    def build(self) -> None:
        """Writes the kernel."""
        self.threads.at_row(lambda: self.compute(self.threads.row))

    def store_number(self, value: SSAValue, out: SSAValue) -> None:
        """Stores a result that is one number for the row."""
        self.threads.at_first(lambda: self.builder.store(value, out, self.row))

    def sweep(self, sums: int, terms: Terms) -> list[SSAValue]:
        """Goes through the row once, and returns its sums."""
        width = self.threads.shape.width
        zero = self.builder.constant(0.0, types.vector_type((width,), f32))
        found = self.threads.columns(
            [zero] * sums, lambda at, carried: terms(at, width, carried)
        )
        return [self.threads.together("add", each) for each in found]


def build_thread_rows(spec: FusedRowsSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of f(outs..., ins...)."""
    b = GpuBuilder(target)
    return b.kernel(
        name,
        list(spec.buffers),
        THREADS,
        RowShape(spec.rows, spec.extent).grid,
        lambda buffers: ThreadRows(b, spec, buffers).build(),
    )
