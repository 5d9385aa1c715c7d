"""From one level to the next, for all backends; each pass is imported when it is used."""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_passes

PASSES = lazy_passes(
    "glow.lowering",
    "eliminate_empty_tensors",
    "glow_to_instr",
    "lower_nodes.lower_nodes",
    "lower_quantized.lower_quantized",
    "verify_lowered",
)
"""Pass name to factory."""
