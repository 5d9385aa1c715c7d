"""Attention, computed in float64."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import AttentionOp
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, widen
from glow.interpreter.normalization import softmax
from glow.interpreter.scalar_functions import Function


def run_attention(
    op: GlowOp, queries: Array, keys: Array, values: Array, mask: Array | None = None
) -> Array:
    """`glow.attention`."""
    scores = widen(queries) @ np.swapaxes(widen(keys), -1, -2)
    scores = scores * op.attributes_view().float("scale")
    if mask is not None:
        scores = scores + widen(mask)
    return softmax(scores, -1) @ widen(values)


NODES: dict[type[Operation], Function] = {AttentionOp: run_attention}
