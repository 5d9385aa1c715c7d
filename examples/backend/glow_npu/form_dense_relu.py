"""Makes `npu.dense_relu` of dense layers with ReLU."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import element_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, rewrite_nodes
from glow_npu.dialect import DenseReluOp


def form_dense_relu(op: Operation) -> None:
    """Replace a layer by our node where that computes the same."""
    assert isinstance(op, glow.FullyConnectedOp)
    is_f32 = all(element_of(value) == f32 for value in op.inputs)
    if op.activation == StringAttr("relu") and op.bias is not None and is_f32:
        builder = NodeBuilder(op)
        builder.replace(builder.node(DenseReluOp, op.input, op.weights, op.bias))


class FormDenseReluPass(ModulePass):
    """Make npu.dense_relu of dense layers with ReLU."""

    name = "form-dense-relu"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.FullyConnectedOp: form_dense_relu})
