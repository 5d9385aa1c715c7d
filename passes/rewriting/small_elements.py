"""Conversions of elements of storage (`glow.dialects.small_types`) as scalar operations.

    %bits = arith.bitcast %x : f8E4M3FN to i8
    %wide = arith.extui %bits : i8 to i32
    ...                                       // the exponent moves to where f32 has it

Floats go through f32 and integers through i32, which hold each of them exactly. The results have
the bits of `ml_dtypes`, so a NaN keeps its sign where the type has signed ones.
"""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import (
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    IntegerType,
    ReducedPrecisionFloatType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith
from glow.dialects.glow.elementwise import is_unsigned, signless
from glow.dialects.small_types import is_small_float

FRACTION_BITS, BIAS = 23, 127
MAGNITUDE, INFINITY, QUIET_NAN = 0x7FFFFFFF, 0x7F800000, 0x7FC00000
LEAST_NORMAL = 0x800000
ROUNDING_OF_SCALES = {"up": 0x7FFFFF, "nearest": 0x400000, "down": 0}
"""Rounding of `f8E8M0FNU` to what is added to the fraction before it is dropped."""


class Scalars(Protocol):
    """What is needed of a `ScalarBuilder`."""

    def append(self, op: Operation) -> SSAValue: ...
    def in_type(self, x: SSAValue, scalar: Attribute) -> SSAValue: ...
    def bits(self, x: SSAValue) -> SSAValue: ...
    def binary(
        self, operation: str | type[Operation], x: SSAValue, y: SSAValue
    ) -> SSAValue: ...
    def number(self, value: float, like: SSAValue) -> SSAValue: ...
    def add(self, x: SSAValue, y: SSAValue) -> SSAValue: ...
    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue: ...
    def clamp(self, x: SSAValue, low: float, high: float) -> SSAValue: ...
    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue: ...
    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue: ...


def wide_type(element: Attribute) -> Attribute:
    """The type through which conversions from and to a type of storage go."""
    return f32 if is_small_float(element) else i32


def widen(f: Scalars, x: SSAValue) -> SSAValue:
    """An element of storage as f32 or i32."""
    element = x.type
    if not is_small_float(element):
        extend = arith.ExtUIOp if is_unsigned(element) else arith.ExtSIOp
        return f.append(extend(f.bits(x), i32))
    semantics = element.SEMANTICS
    code = f.append(arith.BitcastOp(x, IntegerType(semantics.bitwidth)))
    bits = f.append(arith.ExtUIOp(code, i32))
    if not semantics.has_sign:
        return _widen_scale(f, bits)
    return _widen_float(f, bits, semantics)


def _shifted(f: Scalars, shift: type[Operation], x: SSAValue, by: int) -> SSAValue:
    return f.binary(shift, x, f.number(by, x))


def _masked(f: Scalars, x: SSAValue, mask: int) -> SSAValue:
    return f.binary(arith.AndIOp, x, f.number(mask, x))


def _as_float(f: Scalars, bits: SSAValue) -> SSAValue:
    return f.append(arith.BitcastOp(bits, f32))


def _widen_scale(f: Scalars, bits: SSAValue) -> SSAValue:
    """2^(code - 127), whose smallest is no normal number of f32."""
    shifted = _shifted(f, arith.ShLIOp, bits, FRACTION_BITS)
    zero, last = f.number(0, bits), f.number(0xFF, bits)
    least = f.number(LEAST_NORMAL >> 1, bits)
    number = f.select(f.compare("eq", bits, zero), least, shifted)
    nan = f.number(QUIET_NAN, bits)
    return _as_float(f, f.select(f.compare("eq", bits, last), nan, number))


def _widen_float(f: Scalars, bits: SSAValue, semantics: FloatSemantics) -> SSAValue:
    """The fields of a float at their places in f32; a product moves the exponent's bias."""
    shift = FRACTION_BITS - semantics.mantissa_bits
    sign_shift = semantics.sign_shift
    magnitude = _masked(f, bits, (1 << sign_shift) - 1)
    sign = _shifted(f, arith.ShLIOp, _shifted(f, arith.ShRUIOp, bits, sign_shift), 31)
    tiny = _as_float(f, _shifted(f, arith.ShLIOp, magnitude, shift))
    scale = f.number(2.0 ** (BIAS - semantics.exponent_bias), tiny)
    number = f.append(arith.BitcastOp(f.mul(tiny, scale), i32))
    if semantics.nan_encoding is FloatNanEncoding.ALL_ONES:
        last = f.number((1 << sign_shift) - 1, magnitude)
        nan = f.number(QUIET_NAN, number)
        number = f.select(f.compare("eq", magnitude, last), nan, number)
    elif semantics.nonfinite is FloatNonfiniteBehavior.IEEE:
        end = f.number(semantics.max_exponent << semantics.mantissa_bits, bits)
        infinity, nan = f.number(INFINITY, number), f.number(QUIET_NAN, number)
        special = f.select(f.compare("eq", magnitude, end), infinity, nan)
        number = f.select(f.compare("lt", magnitude, end), number, special)
    signed = f.binary(arith.OrIOp, number, sign)
    if semantics.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
        nan = f.number(-(1 << 31) | QUIET_NAN, number)
        is_nan = f.compare("eq", bits, f.number(1 << sign_shift, bits))
        signed = f.select(is_nan, nan, signed)
    return _as_float(f, signed)


def narrow(f: Scalars, x: SSAValue, target: Attribute, round_mode: str) -> SSAValue:
    """An f32 or i32 as an element of storage; integers keep their low bits."""
    if not is_small_float(target):
        low = f.append(arith.TruncIOp(x, signless(target)))
        return f.in_type(low, target)
    bits = f.append(arith.BitcastOp(x, i32))
    semantics = target.SEMANTICS
    if semantics.has_sign:
        code = _narrow_float(f, x, bits, semantics)
    else:
        code = _narrow_scale(f, bits, ROUNDING_OF_SCALES[round_mode])
    return _from_code(f, code, target)


def _from_code(
    f: Scalars, code: SSAValue, target: ReducedPrecisionFloatType
) -> SSAValue:
    kept = f.append(arith.TruncIOp(code, IntegerType(target.bitwidth)))
    return f.append(arith.BitcastOp(kept, target))


def _narrow_scale(f: Scalars, bits: SSAValue, addend: int) -> SSAValue:
    """The exponent of a rounded number; NaN of what is not positive, or too small or large."""
    normal = f.number(LEAST_NORMAL, bits)
    doubled = f.binary(arith.SubiOp, f.add(bits, bits), normal)
    # From 2^-127 to 2^-126 there are no normal numbers; twice the fraction makes them so.
    even = f.select(f.compare("lt", bits, normal), doubled, bits)
    rounded = f.add(even, f.number(addend, bits))
    code = f.clamp(_shifted(f, arith.ShRUIOp, rounded, FRACTION_BITS), 0, 0xFF)
    nan = f.number(0xFF, bits)
    too_small = f.compare("lt", bits, f.number(LEAST_NORMAL >> 1, bits))
    code = f.select(too_small, nan, code)  # Negative numbers are negative integers.
    return f.select(f.compare("lt", bits, f.number(INFINITY, bits)), code, nan)


def _narrow_float(
    f: Scalars, x: SSAValue, bits: SSAValue, semantics: FloatSemantics
) -> SSAValue:
    """The code of a number rounded to the nearest, ties to even."""
    magnitude = _masked(f, bits, MAGNITUDE)
    sign = _shifted(
        f, arith.ShLIOp, _shifted(f, arith.ShRUIOp, bits, 31), semantics.sign_shift
    )
    code = _magnitude_code(f, magnitude, semantics)
    is_nan = f.compare("lt", f.number(INFINITY, bits), magnitude)
    negative = f.number(1 << semantics.sign_shift, bits)
    if semantics.nan_encoding is FloatNanEncoding.NEGATIVE_ZERO:
        last = f.number(_largest_code(semantics), bits)
        zero = f.number(0, bits)
        signed = f.select(
            f.compare("eq", code, zero), zero, f.binary(arith.OrIOp, code, sign)
        )
        return f.select(f.compare("lt", last, code), negative, signed)
    if semantics.nonfinite is FloatNonfiniteBehavior.FINITE_ONLY:
        # There is no NaN; ml_dtypes makes it a zero of the other sign.
        code = f.clamp(code, 0, _largest_code(semantics))
        signed = f.binary(arith.OrIOp, code, sign)
        other_zero = f.binary(arith.XOrIOp, sign, negative)
        return f.select(is_nan, other_zero, signed)
    infinity = semantics.max_exponent << semantics.mantissa_bits
    nan_code = _largest_code(semantics)
    if semantics.nan_encoding is FloatNanEncoding.ALL_ONES:
        infinity = nan_code
    else:
        nan_code = infinity | 1 << (semantics.mantissa_bits - 1)
    code = f.select(is_nan, f.number(nan_code, bits), f.clamp(code, 0, infinity))
    return f.binary(arith.OrIOp, code, sign)


def _largest_code(semantics: FloatSemantics) -> int:
    """The largest code without a sign."""
    return (1 << semantics.sign_shift) - 1


def _magnitude_code(
    f: Scalars, magnitude: SSAValue, semantics: FloatSemantics
) -> SSAValue:
    """Exponent and fraction of a rounded number, in more bits than there are."""
    shift = FRACTION_BITS - semantics.mantissa_bits
    odd = _masked(f, _shifted(f, arith.ShRUIOp, magnitude, shift), 1)
    half = f.number((1 << (shift - 1)) - 1, magnitude)
    rounded = f.add(f.add(magnitude, half), odd)
    bias = (BIAS - semantics.exponent_bias) << semantics.mantissa_bits
    normal = f.binary(
        arith.SubiOp,
        _shifted(f, arith.ShRUIOp, rounded, shift),
        f.number(bias, magnitude),
    )
    # Below the normal numbers, adding one of whose unit is theirs rounds to that.
    exponent = 1 - semantics.exponent_bias
    number = _as_float(f, magnitude)
    unit = f.number(2.0 ** (exponent - semantics.mantissa_bits + FRACTION_BITS), number)
    summed = f.append(arith.BitcastOp(f.add(number, unit), i32))
    unit_bits = f.append(arith.BitcastOp(unit, i32))
    subnormal = f.binary(arith.SubiOp, summed, unit_bits)
    least = f.number((exponent + BIAS) << FRACTION_BITS, magnitude)
    return f.select(f.compare("lt", magnitude, least), subnormal, normal)
