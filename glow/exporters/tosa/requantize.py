"""Sums as bytes of another scale: `tosa.rescale`, or floats where that would differ.

    %y = tosa.rescale %sums, %multiplier, %shift, %zero, %y_zero : tensor<1x4x4x8xi32> to xi8

multiplies integers, which is a step off where a number is halfway between two results
(`multipliers.py`). Where there are a few such sums they are replaced by a neighbour before,

    %step = tosa.select (tosa.equal %sums, %halfway), %one, %none : tensor<1x4x4x8xi32>
    %right = tosa.add %sums, %step : tensor<1x4x4x8xi32>

which `numerics="fast"` leaves out: steps that differ grow from layer to layer where weights are
random, and do not where they are trained. Where there are more,

    %units = tosa.mul (tosa.cast %sums), %scales : tensor<1x4x4x8xf32>
    %y = tosa.cast (%units, clamped) : tensor<1x4x4x8xi8>

rounds once to even, as we do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, f32, i1, i8, i32
from xdsl.ir import Attribute, SSAValue

from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.tosa.attributes import RoundingModeAttr
from glow.dialects.weight_table import Array
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import type_like
from glow.exporters.tosa.multipliers import Corrections, Multipliers
from glow.exporters.tosa.tosa_writer import TosaWriter
from glow.interpreter.integer_arithmetic import quantize
from glow.interpreter.quantized import is_fixed

MOST_WRONG = 0.01
"""The part of the sums that may be a step off where numerics are fast."""

MOST_CORRECTIONS = 12
"""Sums of a channel that are corrected; for more, floats take fewer operations. Each takes two
tensors, and IREE, which makes one kernel of all of them, gives a kernel at most 32 buffers.
"""

LARGEST = 2.0**31
"""What a rescaled sum stays below: TOSA leaves larger ones open."""


def data_of(value: SSAValue) -> Quantization:
    """The parameters of a value's type, which has signed bytes."""
    data = quantization_of(value.type)
    if data is None or not data.signed or data.bits not in (8, 32):
        raise CannotExport("with other elements than signed bytes")
    return data


def zero_point(data: Quantization) -> int:
    """The zero point, one for all."""
    points = set(data.zero_points)
    if len(points) != 1:
        raise CannotExport("with a zero point a channel")
    return points.pop()


def scale(data: Quantization) -> Array:
    """The scale of a tensor, in the precision that all scales are multiplied in."""
    return np.array(data.scales[:1], np.float32)


def limits(data: Quantization) -> tuple[int, int]:
    """The least and the largest number, in units of the scale."""
    low, high = data.limits
    return low - zero_point(data), high - zero_point(data)


def rescale(
    writer: TosaWriter,
    value: SSAValue,
    how: Multipliers,
    points: tuple[int, int],
    element: Attribute,
) -> SSAValue:
    """`tosa.rescale` from one zero point to another, by channels of the last axis."""
    operands = [
        writer.constant(how.factors.astype(np.int32)),
        writer.constant(how.shifts.astype(np.int8)),
        writer.one(points[0], element_of(value)),
        writer.one(points[1], element),
    ]
    no, is_per_channel = BoolAttr.from_bool(False), how.factors.size > 1
    return writer.op(
        "rescale",
        value,
        *operands,
        to=type_like(value, element=element),
        scale32=BoolAttr.from_bool(True),
        rounding_mode=RoundingModeAttr.new([StringAttr("SINGLE_ROUND")]),
        per_channel=BoolAttr.from_bool(is_per_channel),
        input_unsigned=no,
        output_unsigned=no,
    )


def as_bytes(
    writer: TosaWriter,
    value: SSAValue,
    how: Multipliers,
    point: int,
    data: Quantization,
) -> SSAValue:
    """Integers less a zero point as bytes, between the limits of their type."""
    stored = rescale(writer, value, how, (point, zero_point(data)), i8)
    if data.limits == data.full_range:
        return stored
    low, high = (IntegerAttr(limit, i8) for limit in data.limits)
    return writer.op("clamp", stored, min_val=low, max_val=high)


def centred(writer: TosaWriter, value: SSAValue, data: Quantization) -> SSAValue:
    """Bytes less their zero point, in i32."""
    return rescale(writer, value, Multipliers.power(0), (zero_point(data), 0), i32)


def multipliers(
    writer: TosaWriter, op: NodeOp, value: SSAValue, numbers: Array, largest: float
) -> Multipliers | None:
    """Those of integers up to a largest; None where floats are needed."""
    if largest * float(np.max(numbers)) >= LARGEST:
        return None
    if is_fixed(op):
        return Multipliers.fixed(numbers)
    found = Multipliers.of(numbers, limits(data_of(op.results[0])))
    if found is None or found.corrections.wrong > MOST_WRONG:
        return None
    most = MOST_CORRECTIONS if element_of(value) == i32 else 0
    is_right = len(found.corrections.sums) <= most
    return found if is_right or writer.is_fast else None


def corrected(writer: TosaWriter, value: SSAValue, how: Corrections) -> SSAValue:
    """Sums of i32, some of which are replaced by a neighbour."""
    none = writer.one(0, i32, len(shape_of(value)))
    shape = [*[1] * (len(shape_of(value)) - 1), -1]
    for sums, steps in zip(how.sums, how.steps, strict=True):
        halfway, step = (
            writer.array(one.astype(np.int32).reshape(shape), "corrections")
            for one in (sums, steps)
        )
        is_halfway = writer.binary("equal", value, halfway, element=i1)
        step = writer.op("select", is_halfway, step, none, to=type_like(value))
        value = writer.binary("add", value, step)
    return value


def requantized(
    writer: TosaWriter,
    op: NodeOp,
    value: SSAValue,
    numbers: Array,
    largest: float,
    point: int = 0,
) -> SSAValue:
    """Integers less a zero point, times f32 numbers, as bytes of the node's result."""
    result = data_of(op.results[0])
    how = multipliers(writer, op, value, numbers, largest)
    if how is not None:
        if not writer.is_fast:
            value = corrected(writer, value, how.corrections)
        return as_bytes(writer, value, how, point, result)
    return finished(writer, in_units(writer, value, point, numbers), result)


def in_units(
    writer: TosaWriter, value: SSAValue, zero: int, scales: Array | Sequence[float]
) -> SSAValue:
    """Integers less their zero point, times a scale, or one for each of the last axis."""
    rank = len(shape_of(value))
    if zero:
        value = rescale(writer, value, Multipliers.power(0), (zero, 0), i32)
    number = writer.cast(value, f32)
    factors = np.array(scales, np.float32).reshape(*[1] * (rank - 1), -1)
    if np.equal(factors, 1).all():
        return number
    return writer.binary("mul", number, writer.array(factors, "scales"))


def finished(writer: TosaWriter, units: SSAValue, data: Quantization) -> SSAValue:
    """Numbers in units of the scale as bytes; the cast rounds to even."""
    rank, point = len(shape_of(units)), zero_point(data)
    for name, limit in zip(("maximum", "minimum"), limits(data), strict=True):
        units = writer.op(name, units, writer.one(limit, f32, rank))
    whole = writer.cast(units, i32)
    if point:
        whole = writer.binary("add", whole, writer.one(point, i32, rank))
    return writer.cast(whole, i8)


def bounded(
    writer: TosaWriter, value: SSAValue, data: Quantization, low: float, high: float
) -> SSAValue:
    """Bytes between those of two numbers."""
    bounds = quantize(np.array([low, high], np.float32), data)
    least, most = (IntegerAttr(int(number), i8) for number in bounds)
    return writer.op("clamp", value, min_val=least, max_val=most)
