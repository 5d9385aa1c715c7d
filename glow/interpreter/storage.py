"""Constants and splats."""

from __future__ import annotations

from xdsl.ir import Operation

from glow.dialects.glow import ConstantOp, SplatOp
from glow.dialects.weights import stored_value
from glow.interpreter.arrays import Array
from glow.interpreter.scalar_functions import Function


def run_constant(op: Operation) -> Array:
    """The array of a `glow.constant` or `glow.splat` (a view: never written)."""
    array = stored_value(op.results[0])
    assert array is not None
    return array


NODES: dict[type[Operation], Function] = {
    ConstantOp: run_constant,
    SplatOp: run_constant,
}
