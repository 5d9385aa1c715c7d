"""Quantization-aware training as users ask for it: a graph that rounds as integers will.

    module = glow.prepare_qat("model.onnx", glow.profile("model.onnx", batches))
    step = glow.TrainStep(module, loss="cross_entropy", optimizer=glow.Adam(1e-4))
    ...
    model = glow.compile(trained, quantize=True)     # computes on integers

What is trained is the network after its graph passes, batch normalizations folded.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from glow.compiler import load, run_passes
from glow.options import CompileOptions
from glow.passes.graph.pipeline import OF_FLOATS, graph_passes
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.prepare_qat import prepare_qat as prepare_module
from glow.passes.quantization.profiling.profile import Profile
from glow.training.network import read_proto, set_batch_size

if TYPE_CHECKING:
    import onnx


def prepare_qat(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto | ModuleOp,
    profile: Profile | str | os.PathLike[str] | None = None,
    options: QuantizationOptions | None = None,
    *,
    train_scales: bool = False,
    batch_size: int | None = None,
) -> ModuleOp:
    """The graph of a model with fake quantization where `quantize=profile` would quantize.

    `profile` is that of `glow.profile`, or its file; without one ranges are those of random
    inputs. `batch_size` is that of an ONNX model's training, where it has 1 or leaves it open.
    Scales are those of the profile, or with `train_scales` variables that begin there.
    Compiled as it is, the graph computes in floats; with `quantize=True` in integers, by its own
    scales, whose values are at most a step apart from those of the floats. Raises GlowError for
    a profile of another network, and for choices that leave nothing to train.
    """
    if batch_size is not None and not isinstance(model, ModuleOp):
        model = read_proto(model)
        set_batch_size(model, batch_size, {})
    module = load(model, CompileOptions())
    run_passes(module, [p for p in graph_passes() if not isinstance(p, OF_FLOATS)])
    if isinstance(profile, str | os.PathLike):
        profile = Profile.load(profile)
    prepare_module(module, profile, options, train_scales=train_scales)
    return module
