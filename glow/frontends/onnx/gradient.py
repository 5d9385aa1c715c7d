"""`Gradient` (ai.onnx.preview.training-1): the nodes before it, differentiated.

It names a tensor `y` and tensors `xs` of the graph, and its inputs are the values of `xs`
(and of `zs`, which stay constant). Where `y` has axes, it is the gradient of its sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from glow.dialects.node import fail_unless, shape_of
from glow.dialects.weight_table import Array, WeightTable, dtype_of
from glow.dialects.weights import new_constant
from glow.frontends.onnx.frame import Frame
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.lists import Held
from glow.frontends.onnx.node import OnnxNode
from glow.frontends.onnx.refusal import refuse_if
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.reverse_walk import (
    GradientSums,
    dependents,
    walk_back,
)
from glow.passes.graph.differentiate.rules import RULES
from glow.passes.rewriting.node_builder import element_type


class _Builder(GradientBuilder):
    """Builds in a block that is not in a module yet."""

    def __init__(
        self, anchor: ReturnOp, needed: set[SSAValue], table: WeightTable
    ) -> None:
        super().__init__(anchor, needed, RULES)
        self.table = table

    def constant(self, array: Array, name: str) -> SSAValue:
        """A constant, in the table of the importer."""
        return self.insert(new_constant(self.table, array, name)).results[0]


def import_gradient(_: object, node: OnnxNode, frame: Frame) -> list[Held]:
    """The gradients of the values that `xs` names."""
    graph = node.graph
    refuse_if(graph.block is not graph.entry, "a gradient in a branch or loop")
    names = node.attr_strings("xs") or []
    named = [
        frame.read(name, "Gradient")
        for name in (*names, *(node.attr_strings("zs") or []))
    ]
    fail_unless(
        len(named) == len(node.inputs),
        f"{len(node.inputs)} inputs for {len(named)} names in xs and zs",
    )
    refuse_if(
        any(one is not other for one, other in zip(named, node.inputs, strict=True)),
        "a gradient at other values than those of xs",
    )
    values = [graph.value_of(node.value(index)) for index in range(len(names))]
    target = frame.read(node.attr_string("y", ""), "Gradient")
    if not isinstance(target, SSAValue):
        return [_zeros(value) for value in values]
    return _gradients(node, target, values)


def _gradients(
    node: OnnxNode, target: SSAValue, values: Sequence[SSAValue]
) -> list[Held]:
    """The gradients, behind all nodes so far; zeros of what the target does not need."""
    block, end = node.graph.block, ReturnOp()
    ops = list(block.ops)
    block.add_op(end)
    builder = _Builder(end, dependents(ops, values), node.graph.table)
    sums = GradientSums(builder)
    sums.add(target, builder.number(1.0, target))
    walk_back(sums, ops)
    gradients = [sums.get(value) for value in values]
    end.operands = [gradient for gradient in gradients if gradient is not None]
    builder.erase_unused()
    end.detach()
    end.erase()
    return [
        _zeros(value) if gradient is None else gradient
        for value, gradient in zip(values, gradients, strict=True)
    ]


def _zeros(value: SSAValue) -> Constant:
    dtype = dtype_of(element_type(value))
    return Constant(np.zeros(shape_of(value), dtype), "zeros")
