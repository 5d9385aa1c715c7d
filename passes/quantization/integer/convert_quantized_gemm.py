"""A `glow.gemm` by quantized constant weights is a fully connected layer.

    %1 = quant.dcast %w : tensor<10x64x!w> to tensor<10x64xf32>
    %2 = glow.gemm %0, %1, %b transpose_rhs : tensor<1x10xf32>
  becomes
    %2 = glow.transpose %1 permutation [1, 0] : tensor<64x10xf32>
    %3 = glow.fully_connected %0, %2, %b : tensor<1x10xf32>

and the transpose is done at compile time (`fold-casts`).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import stored_value
from glow.passes.quantization.casts import dequantized
from glow.passes.rewriting.node_builder import NodeBuilder, rewrite_nodes


def convert(op: Operation) -> None:
    """Replace the node where factors are 1 and the addend is a bias."""
    assert isinstance(op, glow.GemmOp)
    weights, attributes = dequantized(op.rhs), op.attributes_view()
    if weights is None or stored_value(weights) is None:
        return
    plain = attributes.float("alpha") == 1.0 and attributes.float("beta") == 1.0
    columns = shape_of(op.results[0])[1]
    has_bias = op.addend is None or shape_of(op.addend) == (columns,)
    if not plain or not has_bias:
        return
    builder, lhs, rhs = NodeBuilder(op), op.lhs, op.rhs
    if attributes.has("transpose_lhs"):
        lhs = builder.transpose(lhs, [1, 0])
    if attributes.has("transpose_rhs"):
        rhs = builder.transpose(rhs, [1, 0])
    bias = [] if op.addend is None else [op.addend]
    builder.replace(builder.node(glow.FullyConnectedOp, lhs, rhs, *bias))


def convert_quantized_gemm(module: ModuleOp) -> None:
    """Convert the module's nodes."""
    rewrite_nodes(module, {glow.GemmOp: convert})


class ConvertQuantizedGemmPass(ModulePass):
    """Turn products by quantized weights into fully connected layers."""

    name = "convert-quantized-gemm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        convert_quantized_gemm(op)
