"""Gradients of losses and layers in training against central differences."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.differential import example, random_array
from support.training.gradients import check_example
from support.training.training_examples import (
    class_loss_examples,
    layer_examples,
    loss_examples,
)

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.frontends.mlir import parse_text
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

EXAMPLES = [
    case
    for case in (*loss_examples(), *class_loss_examples())
    if "ignore_index=-1" not in case.name  # The mean of no sample is NaN.
]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_gradient_is_the_slope(case):
    """Of the input and the target; weights of classes have no gradient."""
    names = ["argument_a"]
    if issubclass(case.node, glow.ElementLossOp):
        names += [f"argument_{'abc'[number]}" for number in range(1, len(case.inputs))]
    if case.node is glow.KlDivOp and not case.attributes.get("log_target"):
        names = names[:1]  # The entropy of a target of 0 has an infinite slope.
    check_example(case, wrt=names)


def random_loss(node, seed):
    """A loss of random shapes and attributes; targets are probabilities."""
    generator = np.random.default_rng(seed)
    shape = generator.integers(1, 5, 2 + seed % 3).tolist()
    x = random_array(shape, np.float64, seed)
    settings = {"reduction": ("mean", "sum", "none")[seed % 3]}
    if issubclass(node, glow.ElementLossOp):
        if node is glow.HuberLossOp:
            settings["delta"] = 0.1 * (1 + seed)
        weights = [generator.random(shape[-1])] if node is glow.BceWithLogitsOp else []
        return example(node, x, generator.random(shape) + 0.1, *weights, **settings)
    batch, classes, *inner = shape
    labels = generator.integers(-1, classes, (batch, *inner))
    labels.flat[0] = 0
    if node is glow.CrossEntropyOp:
        settings["label_smoothing"] = 0.05 * (seed % 4)
    weights = [generator.random(classes) + 0.1] if seed % 2 else []
    return example(node, x, labels, *weights, ignore_index=-1, **settings)


LOSSES = (
    glow.MseLossOp, glow.L1LossOp, glow.HuberLossOp, glow.BceWithLogitsOp, glow.KlDivOp,
    glow.NllLossOp, glow.CrossEntropyOp,
)  # fmt: skip


@pytest.mark.parametrize("node", LOSSES, ids=lambda node: node.name)
def test_random_shapes(node):
    """Twenty of each loss, by its input and its target."""
    for seed in range(20):
        case = random_loss(node, seed)
        count = len(case.inputs) if issubclass(node, glow.ElementLossOp) else 1
        check_example(case, wrt=[f"argument_{'abc'[n]}" for n in range(count)])


def test_random_normalizations():
    """Twenty shapes, of one axis of elements and more."""
    for seed in range(20):
        generator = np.random.default_rng(seed)
        batch, channels, *inner = generator.integers(2, 5, 2 + seed % 3).tolist()
        shapes = [(batch, channels, *inner), *[(channels,)] * 3]
        operands = [random_array(shape, np.float64, seed) for shape in shapes]
        settings = {"epsilon": 10.0 ** -(seed % 4), "momentum": 0.1 * (seed % 5)}
        variance = generator.random(channels)
        case = example(glow.BatchNormTrainingOp, *operands, variance, **settings)
        check_example(case, wrt=[f"argument_{letter}" for letter in "abcde"])


def test_weights_of_classes_have_no_gradient():
    text = """
      func.func @main(%x: tensor<2x3xf32>, %l: tensor<2xi64>, %w: tensor<3xf32>) -> tensor<f32> {
        %loss = glow.cross_entropy %x, %l, %w : tensor<f32>
        func.return %loss : tensor<f32>
      }
    """
    module = parse_text(new_context(), text, "weights.mlir")
    with pytest.raises(
        GlowError, match="cross_entropy has no derivative by its weights"
    ):
        DifferentiatePass(loss="loss", wrt=("w",)).apply(new_context(), module)


LAYERS = {
    case.name: case
    for case in layer_examples()
    if case.node is not glow.RandomUniformOp
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    """Batch normalization by input, scale and bias; dropout by what it keeps."""
    case = LAYERS[name]
    check_example(
        case, wrt=[f"argument_{'abc'[n]}" for n in range(3)][: case_inputs(case)]
    )


def case_inputs(case):
    """How many of the first inputs have a gradient."""
    return 1 if case.node is glow.DropoutOp else 3
