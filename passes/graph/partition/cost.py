"""What operations should take, by the backend's estimate (`Backend.estimate_cost`).

The graph is to be optimized before, since estimates count a node's neighbours: what becomes the
epilogue of a product costs next to nothing. A backend that tells nothing counts as the default
one, so that only the shares of nodes matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.dialects import scf
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from glow.backends.backend import DEFAULT_BACKEND, get_backend
from glow.dialects.glow.state import StateOp
from glow.passes.graph.partition.graph import read_values, value_bytes
from glow.passes.rewriting.regions import trip_count

if TYPE_CHECKING:
    from glow.options import CompileOptions

BYTES_PER_SECOND = 1e10
"""At which an operation that nobody can estimate reads and writes."""


def seconds_with(options: CompileOptions | None) -> Callable[[str, Operation], float]:
    """The seconds of an operation on a backend; without options on one thread here."""

    def seconds(backend: str, op: Operation) -> float:
        if isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
            inner = (child for block in op.regions for child in block.walk())
            once = sum(_node_seconds(backend, child, options) for child in inner)
            trips = trip_count(op) if isinstance(op, scf.ForOp) else None
            return once * (trips or 1)
        return _node_seconds(backend, op, options)

    return seconds


backend_seconds = seconds_with(None)


def _node_seconds(backend: str, op: Operation, options: CompileOptions | None) -> float:
    for name in dict.fromkeys((backend, DEFAULT_BACKEND)):
        seconds = get_backend(name).estimate_cost(op, options)
        if seconds is not None:
            return seconds
    if isinstance(op, StateOp) or op.has_trait(IsTerminator):
        return 0.0
    return sum(map(value_bytes, (*read_values(op), *op.results))) / BYTES_PER_SECOND
