"""x^y of f32, on scalars and vectors (`math_functions.py`): 2^(y log2 |x|), and a sign.

An exponent of 100 has 7 bits before its point, which the power's mantissa loses. So the logarithm
and its product with y are sums of two floats, that agree with the exact ones to 2^-28: products
are split into parts of 12 bits, whose products are exact with and without fused multiply-adds.

    log2 |x| = e + 2 / ln 2 (s + s^3/3 + s^5/5 ...),  |x| = 2^e m,  s = (m - 1) / (m + 1)

The error is at most 8 units in the last place, where the exponent is large. Results below the
smallest normal number are rounded once more.

Source: the method of fdlibm's `e_powf.c`; what special numbers give is C's `pow`, C99 F.9.4.4.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder.math_functions import (
    at_least,
    at_most,
    exp_minus_one,
    horner,
)
from glow.lowering.loop_builder.value_builder import ValueBuilder

_SQRT_HALF_BITS = 0x3F3504F3
_MANTISSA_BITS, _MANTISSA_MASK = 23, 0x7FFFFF
_HIGH_BITS = -(1 << 12)
"""Of a mantissa: the upper half, 12 bits with the one that is implied."""
_SMALLEST_NORMAL = 1.1754943508222875e-38
_INFINITY = float("inf")
_WHOLE = 2.0**24
"""From here on floats are even."""
_TWO_OVER_LN2 = 2.885390043258667
_TWO_OVER_LN2_REST = 3.85190704e-8
_SERIES = (2 / 11, 2 / 9, 2 / 7, 2 / 5, 2 / 3)
_LEAST, _MOST = -151.0, 129.0
"""Exponents whose powers are 0 and infinity."""
_LN2 = 0.6931471805599453


class Pair(NamedTuple):
    """A number as the sum of two floats, the second of which is far smaller."""

    high: SSAValue
    low: SSAValue


def _upper(b: ValueBuilder, x: SSAValue) -> SSAValue:
    bits = b.bitcast(x, i32)
    return b.bitcast(
        b.binary_integer(arith.AndIOp, bits, b.like(_HIGH_BITS, bits)), f32
    )


def _product(b: ValueBuilder, x: SSAValue, y: SSAValue) -> Pair:
    """The exact product of two floats."""
    product = b.mulf(x, y)
    x_high, y_high = _upper(b, x), _upper(b, y)
    x_low, y_low = b.subf(x, x_high), b.subf(y, y_high)
    rest = b.subf(b.mulf(x_high, y_high), product)
    rest = b.addf(rest, b.mulf(x_high, y_low))
    rest = b.addf(rest, b.mulf(x_low, y_high))
    return Pair(product, b.addf(rest, b.mulf(x_low, y_low)))


def _sum(b: ValueBuilder, large: SSAValue, small: SSAValue) -> Pair:
    """The exact sum of two floats, the larger one first."""
    total = b.addf(large, small)
    return Pair(total, b.subf(small, b.subf(total, large)))


def _parts(b: ValueBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """e and m of a positive x = 2^e m, m between the roots of 1/2 and 2."""
    is_tiny = b.cmpf("olt", x, b.like(_SMALLEST_NORMAL, x))
    bits = b.bitcast(b.select(is_tiny, b.mulf(x, b.like(2.0**23, x)), x), i32)
    offset = b.like(_SQRT_HALF_BITS, bits)
    shifted = b.binary_integer(arith.SubiOp, bits, offset)
    exponent = b.binary_integer(arith.ShRSIOp, shifted, b.like(_MANTISSA_BITS, bits))
    fraction = b.binary_integer(arith.AndIOp, shifted, b.like(_MANTISSA_MASK, bits))
    mantissa = b.bitcast(b.binary_integer(arith.AddiOp, fraction, offset), f32)
    e = b.cast(arith.SIToFPOp, exponent, f32)
    return b.select(is_tiny, b.subf(e, b.like(23.0, e)), e), mantissa


def _log2(b: ValueBuilder, x: SSAValue) -> Pair:
    """The logarithm of a finite positive number to base 2."""
    e, m = _parts(b, x)
    one = b.like(1.0, x)
    f, below = b.subf(m, one), b.addf(m, one)
    lost = b.subf(m, b.subf(below, one))
    s = b.divf(f, below)
    whole = _product(b, s, below)
    rest = b.subf(b.subf(f, whole.high), whole.low)
    rest = b.subf(rest, b.mulf(s, lost))
    s_low = b.divf(rest, below)
    square = b.mulf(s, s)
    series = b.mulf(b.mulf(horner(b, square, _SERIES), square), s)
    # In units of s, 2 / ln 2; the series is small enough for one float.
    factor = b.like(_TWO_OVER_LN2, x)
    scaled = _product(b, s, factor)
    low = b.fma(s, b.like(_TWO_OVER_LN2_REST, x), scaled.low)
    low = b.fma(s_low, factor, low)
    low = b.fma(series, b.like(_TWO_OVER_LN2 / 2, x), low)
    # One of the two is 0, or e is larger: |log2 m| <= 1/2.
    total = _sum(b, e, scaled.high)
    return _sum(b, total.high, b.addf(total.low, low))


def _exp2(b: ValueBuilder, x: Pair) -> SSAValue:
    """2^x; x is bounded by `_LEAST` and `_MOST`."""
    rounding = b.like(1.5 * 2.0**23, x.high)
    n = b.subf(b.addf(x.high, rounding), rounding)
    r = b.addf(b.subf(x.high, n), x.low)
    r = b.mulf(r, b.like(_LN2, r))
    result = b.addf(exp_minus_one(b, r), b.like(1.0, r))
    whole = b.cast(arith.FPToSIOp, n, i32)
    half = b.binary_integer(arith.ShRSIOp, whole, b.like(1, whole))
    for part in (half, b.binary_integer(arith.SubiOp, whole, half)):
        field = b.binary_integer(arith.AddiOp, part, b.like(127, part))
        bits = b.binary_integer(arith.ShLIOp, field, b.like(_MANTISSA_BITS, part))
        result = b.mulf(result, b.bitcast(bits, f32))
    return result


def _is_whole(b: ValueBuilder, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether a number is an integer, and whether it is an odd one."""
    bounded = at_most(b, at_least(b, y, -_WHOLE), _WHOLE)
    is_number = b.cmpf("oeq", y, y)
    bounded = b.select(is_number, bounded, b.like(0.5, y))
    integer = b.cast(arith.FPToSIOp, bounded, i32)
    is_whole = b.cmpf("oeq", b.cast(arith.SIToFPOp, integer, f32), bounded)
    low = b.binary_integer(arith.AndIOp, integer, b.like(1, integer))
    is_odd = b.cmpi("ne", low, b.like(0, integer))
    return is_whole, b.binary_integer(arith.AndIOp, is_whole, is_odd)


def _magnitude(b: ValueBuilder, size: SSAValue, y: SSAValue) -> SSAValue:
    """|x|^y without the cases in which it does not depend on x or y."""
    zero, infinity = b.like(0.0, size), b.like(_INFINITY, size)
    is_zero = b.cmpf("oeq", size, zero)
    is_edge = b.cmpf("oeq", size, infinity)
    is_edge = b.binary_integer(arith.OrIOp, is_zero, is_edge)
    usual = b.select(is_edge, b.like(2.0, size), size)
    logarithm = _log2(b, usual)
    # Neither zero nor infinity has a logarithm, but both a side.
    side = b.select(is_zero, b.like(-_INFINITY, size), infinity)
    high = b.select(is_edge, side, logarithm.high)
    product = b.mulf(high, y)
    low = b.fma(logarithm.low, y, _product(b, high, y).low)
    low = b.select(
        b.cmpf("olt", b.unary(math.AbsFOp, product), b.like(_MOST, y)), low, zero
    )
    bounded = at_most(b, at_least(b, product, _LEAST), _MOST)
    low = b.select(b.cmpf("ogt", bounded, b.like(_LEAST, y)), low, zero)
    is_number = b.cmpf("oeq", bounded, bounded)
    bounded = b.select(is_number, bounded, zero)
    result = _exp2(b, Pair(bounded, low))
    return b.select(is_number, result, product)


def power(b: ValueBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """x^y: NaN of negative x and broken y; 1 where y is 0 or x is 1, whatever the other is."""
    zero, one = b.like(0.0, x), b.like(1.0, x)
    size = b.unary(math.AbsFOp, x)
    result = b.select(b.cmpf("oeq", size, one), one, _magnitude(b, size, y))
    result = b.select(b.cmpf("uno", x, y), b.addf(x, y), result)
    is_whole, is_odd = _is_whole(b, y)
    bits = b.bitcast(x, i32)
    sign = b.binary_integer(arith.AndIOp, bits, b.like(-(1 << 31), bits))
    sign = b.select(is_odd, sign, b.like(0, bits))
    signed = b.binary_integer(arith.XOrIOp, b.bitcast(result, i32), sign)
    result = b.bitcast(signed, f32)
    is_finite = b.cmpf("ogt", x, b.like(-_INFINITY, x))
    is_negative = b.cmpf("olt", x, zero)
    is_negative = b.binary_integer(arith.AndIOp, is_negative, is_finite)
    nothing = b.select(is_whole, result, b.like(float("nan"), x))
    result = b.select(is_negative, nothing, result)
    is_one = b.cmpf("oeq", x, one)
    is_one = b.binary_integer(arith.OrIOp, is_one, b.cmpf("oeq", y, zero))
    return b.select(is_one, one, result)
