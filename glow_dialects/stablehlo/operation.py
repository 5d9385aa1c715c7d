"""The base of StableHLO's operations, whose semantics are those of its specification."""

from __future__ import annotations

from glow.dialects.foreign import ForeignOp


class StableHloOp(ForeignOp):
    """An operation of StableHLO or CHLO."""
