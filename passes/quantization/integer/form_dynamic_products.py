"""ONNX's spelling of a product that is quantized at run time becomes one node.

    %q, %s, %z = glow.dynamic_quantize %x
    %1 = glow.matmul_integer %q, %w, %z, %zero : tensor<9x64xi32>
    %2 = glow.convert %1 : tensor<9x64xf32>
    %3 = glow.mul %s, %w_scale
    %4 = glow.mul %2, %3
  becomes
    %4 = glow.dynamic_matmul %x, %w granularity "tensor" : tensor<9x64xf32>

which gives the same bits.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.quant import Quantization
from glow.dialects.weights import constant_value
from glow.interpreter.arrays import Array
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
    name_of,
    rewrite_nodes,
)

STORAGE_BITS = 8


def product_behind(value: SSAValue) -> glow.MatmulIntegerOp | None:
    """The integer product whose conversion to float a value is."""
    convert = value.owner
    if not isinstance(convert, glow.ConvertOp) or not value.has_one_use():
        return None
    product = convert.operands[0].owner
    return product if isinstance(product, glow.MatmulIntegerOp) else None


def weight_scales(value: SSAValue, scale: SSAValue) -> Array | None:
    """The constant that a value is times `scale`."""
    owner = value.owner
    if not isinstance(owner, glow.MulOp):
        return None
    for one, other in (owner.operands[:2], owner.operands[1::-1]):
        if one is scale:
            return constant_value(other)
    return None


def weight_quantization(
    weights: Array, scales: Array, zero_points: Array | None
) -> Quantization | None:
    """Weights by tensor or by column, or None where scales have another shape."""
    columns = weights.shape[1]
    if scales.size not in (1, columns) or weights.ndim != 2:
        return None
    points = np.zeros(1, np.int64) if zero_points is None else zero_points
    spread = np.broadcast_to(points.reshape(-1), (scales.size,))
    if points.size not in (1, scales.size) or not (scales > 0).all():
        return None
    return Quantization(
        STORAGE_BITS,
        weights.dtype.kind == "i",
        tuple(float(scale) for scale in scales.reshape(-1)),
        tuple(int(point) for point in spread),
        1 if scales.size > 1 else None,
    )


def form(op: Operation) -> None:
    """Replace the multiplication that ends the spelling."""
    for scaled, units in (op.operands[:2], op.operands[1::-1]):
        product = product_behind(scaled)
        if product is not None and _replace(op, product, units):
            return


def _replace(op: Operation, product: glow.MatmulIntegerOp, units: SSAValue) -> bool:
    dynamic = product.lhs.owner
    if not isinstance(dynamic, glow.DynamicQuantizeOp):
        return False
    if product.lhs_zero_point is not dynamic.zero_point:
        return False
    weights, scales = constant_value(product.rhs), weight_scales(units, dynamic.scale)
    points = product.rhs_zero_point
    zero_points = None if points is None else constant_value(points)
    if (
        weights is None
        or scales is None
        or (points is not None and zero_points is None)
    ):
        return False
    data = weight_quantization(weights, scales, zero_points)
    if data is None or shape_of(op.results[0]) != shape_of(product.result):
        return False
    builder = NodeBuilder(op)
    constant = builder.quantized_constant(weights, data, name_of(product.rhs))
    assert tensor_of(constant).get_num_dims() == 2
    builder.replace(
        builder.node(
            glow.DynamicMatmulOp, dynamic.input, constant, granularity="tensor"
        )
    )
    return True


def form_dynamic_products(module: ModuleOp) -> None:
    """Form the nodes in program order."""
    rewrite_nodes(module, {glow.MulOp: form})
    erase_dead_nodes(module)


class FormDynamicProductsPass(ModulePass):
    """Form products that are quantized at run time from ONNX's spelling of them."""

    name = "form-dynamic-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        form_dynamic_products(op)
