"""Gradients of losses and layers in training against central differences."""

from __future__ import annotations

import numpy as np
import pytest
from differential import example, random_array
from gradients import check_example
from training_examples import class_loss_examples, layer_examples, loss_examples

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


@pytest.mark.parametrize("seed", range(6))
def test_random_shapes(seed):
    """Of the loss with the most to go wrong."""
    generator = np.random.default_rng(seed)
    batch, classes, *inner = generator.integers(1, 6, 2 + seed % 3).tolist()
    x = random_array((batch, classes, *inner), np.float64, seed)
    labels = generator.integers(-1, classes, (batch, *inner))
    labels.flat[0] = 0
    weights = generator.random(classes)
    settings = {"ignore_index": -1, "label_smoothing": 0.1 * seed}
    reduction = ("mean", "sum", "none")[seed % 3]
    case = example(
        glow.CrossEntropyOp, x, labels, weights, reduction=reduction, **settings
    )
    check_example(case, wrt=["argument_a"])


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
