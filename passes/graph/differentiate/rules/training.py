"""Layers of networks in training: batch normalization by the batch's statistics, dropout."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.terms import Term
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.batch_statistics import BatchStatistics, batch_statistics


def batch_norm_training(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """The gradients of the normalized input and of the averages, summed."""
    assert isinstance(op, glow.BatchNormTrainingOp)
    batch = batch_statistics(builder, op)
    image: Term | None = None
    parameters: Gradients = [None, None]
    if gradients[0] is not None:
        image, parameters = _normalized(builder, batch, gradients[0])
    momentum = op.attributes_view().float("momentum")
    unbiased = 2 * momentum / max(batch.count - 1, 1)
    factors = momentum / batch.count, Term(builder, batch.centred) * unbiased
    averages: list[SSAValue | None] = []
    for gradient, factor in zip(gradients[1:], factors, strict=True):
        averages.append(gradient and builder.scale(gradient, 1 - momentum))
        if gradient is not None:
            along = Term(builder, builder.reshape(gradient, shape_of(batch.mean)))
            image = along * factor if image is None else image + along * factor
    return [image and image.value, *parameters, *averages]


def _normalized(
    builder: GradientBuilder, batch: BatchStatistics, gradient: SSAValue
) -> tuple[Term, Gradients]:
    """Two sums a channel, and a multiple each of the gradient and the centred input.

    With h = (x - mean) / deviation: that of x is scale / deviation * (g - mean(g) - h *
    mean(g * h)); those of scale and bias are the sums of g * h and g.
    """

    def total(value: SSAValue) -> Term:
        return Term(builder, builder.sum(value, batch.axes, keepdims=True))

    centred, deviation = Term(builder, batch.centred), Term(builder, batch.deviation)
    g, part = Term(builder, gradient), 1 / batch.count
    bias, scale = total(gradient), total((g * centred).value) / deviation
    centre = g - bias * part - centred * (scale / deviation * part)
    flat = shape_of(batch.scale)[1:2]
    parameters = [builder.reshape(term.value, flat) for term in (scale, bias)]
    return centre * (Term(builder, batch.scale) / deviation), parameters


def dropout(builder: GradientBuilder, op: Operation, gradients: Gradients) -> Gradients:
    """Dropout of the gradient: the same seed drops the same elements."""
    assert isinstance(op, glow.DropoutOp)
    assert gradients[0] is not None
    attributes = op.attributes_view()
    settings = {"ratio": attributes.float("ratio"), "stream": attributes.int("stream")}
    return [builder.node(glow.DropoutOp, gradients[0], op.seed, **settings), None]


RULES: dict[type[Operation], Rule] = {
    glow.BatchNormTrainingOp: batch_norm_training,
    glow.DropoutOp: dropout,
}
