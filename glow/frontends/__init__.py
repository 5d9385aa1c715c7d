"""Readers of programs and networks, and passes that make graphs of other dialects."""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_passes

PASSES = lazy_passes(
    __name__,
    "linalg.convert_linalg_to_glow",
    "stablehlo.convert_stablehlo_to_glow",
    "torch.convert_torch_onnx_to_glow",
    "tosa.convert_tosa_to_glow",
)
