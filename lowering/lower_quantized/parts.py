"""The steps that all quantized nodes are made of; `docs/quantization.md` has the formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.dialects.quant import Quantization, StorageCastOp, storage_cast
from glow.dialects.quantized import (
    parameters_of,
    quantized_type,
    storage_of,
    stored_type,
)
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import stored_value
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import along_axis, scales_of, zero_points_of
from glow.interpreter.quantized import is_fixed
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import NodeBuilder

Bounds = tuple[float, float]

BYTE = 8

SUM_BITS = 31
"""Of sums of products, without the sign."""


class Parts(NodeBuilder):
    """Builds the plain nodes that replace a quantized one."""

    def convert(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value's elements in another type."""
        if tensor_of(value).element_type == element:
            return value
        target = tensor_type(shape_of(value), element)
        return self.create(glow.ConvertOp, [value], {}, types=[target])

    def number(self, array: Array | float, element: Attribute = f32) -> SSAValue:
        """A constant; a splat where it is one number."""
        array = np.asarray(array, dtype_of(element))
        if array.size == 1:
            return self.splat(array.reshape(-1)[0].item(), element)
        return self.constant(array, "scales")

    def stored(self, value: SSAValue) -> SSAValue:
        """The stored integers of a quantized value."""
        target = stored_type(tensor_of(value))
        return self.insert(storage_cast(value, target)).results[0]

    def quantized(self, stored: SSAValue, data: Quantization) -> SSAValue:
        """Stored integers as a quantized value."""
        target = quantized_type(tensor_of(stored), data)
        return self.insert(storage_cast(stored, target)).results[0]

    def centred(self, value: SSAValue, element: Attribute = f32) -> SSAValue:
        """Stored values less their zero points, which floats hold exactly."""
        data = parameters_of(value.type)
        rank = len(shape_of(value))
        points = zero_points_of(data, rank)
        array = stored_value(value)
        if array is not None and element == f64:
            wide = array.astype(np.float64) - points
            return self.constant(wide, "weights")
        floats = self.convert(self.stored(value), element)
        if not points.any():
            return floats
        return self.node(glow.SubOp, floats, self.number(points, element))

    def last_centred(self, value: SSAValue) -> SSAValue:
        """As `centred`, for the operand that is computed last: what nothing else reads is
        taken as it was before it was stored.
        """
        rounded = self.before_storing(value)
        return self.centred(value, self.whole(value)) if rounded is None else rounded

    def before_storing(self, value: SSAValue) -> SSAValue | None:
        """The rounded numbers, less the zero point, that `finish` made a byte of; None for
        other values and those that several nodes read.
        """
        if value.get_user_of_unique_use() is None:
            return None
        data, cast = parameters_of(value.type), value.owner
        if not isinstance(cast, StorageCastOp) or data.axis is not None:
            return None
        return self.rounded(cast.input, data)

    def rounded(self, stored: SSAValue, data: Quantization) -> SSAValue | None:
        """The rounded numbers, less the zero point, that bytes were made of, if they are known."""
        if not isinstance(stored.owner, glow.ConvertOp):
            return None
        whole, point = stored.owner.operand, data.zero_points[0]
        if isinstance(whole.owner, glow.AddOp):
            addend = stored_value(whole.owner.operands[1])
            if addend is None or np.any(addend != point):
                return None
            whole, point = whole.owner.operands[0], 0
        if point:
            return None
        if isinstance(whole.owner, glow.ConvertOp):
            whole = whole.owner.operand
        return whole if _is_clamped(whole, data) else None

    @property
    def is_fixed(self) -> bool:
        """Whether multipliers are fixed-point numbers."""
        return is_fixed(self.anchor)

    def whole(self, *factors: SSAValue) -> Attribute:
        """The type of products of centred values, which are to be rescaled."""
        return integers(whole_bits(*factors)) if self.is_fixed else f32

    def rescaled(
        self, value: SSAValue, multiplier: Array, bits: int = SUM_BITS
    ) -> SSAValue:
        """Whole numbers times constants, as the module requantizes: f32, or rounded integers.

        Fixed-point arithmetic wraps them to so many bits and a sign.
        """
        if not self.is_fixed:
            return self.scaled(self.convert(value, f32), multiplier)
        if tensor_of(value).element_type == f64:
            value = self.convert(value, i64)
        value = self.convert(value, integers(bits))
        from glow.lowering.lower_quantized.fixed_point import fixed_product

        return fixed_product(self, value, multiplier, bits)

    def scaled(self, value: SSAValue, multiplier: Array) -> SSAValue:
        """A float value times constants."""
        if np.all(multiplier == 1):
            return value
        return self.node(glow.MulOp, value, self.number(multiplier))

    def requantized(
        self,
        value: SSAValue,
        multiplier: Array,
        data: Quantization,
        bounds: Bounds | None = None,
        bits: int = SUM_BITS,
    ) -> SSAValue:
        """Whole numbers times constants, rounded, saturated and stored; see `rescaled`."""
        return self.finish(self.rescaled(value, multiplier, bits), data, bounds)

    def affine(
        self,
        value: SSAValue,
        multiplier: SSAValue,
        addend: SSAValue,
        data: Quantization,
    ) -> SSAValue:
        """A quantized value times finite constants, plus others, rounded, saturated and stored."""
        return self.finish(self.affine_numbers(value, multiplier, addend), data)

    def affine_numbers(
        self, value: SSAValue, multiplier: SSAValue, addend: SSAValue
    ) -> SSAValue:
        """A quantized value times floats, plus others."""
        product = self.node(glow.MulOp, self.centred(value), multiplier)
        return self.node(glow.AddOp, product, addend)

    def finish(
        self, value: SSAValue, data: Quantization, bounds: Bounds | None = None
    ) -> SSAValue:
        """Numbers in units of the result's scale, rounded, saturated and stored.

        `bounds` narrow the range of stored values. Bytes are clamped first, since then
        integers are what remains to be rounded to, and added to. Integers are whole.
        """
        element = tensor_of(value).element_type
        if element in (i32, i64):
            return self._finish_whole(value, data, bounds)
        low, high = bounds or data.limits
        points = along_axis(data.zero_points, data, len(shape_of(value)))
        if fits_byte(data):
            point = data.zero_points[0]
            clipped = self.node(
                glow.ClipOp, value, low=float(low - point), high=float(high - point)
            )
            whole = self.convert(self.node(glow.RoundOp, clipped), i32)
            if point:
                whole = self.node(glow.AddOp, whole, self.splat(point, i32))
            return self.quantized(self.convert(whole, storage_of(data)), data)
        rounded = self.node(glow.RoundOp, value)
        if points.any():
            rounded = self.node(glow.AddOp, rounded, self.number(points, element))
        clipped = self.node(glow.ClipOp, rounded, low=float(low), high=float(high))
        return self.quantized(self.convert(clipped, storage_of(data)), data)

    def _finish_whole(
        self, value: SSAValue, data: Quantization, bounds: Bounds | None
    ) -> SSAValue:
        """Integers in units of the result's scale, saturated and stored."""
        value = self.convert(value, i64) if data.bits > SUM_BITS else value
        (low, high), point = bounds or data.limits, data.zero_points[0]
        whole = self.node(
            glow.ClipOp, value, low=float(low - point), high=float(high - point)
        )
        if point:
            addend = self.splat(point, tensor_of(whole).element_type)
            whole = self.node(glow.AddOp, whole, addend)
        return self.quantized(self.convert(whole, storage_of(data)), data)

    def no_nan(self, value: SSAValue) -> SSAValue:
        """The value, NaN being the smallest number: saturation makes it the lowest one."""
        lowest = self.splat(float("-inf"), f32)
        is_nan = self.node(glow.IsNanOp, value)
        return self.node(glow.SelectOp, is_nan, lowest, value)


Lowering = Callable[[Operation, Parts], None]
"""Replaces a node, which the parts are built in the place of."""


def fits_byte(data: Quantization) -> bool:
    """Whether elements are bytes, or less, of one scale."""
    return data.axis is None and data.bits <= BYTE


def whole_bits(*factors: SSAValue) -> int:
    """The bits of products of quantized values less their zero points, without the sign."""
    return sum(parameters_of(factor.type).bits for factor in factors)


def integers(bits: int) -> Attribute:
    """The integers that hold so many bits and a sign."""
    return i32 if bits <= SUM_BITS else i64


def _is_clamped(whole: SSAValue, data: Quantization) -> bool:
    """Whether a value was clamped, before it was rounded, to what can be stored."""
    owner = whole.owner
    clip = owner.operands[0].owner if isinstance(owner, glow.RoundOp) else owner
    if not isinstance(clip, glow.ClipOp):
        return False
    attributes, point = clip.attributes_view(), data.zero_points[0]
    low, high = (limit - point for limit in data.full_range)
    return low <= attributes.float("low") and attributes.float("high") <= high


def scale_of(value: SSAValue) -> Array:
    """The float32 scale of a value that is quantized per tensor."""
    return scales_of(parameters_of(value.type))


def inputs_of(values: Sequence[SSAValue]) -> list[Quantization]:
    """The quantization of each value."""
    return [parameters_of(value.type) for value in values]
