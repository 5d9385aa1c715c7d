"""Quantization as users ask for it: a profile, its file, options, or just `True`."""

from __future__ import annotations

import os

from xdsl.dialects.builtin import ModuleOp

from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profile import Profile
from glow.passes.quantization.profile_file import load_profile
from glow.passes.quantization.quantize import is_quantized_module, quantize_module

Quantization = bool | Profile | str | os.PathLike[str]
"""A profile or its file; `True` quantizes without one (dynamic, or by random inputs)."""


def apply_quantization(
    module: ModuleOp,
    quantize: Quantization,
    options: QuantizationOptions | None = None,
) -> None:
    """Quantize a graph; one that comes quantized runs in integers in any case."""
    if isinstance(quantize, str | os.PathLike):
        quantize = load_profile(quantize)
    profile = quantize if isinstance(quantize, Profile) else None
    if quantize is not False:
        quantize_module(module, profile, options)
    elif is_quantized_module(module):
        quantize_module(module, None, options)
