"""Nodes of training: losses that are operators of ONNX, and what is taken apart before."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.glow.training.optimizers import OptimizerOp
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weights import clone_module
from glow.exporters.onnx.elementwise import Export
from glow.exporters.onnx.writer import Writer
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS, lower_nodes


def class_loss(operator: str) -> Export:
    """What writes a loss of classes."""

    def export(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
        attributes = op.attributes_view()
        writer.emit(
            operator,
            inputs,
            output,
            reduction=attributes.string("reduction"),
            ignore_index=attributes.int("ignore_index"),
        )

    return export


EXPORTS: Mapping[type[Operation], Export] = {
    glow.NllLossOp: class_loss("NegativeLogLikelihoodLoss"),
    glow.CrossEntropyOp: class_loss("SoftmaxCrossEntropyLoss"),
}
"""Node class to what writes it."""

REFUSED = (glow.RandomUniformOp, glow.DropoutOp, OptimizerOp)
"""ONNX does not say which random numbers come, and its networks do not train."""


def has_operator(op: NodeOp) -> bool:
    """Whether a loss is what ONNX's operator computes: a batch, and no smoothing."""
    if not isinstance(op, glow.NllLossOp | glow.CrossEntropyOp):
        return True
    smoothing = (
        op.attributes_view().float("label_smoothing")
        if isinstance(op, glow.CrossEntropyOp)
        else 0.0
    )
    is_known = element_of(op.labels) in (i32, i64)
    return not smoothing and is_known and len(shape_of(op.input)) > 1


class Operators:
    """What ONNX has operators for."""

    def __init__(self, known: Mapping[type[Operation], Export]) -> None:
        self.known = known

    def is_legal(self, op: NodeOp) -> bool:
        """Whether an operator, or a few, are the node, or nothing can be."""
        return isinstance(op, REFUSED) or (type(op) in self.known and has_operator(op))


def with_operators(
    module: ModuleOp, known: Mapping[type[Operation], Export]
) -> ModuleOp:
    """The module, or a copy where nodes without an operator are made of others that have one.

    So other losses, batch normalization of a batch and fake quantization are written as
    arithmetic.
    """
    operators = Operators(known)
    if all(
        not isinstance(op, NodeOp)
        or type(op) not in LOWERINGS
        or operators.is_legal(op)
        for op in module.walk()
    ):
        return module
    copy = clone_module(module)
    lower_nodes(copy, operators)
    return copy
