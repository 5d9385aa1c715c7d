"""Glow on xDSL: compiles neural networks to native code.

    import glow

    model = glow.compile("model.onnx")
    outputs = model(image)

Names are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

# First, so that Ctrl-C is one line while the rest is loaded.
from glow import interrupts as interrupts

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING

# Before other modules of ours, so that it knows the source files as they are.
from glow import sources as sources
from glow.garbage_collection import collection_paused

if TYPE_CHECKING:
    from glow import onnx_backend
    from glow.bundles.loader import load
    from glow.compilation import compile, from_jax
    from glow.compiled_model import CompiledModel
    from glow.compiler import lower_to
    from glow.dialects.errors import GlowError
    from glow.host.host import Host
    from glow.passes.quantization.options import QuantizationOptions
    from glow.passes.quantization.profiling.profile import Profile
    from glow.profiling import profile
    from glow.specialized_model import SpecializedModel
    from glow.tensor_info import TensorInfo
    from glow.training.loops import train
    from glow.training.losses import Loss
    from glow.training.optimizers import LAMB, SGD, Adagrad, Adam, AdamW, RMSProp
    from glow.training.quantization_aware import prepare_qat
    from glow.training.schedules import schedule
    from glow.training.step import TrainStep

__all__ = [
    "LAMB",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "CompiledModel",
    "GlowError",
    "Host",
    "Loss",
    "Profile",
    "QuantizationOptions",
    "RMSProp",
    "SpecializedModel",
    "TensorInfo",
    "TrainStep",
    "compile",
    "from_jax",
    "load",
    "lower_to",
    "onnx_backend",
    "prepare_qat",
    "profile",
    "schedule",
    "train",
]

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(
        ("Adagrad", "Adam", "AdamW", "LAMB", "RMSProp", "SGD"),
        "glow.training.optimizers",
    ),
    "CompiledModel": "glow.compiled_model",
    "GlowError": "glow.dialects.errors",
    "Host": "glow.host.host",
    "Loss": "glow.training.losses",
    "Profile": "glow.passes.quantization.profiling.profile",
    "QuantizationOptions": "glow.passes.quantization.options",
    "SpecializedModel": "glow.specialized_model",
    "TensorInfo": "glow.tensor_info",
    "TrainStep": "glow.training.step",
    "compile": "glow.compilation",
    "from_jax": "glow.compilation",
    "load": "glow.bundles.loader",
    "lower_to": "glow.compiler",
    "prepare_qat": "glow.training.quantization_aware",
    "profile": "glow.profiling",
    "schedule": "glow.training.schedules",
    "train": "glow.training.loops",
}


def __getattr__(name: str) -> object:
    if name == "onnx_backend":
        return import_module("glow.onnx_backend")
    if name not in _HOMES:
        raise AttributeError(f"module 'glow' has no attribute '{name}'")
    with collection_paused():
        return getattr(import_module(_HOMES[name]), name)
