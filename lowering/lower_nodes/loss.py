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

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.loss import class_axis
from glow.dialects.glow.training.terms import terms
from glow.dialects.node import named_location, node_name, shape_of, tensor_type
from glow.lowering.lower_nodes.elementwise import Tensors
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, like


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


class ClassLabels:
    """The labels of a loss of classes, safe to gather with, and which samples count.

    Labels that are negative, from which a gather would count backwards, become C, so that
    it reports them as it does others outside of the classes. The report names the labels.
    """

    def __init__(self, builder: NodeBuilder, op: glow.ClassLossOp) -> None:
        self.builder = builder
        self.axis = class_axis(len(shape_of(op.input)))
        labels = op.labels
        if element_type(labels) != i64:
            wide = tensor_type(shape_of(labels), i64)
            labels = builder.create(glow.ConvertOp, [labels], {}, types=[wide])
        zero = builder.splat(0, i64)
        ignored = builder.splat(op.attributes_view().int("ignore_index"), i64)
        self.ignored = builder.node(glow.EqualOp, labels, ignored)
        safe = builder.node(glow.SelectOp, self.ignored, zero, labels)
        classes = builder.splat(shape_of(op.input)[self.axis], i64)
        negative = builder.node(glow.LessOp, safe, zero)
        self.places = builder.node(glow.SelectOp, negative, classes, safe)

    def kept(self, value: SSAValue) -> SSAValue:
        """A value of each sample, 0 where the sample is ignored."""
        zero = self.builder.splat(0, element_type(value))
        return self.builder.node(glow.SelectOp, self.ignored, zero, value)

    def pick(self, value: SSAValue) -> SSAValue:
        """The value of each sample's class."""
        shape = list(shape_of(self.places))
        with_axis = [*shape[: self.axis], 1, *shape[self.axis :]]
        places = self.builder.reshape(self.places, with_axis)
        picked = self.builder.node(glow.GatherElementsOp, value, places, axis=self.axis)
        name = node_name(self.builder.anchor) or self.builder.anchor.name
        assert isinstance(picked.owner, Operation)
        picked.owner.location = named_location(f"labels of {name}")
        return self.builder.reshape(picked, shape)

    def weight(self, weights: SSAValue | None, element: SSAValue) -> SSAValue:
        """The weight of each sample, that of its class or 1, in the element type."""
        if weights is not None:
            return self.builder.node(glow.GatherOp, weights, self.places, axis=0)
        one = self.builder.splat(1, element_type(element))
        shape = like(element, shape_of(self.places))
        return self.builder.create(glow.BroadcastOp, [one], {}, types=[shape])


def class_losses(op: glow.ClassLossOp, logarithms: SSAValue, smoothing: float) -> None:
    """Replace a loss of classes, given the logarithms of their probabilities."""
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
            ones = [1] * (len(shape_of(every)) - labels.axis - 1)
            factors = builder.reshape(op.weights, [classes, *ones])
            every = formula.mul(every, factors)
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
