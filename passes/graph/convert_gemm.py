"""Turns products with constant matrices into fully connected layers.

ONNX spells a layer as Gemm with a transposed weight matrix, or as MatMul and Add. One
form suffices for later passes: `glow.fully_connected`, weights [K, N], bias [N]. The
transposed weights are a view of the old array, so nothing is copied.

    %1 = glow.gemm %x, %w, %c transpose_rhs : tensor<1x10xf32>
  becomes
    %1 = glow.fully_connected %x, %w.transposed, %c : tensor<1x10xf32>

Products of higher rank stay `glow.matmul`; a constant right side is only transposed.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.quant import quantization_of
from glow.dialects.weights import constant_value, stored_value
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import NodeBuilder, name_of, rewrite_nodes


def constant_transposed(builder: NodeBuilder, value: SSAValue) -> SSAValue | None:
    """A constant with its last two axes swapped (a view); None when not constant, or of
    quantized elements with scales along one of them.
    """
    array, quantization = stored_value(value), quantization_of(value.type)
    if array is None or (quantization is not None and quantization.axis is not None):
        return None
    name = f"{name_of(value)}.transposed"
    return builder.constant_like(value, np.swapaxes(array, -1, -2), name)


def scaled_constant(
    builder: NodeBuilder, value: SSAValue, factor: float
) -> SSAValue | None:
    """A constant times a number; None when it is not constant."""
    if factor == 1.0:
        return value
    array = constant_value(value)
    if array is None:
        return None
    scaled = np.multiply(array, np.float64(factor)).astype(array.dtype)
    return builder.constant(scaled, f"{name_of(value)}.scaled")


def bias_of(builder: NodeBuilder, addend: SSAValue, outputs: int) -> SSAValue | None:
    """The addend of [M, N] as a vector [N]; None when it differs between rows."""
    shape = shape_of(addend)
    if shape in ((outputs,), (1, outputs)):
        return builder.reshape(addend, (outputs,))
    array = constant_value(addend)
    if array is not None and array.size == 1:
        vector = np.full((outputs,), array.reshape(())[()])
        return builder.constant(vector, f"{name_of(addend)}.bias")
    return None


def convert_gemm(op: Operation) -> None:
    """Turn a gemm with constant weights into a fully connected layer."""
    assert isinstance(op, glow.GemmOp)
    if constant_value(op.rhs) is None:
        return
    builder = NodeBuilder(op)
    attributes = op.attributes_view()
    outputs = shape_of(op.result)[1]
    operands: list[SSAValue] = []
    if op.addend is not None:
        addend = scaled_constant(builder, op.addend, attributes.float("beta"))
        bias = None if addend is None else bias_of(builder, addend, outputs)
        if bias is None:
            return
        operands = [bias]
    weights = scaled_constant(builder, op.rhs, attributes.float("alpha"))
    if weights is not None and attributes.has("transpose_rhs"):
        weights = constant_transposed(builder, weights)
    assert weights is not None
    lhs = op.lhs
    if attributes.has("transpose_lhs"):
        lhs = builder.transpose(lhs, (1, 0))
    builder.replace(builder.node(glow.FullyConnectedOp, lhs, weights, *operands))


def convert_matmul(op: Operation) -> None:
    """Give a matmul with a constant right side the form that packing wants.

    Quantized ones keep the result's scale and zero point.
    """
    assert isinstance(op, glow.MatmulOp)
    if stored_value(op.rhs) is None:
        return
    builder = NodeBuilder(op)
    rhs = op.rhs
    if op.transpose_rhs is not None:
        transposed = constant_transposed(builder, rhs)
        if transposed is None:
            return
        rhs = transposed
    if op.transpose_lhs is None and len(shape_of(op.lhs)) == len(shape_of(rhs)) == 2:
        builder.replace(builder.substitute(glow.FullyConnectedOp, [op.lhs, rhs], {}))
    elif rhs is not op.rhs:
        attributes = {"transpose_lhs": op.transpose_lhs is not None}
        builder.replace(builder.substitute(glow.MatmulOp, [op.lhs, rhs], attributes))


class ConvertGemmPass(GraphPass):
    """Turn products with constant matrices into fully connected layers."""

    name = "convert-gemm"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.GemmOp: convert_gemm, glow.MatmulOp: convert_matmul})
