"""What `main` calls beside kernels: functions of the runtime."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, MemRefType, i8

BARRIER = "glow_barrier"
BARRIER_BYTES = 64
TICK = "glow_tick"


@dataclass(frozen=True)
class TraceRegion:
    """Where in the activations the times of calls go: `thread_bytes` for each thread."""

    offset: int
    thread_bytes: int


def barrier_declaration() -> func.FuncOp:
    """`func.func private @glow_barrier(memref<64xi8>, index)`, which the runtime has."""
    return func.FuncOp.external(
        BARRIER, [MemRefType(i8, [BARRIER_BYTES]), IndexType()], []
    )


def tick_declaration(trace: TraceRegion) -> func.FuncOp:
    """`func.func private @glow_tick(memref<Nxi8>)`, which the runtime has."""
    return func.FuncOp.external(TICK, [MemRefType(i8, [trace.thread_bytes])], [])
