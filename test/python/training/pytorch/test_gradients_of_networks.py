"""Gradients of whole networks against PyTorch's in float64."""

from __future__ import annotations

import numpy as np
import pytest
from support.training.trained_networks import recurrent

import glow
from benchmarks.networks import mobilenet_v2, trained
from benchmarks.networks.trained import make_batch
from glow.compiler import compile_module
from glow.options import CompileOptions
from glow.passes.graph.differentiate.differentiate import differentiate, return_values
from glow.passes.graph.training_mode import use_batch_statistics
from glow.signature import main_function
from glow.training.losses import Loss
from glow.training.network import Network, set_batch_size
from glow.training.options import StepOptions
from glow.training.program import StepBuilder

torch = pytest.importorskip("torch")
from support.training import torch_onnx  # noqa: E402

LARGEST = 1e-5
"""The largest difference, of the largest gradient."""


def mobilenet():
    stages = (1, 8, 1, 1), (3, 12, 2, 2)
    model = mobilenet_v2.build(mobilenet_v2.MobileNet(16, 8, stages, 20, 10))
    set_batch_size(model, 4, {})
    for size in (4, 10):
        model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = size
    return model


NETWORKS = {
    "resnet": lambda: trained.resnet18(4, 32, (8, 16, 24), 1),
    "mobilenet": mobilenet,
    "transformer": lambda: trained.transformer(2, trained.TINY_DECODER),
    "lstm": lambda: recurrent("LSTM"),
    "gru": lambda: recurrent("GRU"),
}


def our_gradients(model, x, labels):
    """The loss, and the gradient of each parameter by name, in f32 on the CPU."""
    builder = StepBuilder(
        Network(model), Loss("cross_entropy"), glow.SGD(), StepOptions()
    )
    options = CompileOptions(threads=1)
    module = builder.inference(None, options)
    function = main_function(module)
    statistics = use_batch_statistics(function)
    loss = builder.add_loss(function, builder.output_of(function))
    found, gradients = differentiate(
        function, loss, builder.parameters(function, statistics)
    )
    return_values(function, gradients)
    found.erase_unused()
    loss, *arrays = compile_module(module, options)(x, labels)
    names = [name.removeprefix("@") for name in gradients]
    return float(loss), dict(zip(names, arrays, strict=True))


def their_gradients(model, x, labels):
    parameters = torch_onnx.parameters_of(model)
    inputs = torch.from_numpy(x)
    inputs = inputs.double() if inputs.is_floating_point() else inputs
    logits = torch_onnx.run(model, {model.graph.input[0].name: inputs}, parameters)
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
    loss.backward()
    gradients = {name: p.grad for name, p in parameters.items() if p.grad is not None}
    return loss.item(), gradients


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_torch(name, monkeypatch):
    monkeypatch.setattr(torch_onnx, "DTYPE", torch.float64)
    model = NETWORKS[name]()
    x, labels = make_batch(model, seed=3)
    loss, ours = our_gradients(model, x, labels)
    expected, theirs = their_gradients(model, x, labels)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert set(ours) == set(theirs)
    largest = max(gradient.abs().max().item() for gradient in theirs.values())
    for parameter, gradient in theirs.items():
        difference = np.abs(ours[parameter] - gradient.numpy()).max()
        assert difference <= LARGEST * largest, parameter
