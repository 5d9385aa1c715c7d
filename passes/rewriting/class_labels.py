"""The labels of losses of classes, for what computes them and for their gradients."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.glow.training.loss import class_axis
from glow.dialects.node import named_location, node_name, shape_of, tensor_type
from glow.passes.rewriting.node_builder import NodeBuilder, element_type


class ClassLabels:
    """The labels of a loss of classes, safe to gather with, and which samples count.

    Labels that are negative, from which a gather would count backwards, become C, so that
    it reports them as it does others outside of the classes. The report names the labels.
    """

    def __init__(self, builder: NodeBuilder, op: glow.ClassLossOp) -> None:
        self.builder = builder
        self.op = op
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

    def with_axis(self, value: SSAValue) -> SSAValue:
        """A value of each sample, with an axis of size 1 in the place of the classes."""
        shape = list(shape_of(value))
        return self.builder.reshape(
            value, [*shape[: self.axis], 1, *shape[self.axis :]]
        )

    def along_axis(self, value: SSAValue) -> SSAValue:
        """A value of each class, so that it broadcasts to the input."""
        ones = [1] * (len(shape_of(self.op.input)) - self.axis - 1)
        return self.builder.reshape(value, [*shape_of(value), *ones])

    def kept(self, value: SSAValue) -> SSAValue:
        """A value of each sample, or one of all; 0 where the sample is ignored."""
        zero = self.builder.splat(0, element_type(value))
        return self.builder.node(glow.SelectOp, self.ignored, zero, value)

    def pick(self, value: SSAValue) -> SSAValue:
        """The value of each sample's class."""
        places = self.with_axis(self.places)
        picked = self.builder.node(glow.GatherElementsOp, value, places, axis=self.axis)
        name = node_name(self.op) or self.op.name
        assert isinstance(picked.owner, Operation)
        picked.owner.location = named_location(f"labels of {name}")
        return self.builder.reshape(picked, shape_of(self.places))

    def weight(self, weights: SSAValue | None, element: SSAValue) -> SSAValue:
        """The weight of each sample, that of its class; or 1 for all, in the element type."""
        if weights is not None:
            return self.builder.node(glow.GatherOp, weights, self.places, axis=0)
        return self.builder.splat(1, element_type(element))
