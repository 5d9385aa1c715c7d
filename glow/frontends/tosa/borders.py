"""Between floats and bytes: TOSA says in parts what a cast to quantized elements does.

%0 = tosa.minimum (tosa.maximum %x, %low), %high : tensor<4xf32>
%1 = tosa.add (tosa.cast %0 : i32), %zero_point : tensor<4xi32>
%2 = tosa.cast %1 : tensor<4xi8>
becomes
%2 = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 1.0:3>>
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import element_of
from glow.dialects.quant import DequantizeCastOp, Quantization, quantization_of
from glow.frontends.tosa.quantized import as_quantized, as_stored, element
from glow.frontends.tosa.quantized_products import quantized_product
from glow.frontends.tosa.tosa_builder import TosaBuilder
from glow.passes.quantization.casts import dequantize_value, quantize_value
from glow.passes.quantization.integer.fold_storage_casts import behind


def dequantized(builder: TosaBuilder, value: SSAValue) -> SSAValue | None:
    """Integers of quantized elements, less a zero point or not, as floats."""
    found = builder.rescaled.get(value)
    point = 0
    if found is not None:
        if not found.how.is_plain or found.how.behind:
            return None
        value, point = found.value, found.how.before
    if element_of(value) != i8 or behind(value) is None:
        return None
    return dequantize_value(
        builder, as_quantized(builder, value, element(value, point))
    )


def with_scale(builder: TosaBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue | None:
    """Quantized elements as floats, times a number: their scale."""
    for value, factor in ((lhs, rhs), (rhs, lhs)):
        owner, array = value.owner, builder.known(factor)
        if not isinstance(owner, DequantizeCastOp) or array is None or array.size != 1:
            continue
        data, scale = quantization_of(owner.input.type), float(array.reshape(-1)[0])
        if data is None or data.scales != (1.0,) or not 0 < scale < np.inf:
            continue
        target = element(owner.input, data.zero_points[0], scale)
        stored = as_stored(builder, owner.input)
        return dequantize_value(builder, as_quantized(builder, stored, target))
    return None


def quantized(builder: TosaBuilder, value: SSAValue) -> SSAValue | None:
    """Floats between two numbers, rounded, plus a zero point, as bytes; None for others."""
    owner, point = value.owner, 0
    if element_of(value) != i32 or builder.result.element_type != i8:
        return None
    if isinstance(owner, glow.AddOp):
        array = builder.known(owner.rhs)
        if array is None or array.size != 1:
            return None
        owner, point = owner.lhs.owner, int(array.reshape(-1)[0])
    for step in (glow.ConvertOp, glow.ClipOp, glow.RoundOp):
        if not isinstance(owner, step):
            return None
        owner = owner.operands[0].owner
    bounds: list[float] = []
    for step in (glow.MinOp, glow.MaxOp):
        if not isinstance(owner, step):
            return None
        array = builder.known(owner.rhs)
        if array is None or array.size != 1:
            return None
        bounds.append(float(array.reshape(-1)[0]) + point)
        value, owner = owner.lhs, owner.lhs.owner
    data = Quantization(8, True, (1.0,), (point,))
    if tuple(bounds[::-1]) != data.limits or element_of(value) != f32:
        return None
    product = _scaled_product(builder, value, point)
    return product or as_stored(builder, quantize_value(builder, value, data))


def _scaled_product(
    builder: TosaBuilder, value: SSAValue, point: int
) -> SSAValue | None:
    """Sums of products that are floats times numbers; None for others."""
    owner, scales = value.owner, np.ones(1, np.float32)
    if isinstance(owner, glow.MulOp):
        array = builder.known(owner.rhs)
        if array is None or array.shape[-1:] != (array.size,)[: array.ndim]:
            return None
        owner, scales = owner.lhs.owner, array.reshape(-1).astype(np.float32)
    if not isinstance(owner, glow.ConvertOp):
        return None
    return quantized_product(builder, owner.operands[0], scales, point)
