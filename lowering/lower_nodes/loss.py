"""Losses as arithmetic, gathers and sums.

  %loss = glow.mse_loss %x, %y : tensor<f32>
becomes
  %0 = glow.sub %x, %y : tensor<8x3xf32>
  %1 = glow.mul %0, %0 : tensor<8x3xf32>
  %2 = glow.reduce_sum %1 axes [0, 1] : tensor<f32>
  %loss = glow.mul %2, 1/24 : tensor<f32>
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.loss import class_axis
from glow.dialects.glow.training.terms import terms
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.tensor_builder import Tensors


def total_of(builder: NodeBuilder, value: SSAValue) -> SSAValue:
    """The sum of all elements."""
    axes = list(range(len(shape_of(value))))
    return builder.node(glow.ReduceSumOp, value, axes=axes) if axes else value


def element_loss(op: Operation) -> None:
    """The formula of an element, and the sum or mean of all."""
    assert isinstance(op, glow.ElementLossOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    formula = Tensors(builder)
    losses = type(op).ELEMENT(terms(formula, op.inputs), attributes).value
    reduction = attributes.string("reduction")
    if reduction == "none":
        builder.replace(losses)
        return
    total, shape = total_of(builder, losses), shape_of(losses)
    count = {"sum": 1, "batchmean": prod(shape[:1])}.get(reduction, prod(shape))
    if count != 1:
        total = formula.div(total, formula.number(count, total))
    builder.replace(total)


def class_losses(op: glow.ClassLossOp, logarithms: SSAValue, smoothing: float) -> None:
    """Replace a loss of classes, given the logarithms of their probabilities."""
    from glow.passes.rewriting.class_labels import ClassLabels

    builder = NodeBuilder(op)
    formula, labels = Tensors(builder), ClassLabels(builder, op)

    def scaled(value: SSAValue, factor: float) -> SSAValue:
        return formula.mul(value, formula.number(factor, value))

    weight = labels.weight(op.weights, logarithms)
    losses = scaled(labels.pick(logarithms), smoothing - 1)
    if op.weights is not None:
        losses = formula.mul(losses, weight)
    if smoothing:
        every, classes = logarithms, shape_of(logarithms)[labels.axis]
        if op.weights is not None:
            every = formula.mul(every, labels.along_axis(op.weights))
        every = builder.node(glow.ReduceSumOp, every, axes=[labels.axis])
        losses = formula.add(losses, scaled(every, -smoothing / classes))
    losses = labels.kept(losses)
    reduction = op.attributes_view().string("reduction")
    if reduction != "none":
        losses = total_of(builder, losses)
    if reduction == "mean":
        losses = formula.div(losses, total_of(builder, labels.kept(weight)))
    builder.replace(losses)


def nll_loss(op: Operation) -> None:
    """The negative input at the labels."""
    assert isinstance(op, glow.NllLossOp)
    class_losses(op, op.input, 0.0)


def cross_entropy(op: Operation) -> None:
    """The loss of the logits' log-softmax."""
    assert isinstance(op, glow.CrossEntropyOp)
    axis = class_axis(len(shape_of(op.input)))
    logarithms = NodeBuilder(op).node(glow.LogSoftmaxOp, op.input, axis=axis)
    class_losses(op, logarithms, op.attributes_view().float("label_smoothing"))


LOWERINGS: dict[type[Operation], Callable[[Operation], None]] = {
    glow.MseLossOp: element_loss,
    glow.L1LossOp: element_loss,
    glow.HuberLossOp: element_loss,
    glow.BceWithLogitsOp: element_loss,
    glow.KlDivOp: element_loss,
    glow.NllLossOp: nll_loss,
    glow.CrossEntropyOp: cross_entropy,
}
