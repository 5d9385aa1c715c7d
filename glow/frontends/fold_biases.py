"""Gives convolutions the bias that StableHLO adds behind them.

    %1 = glow.conv2d %x, %w : tensor<1x8x4x4xf32>
    %2 = glow.add %1, %b : tensor<1x8x4x4xf32>          // %b : tensor<8x1x1xf32>
  becomes
    %2 = glow.conv2d %x, %w, %b1 : tensor<1x8x4x4xf32>  // %b1 : tensor<8xf32>

So passes find a convolution before an activation, as in networks from ONNX.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.dialects.glow import AddOp, Conv2dOp, Conv3dOp
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of


def fold_biases(module: ModuleOp) -> None:
    """Let convolutions add what has one number a channel."""
    for op in list(module.walk()):
        if isinstance(op, AddOp):
            lhs, rhs = op.inputs
            _ = _fold(op, lhs, rhs) or _fold(op, rhs, lhs)


def _fold(op: NodeOp, product: SSAValue, addend: SSAValue) -> bool:
    """Whether an addend was one number a channel of a convolution, and is its bias now."""
    node = product.owner
    if not isinstance(node, Conv2dOp | Conv3dOp) or node.bias is not None:
        return False
    shape, own = shape_of(product), shape_of(addend)
    padded = (*[1] * (len(shape) - len(own)), *own)
    per_channel = (1, shape[1], *[1] * (len(shape) - 2))
    if len(own) > len(shape) or padded != per_channel or not product.has_one_use():
        return False
    builder = NodeBuilder(op)
    bias = builder.reshape(addend, shape[1:2])
    attributes = attributes_of(node)
    builder.replace(builder.create(type(node), [*node.inputs, bias], attributes))
    return True
