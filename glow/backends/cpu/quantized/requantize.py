"""Quantized nodes in parts of which one stands for all that makes bytes of numbers.

    %1 = glow.rescale %0 : tensor<4x!quant.uniform<u8:f32, 0.5:3>>
  becomes
    %2 = glow.convert %0 : tensor<4xf32>
    %1 = cpu.requantize %2, %half low -3.0 high 252.0 zero_point 3 : tensor<4xui8>

The steps of the shared lowering (`finish`) are seven nodes, those of a normalization ten. Each
costs a tenth of a millisecond in each pass, and a network has hundreds of them, until they are
the scalar code of an epilogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from glow.backends.backend import Rewrite
from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.dialects.quant import Quantization
from glow.dialects.quantized import parameters_of, storage_of
from glow.interpreter.arrays import Array
from glow.lowering.lower_quantized import arithmetic, integer_products
from glow.lowering.lower_quantized.parts import (
    SUM_BITS,
    Bounds,
    Lowering,
    Parts,
    fits_byte,
)


class RequantizingParts(Parts):
    """Makes bytes by `cpu.requantize`, where multipliers are floats."""

    def requantized(
        self,
        value: SSAValue,
        multiplier: Array,
        data: Quantization,
        bounds: Bounds | None = None,
        bits: int = SUM_BITS,
    ) -> SSAValue:
        """Whole numbers times constants as bytes."""
        if self.is_fixed or not fits_byte(data):
            return super().requantized(value, multiplier, data, bounds, bits)
        is_one = bool(np.all(multiplier == 1))
        factors = [] if is_one else [self.number(multiplier)]
        return self._bytes([value, *factors], data, bounds)

    def affine(
        self,
        value: SSAValue,
        multiplier: SSAValue,
        addend: SSAValue,
        data: Quantization,
    ) -> SSAValue:
        """A quantized value times constants, plus others, as bytes."""
        if self.is_fixed or not fits_byte(data):
            return super().affine(value, multiplier, addend, data)
        (point,) = parameters_of(value.type).zero_points
        return self._bytes([self.stored(value), multiplier, addend], data, None, point)

    def finish(
        self, value: SSAValue, data: Quantization, bounds: Bounds | None = None
    ) -> SSAValue:
        """Numbers in units of the result's scale as bytes."""
        if self.is_fixed or not fits_byte(data):
            return super().finish(value, data, bounds)
        return self._bytes([value], data, bounds)

    def _bytes(
        self,
        operands: list[SSAValue],
        data: Quantization,
        bounds: Bounds | None,
        input_zero_point: int = 0,
    ) -> SSAValue:
        (low, high), point = bounds or data.limits, data.zero_points[0]
        stored = self.create(
            cpu.RequantizeOp,
            operands,
            {
                "low": float(low - point),
                "high": float(high - point),
                "zero_point": point,
                "input_zero_point": input_zero_point,
            },
            types=[tensor_type(shape_of(operands[0]), storage_of(data))],
        )
        return self.quantized(stored, data)

    def rounded(self, stored: SSAValue, data: Quantization) -> SSAValue | None:
        """The rounded numbers, less the zero point, that bytes were made of."""
        op = stored.owner
        if not isinstance(op, cpu.RequantizeOp):
            return super().rounded(stored, data)
        attributes, parts = op.attributes_view(), Parts(op)
        if attributes.int("zero_point") != data.zero_points[0]:
            return None
        value = parts.convert(op.input, f32)
        if less := attributes.int("input_zero_point"):
            value = parts.node(glow.SubOp, value, parts.number(less))
        if op.multiplier is not None:
            value = parts.node(glow.MulOp, value, op.multiplier)
        if op.addend is not None:
            value = parts.node(glow.AddOp, value, op.addend)
        bounds = {name: attributes.float(name) for name in ("low", "high")}
        return parts.node(glow.RoundOp, parts.node(glow.ClipOp, value, **bounds))


def _lowered(lowering: Lowering) -> Rewrite:
    def rewrite(op: Operation) -> bool:
        lowering(op, RequantizingParts(op))
        return True

    return rewrite


def _product(lowering: Callable[[Operation, Parts], bool]) -> Rewrite:
    return lambda op: lowering(op, RequantizingParts(op))


REWRITES: Mapping[type[Operation], Rewrite] = {
    **{node: _lowered(way) for node, way in arithmetic.LOWERINGS.items()},
    **{node: _product(way) for node, way in integer_products.LOWERINGS.items()},
}
"""Of all nodes that have a shared lowering; it is made of these parts."""
