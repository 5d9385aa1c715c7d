"""Twenty steps of each optimizer against torch.optim's, by the same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import glow
from glow.frontends.mlir import parse_text
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

torch = pytest.importorskip("torch")
OPTIM, RATE, STEPS = torch.optim, 0.01, 20

CASES = {
    "sgd": (OPTIM.SGD, {}),
    "sgd{momentum=0.9 dampening=0.1 weight_decay=0.05}": (
        OPTIM.SGD,
        {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.05},
    ),
    "sgd{momentum=0.9 nesterov}": (OPTIM.SGD, {"momentum": 0.9, "nesterov": True}),
    "adam": (OPTIM.Adam, {}),
    "adam{weight_decay=0.1 amsgrad}": (
        OPTIM.Adam,
        {"weight_decay": 0.1, "amsgrad": True},
    ),
    "adamw": (OPTIM.AdamW, {}),
    "rmsprop": (OPTIM.RMSprop, {}),
    "rmsprop{momentum=0.9 centered weight_decay=0.1}": (
        OPTIM.RMSprop,
        {"momentum": 0.9, "centered": True, "weight_decay": 0.1},
    ),
    "adagrad{rate_decay=0.1 weight_decay=0.1}": (
        OPTIM.Adagrad,
        {"lr_decay": 0.1, "weight_decay": 0.1},
    ),
}

PROGRAM = """
  func.func @main(%x: tensor<4x3xf32>, %y: tensor<5xf32>) -> tensor<f32> {
    %v = glow.variable @v : tensor<4x3xf32>
    %w = glow.variable @w : tensor<5xf32>
    %0 = glow.mul %v, %x : tensor<4x3xf32>
    %1 = glow.mul %w, %y : tensor<5xf32>
    %2 = glow.reduce_sum %0 axes [0, 1] : tensor<f32>
    %3 = glow.reduce_sum %1 axes [0] : tensor<f32>
    %loss = glow.add %2, %3 : tensor<f32>
    func.return %loss : tensor<f32>
  }
"""
"""Its inputs are its gradients."""


def compiled(optimizer, backend):
    """The step of an optimizer; its variables begin with random numbers."""
    context = new_context()
    module = parse_text(context, PROGRAM, "step.mlir")
    DifferentiatePass(loss="loss", optimizer=optimizer).apply(context, module)
    step = glow.compile(module, backend=backend)
    generator = np.random.default_rng(1)
    for name in ("v", "w"):
        step.variables[name][...] = generator.standard_normal(
            step.variables[name].shape
        )
    return step


def check(optimizer, backend, limits=lambda parameters: None):
    """Compare the variables with torch's parameters after each step."""
    kind, settings = CASES.get(optimizer, (OPTIM.SGD, {}))
    step = compiled(optimizer, backend)
    variables = [step.variables[name] for name in ("v", "w")]
    parameters = [torch.nn.Parameter(torch.tensor(each.copy())) for each in variables]
    peer, generator = kind(parameters, RATE, **settings), np.random.default_rng(2)
    for _ in range(STEPS):
        gradients = [
            generator.standard_normal(each.shape).astype(np.float32)
            for each in variables
        ]
        step(*gradients, np.float32(RATE))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = torch.tensor(gradient)
        limits(parameters)
        peer.step()
        for ours, theirs in zip(variables, parameters, strict=True):
            theirs = theirs.detach().numpy()
            assert np.abs(ours - theirs).max() <= 1e-6 * np.abs(theirs).max()


@pytest.mark.parametrize("optimizer", CASES)
def test_interpreter(optimizer):
    check(optimizer, "interpreter")


@pytest.mark.parametrize(
    "optimizer", ["adamw", "sgd{momentum=0.9 dampening=0.1 weight_decay=0.05}"]
)
def test_cpu(optimizer):
    check(optimizer, "cpu")


def test_clipping():
    def by_norm(parameters):
        torch.nn.utils.clip_grad_norm_(parameters, 0.5)

    def by_value(parameters):
        torch.nn.utils.clip_grad_value_(parameters, 0.5)

    check("sgd{clip_norm=0.5}", "interpreter", by_norm)
    check("sgd{clip_value=0.5}", "interpreter", by_value)


def test_accumulation():
    """Four calls are one step by the mean of their gradients."""
    whole, parts = compiled("adam", "cpu"), compiled("adam{accumulate=4}", "cpu")
    generator = np.random.default_rng(3)
    for _ in range(3):
        means = [np.zeros((4, 3), np.float32), np.zeros(5, np.float32)]
        before = parts.variables["v"].copy()
        for _ in range(4):
            np.testing.assert_array_equal(parts.variables["v"], before)
            gradients = [
                generator.standard_normal(each.shape).astype(np.float32)
                for each in means
            ]
            parts(*gradients, np.float32(RATE))
            for mean, gradient in zip(means, gradients, strict=True):
                mean += gradient / 4
        whole(*means, np.float32(RATE))
        np.testing.assert_allclose(
            parts.variables["v"], whole.variables["v"], rtol=1e-5, atol=1e-6
        )
    assert parts.variables["step"] == 3
