"""Losses: the slope of an element's loss; of classes the probabilities less the wanted ones."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.glow.training.loss import class_axis
from glow.dialects.glow.training.terms import Term, terms
from glow.dialects.node import node_name, shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.class_labels import ClassLabels

Slopes: TypeAlias = Callable[[list[Term], Attributes], list[Term]]
"""`slopes(operands, attributes)`: those of an element's loss, one an operand."""


def mse(x: list[Term], _: Attributes) -> list[Term]:
    """Twice the difference."""
    slope = (x[0] - x[1]) * 2.0
    return [slope, -slope]


def l1(x: list[Term], _: Attributes) -> list[Term]:
    """The sign of the difference."""
    slope = (x[0] - x[1]).sign()
    return [slope, -slope]


def huber(x: list[Term], attributes: Attributes) -> list[Term]:
    """The difference, up to delta."""
    delta = attributes.float("delta")
    slope = (x[0] - x[1]).clamp(-delta, delta)
    return [slope, -slope]


def bce_with_logits(x: list[Term], _: Attributes) -> list[Term]:
    """The probability less the target, where a missed one counts by its weight."""
    logits, target, *weights = x
    probability = logits.apply(glow.SigmoidOp)
    if not weights:
        return [probability - target, -logits]
    missed = (-logits).softplus()
    more = weights[0] - 1.0
    slope = 1.0 - target + (more * target + 1.0) * (probability - 1.0)
    return [slope, more * missed - logits, target * missed]


def kl_div(x: list[Term], attributes: Attributes) -> list[Term]:
    """The target, and what the distance and its weight change with it."""
    logarithm, target = x
    if attributes.has("log_target"):
        weight = target.exp()
        return [-weight, weight * (target - logarithm + 1.0)]
    return [-target, target.log() + 1.0 - logarithm]


SLOPES: dict[type[glow.ElementLossOp], Slopes] = {
    glow.MseLossOp: mse,
    glow.L1LossOp: l1,
    glow.HuberLossOp: huber,
    glow.BceWithLogitsOp: bce_with_logits,
    glow.KlDivOp: kl_div,
}


def element_loss(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each element's slope, by its part of the result."""
    assert isinstance(op, glow.ElementLossOp)
    assert gradients[0] is not None
    attributes, shape = op.attributes_view(), shape_of(op.input)
    sizes = {"mean": prod(shape), "batchmean": prod(shape[:1])}
    count = sizes.get(attributes.string("reduction"), 1)
    part = Term(builder, builder.scale(gradients[0], 1 / max(count, 1)))
    slopes = SLOPES[type(op)](terms(builder, op.inputs), attributes)
    return [(slope * part).value for slope in slopes]


def is_label(
    builder: GradientBuilder, op: glow.ClassLossOp, labels: ClassLabels
) -> SSAValue:
    """Whether a class is the label of a sample, in the shape of the input."""
    classes = builder.constant(np.arange(shape_of(op.input)[labels.axis]), "classes")
    places = labels.with_axis(labels.places)
    return builder.node(glow.EqualOp, labels.along_axis(classes), places)


def part_of_samples(
    builder: GradientBuilder,
    op: glow.ClassLossOp,
    labels: ClassLabels,
    gradient: SSAValue,
) -> Term:
    """What a sample's loss counts in the result, along the axis of classes; 0 if ignored."""
    if op.weights is not None and op.weights in builder.needed:
        raise GlowError(
            f"{op.name} has no derivative by its weights", node=node_name(op)
        )
    part = Term(builder, gradient)
    if op.attributes_view().string("reduction") == "mean":
        weights = labels.kept(labels.weight(op.weights, op.input))
        axes = range(len(shape_of(weights)))
        part = part / Term(builder, builder.sum(weights, axes))
    return Term(builder, labels.with_axis(labels.kept(part.value)))


def nll_loss(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """The negative weight at the label."""
    assert isinstance(op, glow.NllLossOp)
    assert gradients[0] is not None
    labels = ClassLabels(builder, op)
    part = -part_of_samples(builder, op, labels, gradients[0])
    if op.weights is not None:
        part = part * Term(
            builder, labels.with_axis(labels.weight(op.weights, op.input))
        )
    chosen = Term(builder, is_label(builder, op, labels)).choose(part, 0.0)
    return [chosen.value, *[None] * (len(op.inputs) - 1)]


def cross_entropy(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """The probabilities, by the sum of the wanted ones, less these.

    They are exponentials of the log-softmax, which the loss computes too.
    """
    assert isinstance(op, glow.CrossEntropyOp)
    assert gradients[0] is not None
    labels, axis = ClassLabels(builder, op), class_axis(len(shape_of(op.input)))
    part = part_of_samples(builder, op, labels, gradients[0])
    logarithms = builder.node(glow.LogSoftmaxOp, op.input, axis=axis)
    probabilities = Term(builder, logarithms).exp()
    smooth = op.attributes_view().float("label_smoothing")
    every = smooth / shape_of(op.input)[axis]
    one = Term(builder, builder.number(1.0 - smooth + every, op.input))
    wanted = Term(builder, is_label(builder, op, labels)).choose(one, every)
    if op.weights is not None:
        weights = Term(builder, labels.along_axis(op.weights))
        own = Term(builder, labels.with_axis(labels.weight(op.weights, op.input)))
        all_weights = Term(builder, builder.sum(op.weights, [0]))
        probabilities = probabilities * (own * (1.0 - smooth) + all_weights * every)
        wanted = wanted * weights
    gradient = (probabilities - wanted) * part
    return [gradient.value, *[None] * (len(op.inputs) - 1)]


RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(SLOPES, element_loss),
    glow.NllLossOp: nll_loss,
    glow.CrossEntropyOp: cross_entropy,
}
