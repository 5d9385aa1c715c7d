"""Sine, cosine, tangent and their inverses of f32, on scalars and vectors (`math_functions.py`).

An angle x is n quarter turns and a rest r of at most pi/4, by which a polynomial is chosen.
Rests are exact for every x, also where neighbouring floats are many turns apart: x = m 2^e with a
mantissa m of 24 bits, and the bits of 2/pi that matter for it begin at its exponent. The product
of m with 96 of these bits is n and 62 bits of fraction, of which 31 are left where x is as close
to a multiple of pi/2 as floats are.

| function | bound | remark |
|---|---|---|
| sin, cos | 3 ulp | |
| tan | 4 ulp | |
| asin, acos, atan | 3 ulp | |

Sources: M. Payne and R. Hanek, Radian Reduction for Trigonometric Functions, 1983; the polynomials
are those of Cephes' `sinf`, `tanf`, `asinf` and `atanf`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder.math_functions import horner
from glow.lowering.loop_builder.value_builder import ValueBuilder

_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_TAN = (
    9.38540185543e-3,
    3.11992232697e-3,
    2.44301354525e-2,
    5.34112807005e-2,
    1.33387994085e-1,
    3.33331568548e-1,
)
_ASIN = (
    4.2163199048e-2,
    2.4181311049e-2,
    4.5470025998e-2,
    7.4953002686e-2,
    1.6666752422e-1,
)
_ATAN = (
    8.05374449538e-2,
    -1.38776856032e-1,
    1.99777106478e-1,
    -3.33329491539e-1,
)
_PI = 3.141592653589793
_HALF_PI_HIGH, _HALF_PI_LOW = 1.57079637050628662109375, -4.37113883e-8
_TAN_PI_8, _TAN_3_PI_8 = 0.4142135623730950, 2.414213562373095

_TWO_OVER_PI = 0xA2F9836E_4E441529_FC2757D1_F534DDC0_DB629599_3C439041_FE5163AB
"""The first 224 bits behind the point."""
_TABLE_WORDS = [
    0, *(_TWO_OVER_PI >> 32 * k & 0xFFFFFFFF for k in range(6, -1, -1)),
]  # fmt: skip
_TABLE_START = 120
"""The exponent field of f32 whose bits of 2/pi begin with the table."""
_MANTISSA_BITS, _MANTISSA_MASK, _IMPLIED_BIT = 23, 0x7FFFFF, 0x800000


def _table_words(b: ValueBuilder, number: SSAValue) -> Sequence[SSAValue]:
    """Four words of the table, from the one of a number between 0 and 4 on."""
    words = [b.like(word - (word >> 31 << 32), number) for word in _TABLE_WORDS]
    for step in (4, 2, 1):
        zero = b.like(0, number)
        bit = b.binary_integer(arith.AndIOp, number, b.like(step, number))
        later = b.cmpi("ne", bit, zero)
        needed = min(step + 3, len(words) - step)
        moved = [b.select(later, words[k + step], words[k]) for k in range(needed)]
        words = [*moved, *words[needed : step + 3]]
    return words[:4]


def _table_bits(b: ValueBuilder, start: SSAValue) -> Sequence[SSAValue]:
    """96 bits of the table from a position on, in three words."""
    words = _table_words(b, b.binary_integer(arith.ShRUIOp, start, b.like(5, start)))
    shift = b.binary_integer(arith.AndIOp, start, b.like(31, start))
    rest = b.binary_integer(arith.SubiOp, b.like(31, shift), shift)
    one = b.like(1, shift)
    found: list[SSAValue] = []
    for word, behind in pairwise(words):
        high = b.binary_integer(arith.ShLIOp, word, shift)
        low = b.binary_integer(arith.ShRUIOp, behind, one)
        low = b.binary_integer(arith.ShRUIOp, low, rest)
        found.append(b.binary_integer(arith.OrIOp, high, low))
    return found


def _quarter_turns(b: ValueBuilder, size: SSAValue) -> SSAValue:
    """|x| 2/pi of a positive x as an i64 with 62 bits of fraction, without whole turns."""
    bits = b.bitcast(size, i32)
    field = b.binary_integer(arith.ShRUIOp, bits, b.like(_MANTISSA_BITS, bits))
    start = b.binary_integer(arith.SubiOp, field, b.like(_TABLE_START, field))
    start = b.binary_integer(arith.MaxSIOp, start, b.like(0, start))
    fraction = b.binary_integer(arith.AndIOp, bits, b.like(_MANTISSA_MASK, bits))
    mantissa = b.binary_integer(arith.OrIOp, fraction, b.like(_IMPLIED_BIT, bits))
    first, *others = _table_bits(b, start)
    high = b.binary_integer(arith.MuliOp, mantissa, first)
    wide = b.cast(arith.ExtUIOp, mantissa, i64)
    middle, low = (
        b.binary_integer(arith.MuliOp, wide, b.cast(arith.ExtUIOp, word, i64))
        for word in others
    )
    high = b.cast(arith.ExtUIOp, high, i64)
    word = b.like(32, high)
    total = b.binary_integer(arith.ShLIOp, high, word)
    total = b.binary_integer(arith.AddiOp, total, middle)
    low = b.binary_integer(arith.ShRUIOp, low, word)
    return b.binary_integer(arith.AddiOp, total, low)


def _reduced(b: ValueBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The quarter turns n of |x|, as i32, and the rest of it."""
    size = b.unary(math.AbsFOp, x)
    turns = _quarter_turns(b, size)
    half = b.binary_integer(arith.AddiOp, turns, b.like(1 << 61, turns))
    places = b.like(62, turns)
    whole = b.binary_integer(arith.ShRUIOp, half, places)
    fraction = b.binary_integer(
        arith.SubiOp, turns, b.binary_integer(arith.ShLIOp, whole, places)
    )
    shifted = b.binary_integer(arith.ShRSIOp, fraction, b.like(32, turns))
    high = b.cast(arith.SIToFPOp, b.cast(arith.TruncIOp, shifted, i32), f32)
    low = b.cast(arith.TruncIOp, fraction, i32)
    low = b.binary_integer(arith.ShRUIOp, low, b.like(1, low))
    low = b.cast(arith.SIToFPOp, low, f32)
    rest = b.addf(b.mulf(high, b.like(2.0**31, high)), low)
    rest = b.mulf(rest, b.like(_PI / 2 * 2.0**-61, rest))
    is_small = b.cmpf("ole", size, b.like(_PI / 4, size))
    number = b.cast(arith.TruncIOp, whole, i32)
    number = b.select(is_small, b.like(0, number), number)
    return number, b.select(is_small, size, rest)


def _has_bit(b: ValueBuilder, number: SSAValue, bit: int) -> SSAValue:
    found = b.binary_integer(arith.AndIOp, number, b.like(bit, number))
    return b.cmpi("ne", found, b.like(0, number))


def _negated_if(b: ValueBuilder, condition: SSAValue, x: SSAValue) -> SSAValue:
    return b.select(condition, b.unary(arith.NegfOp, x), x)


def _with_sign(b: ValueBuilder, x: SSAValue, of: SSAValue) -> SSAValue:
    """x times the sign of another number."""
    bits = b.bitcast(of, i32)
    sign = b.binary_integer(arith.AndIOp, bits, b.like(-(1 << 31), bits))
    changed = b.binary_integer(arith.XOrIOp, b.bitcast(x, i32), sign)
    return b.bitcast(changed, f32)


def _of_finite(b: ValueBuilder, x: SSAValue, result: SSAValue) -> SSAValue:
    """The result where x is finite, else NaN."""
    nothing = b.subf(x, x)
    return b.select(b.cmpf("oeq", nothing, b.like(0.0, x)), result, nothing)


def _odd(b: ValueBuilder, r: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """r + r^3 P(r^2)."""
    square = b.mulf(r, r)
    return b.fma(b.mulf(horner(b, square, coefficients), square), r, r)


def _sine_and_cosine(b: ValueBuilder, r: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Of an angle of at most pi/4."""
    square = b.mulf(r, r)
    above = b.mulf(horner(b, square, _COS), b.mulf(square, square))
    less = b.fma(square, b.like(-0.5, r), above)
    return _odd(b, r, _SIN), b.addf(less, b.like(1.0, r))


def sin(b: ValueBuilder, x: SSAValue) -> SSAValue:
    """The sine; NaN of infinities."""
    number, r = _reduced(b, x)
    sine, cosine = _sine_and_cosine(b, r)
    result = b.select(_has_bit(b, number, 1), cosine, sine)
    result = _negated_if(b, _has_bit(b, number, 2), result)
    return _of_finite(b, x, _with_sign(b, result, x))


def cos(b: ValueBuilder, x: SSAValue) -> SSAValue:
    """The cosine; NaN of infinities."""
    number, r = _reduced(b, x)
    sine, cosine = _sine_and_cosine(b, r)
    result = b.select(_has_bit(b, number, 1), sine, cosine)
    behind = b.binary_integer(arith.AddiOp, number, b.like(1, number))
    return _of_finite(b, x, _negated_if(b, _has_bit(b, behind, 2), result))


def tan(b: ValueBuilder, x: SSAValue) -> SSAValue:
    """The tangent; NaN of infinities."""
    number, r = _reduced(b, x)
    result = _odd(b, r, _TAN)
    turned = b.divf(b.like(-1.0, result), result)
    result = b.select(_has_bit(b, number, 1), turned, result)
    return _of_finite(b, x, _with_sign(b, result, x))


def _half_angle(b: ValueBuilder, size: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether |x| is above 1/2, and asin(|x|), or asin(sqrt((1 - |x|) / 2)) of such ones."""
    half = b.like(0.5, size)
    is_large = b.cmpf("ogt", size, half)
    rest = b.mulf(b.subf(b.like(1.0, size), size), half)
    root = b.unary(math.SqrtOp, b.select(is_large, rest, b.like(0.0, size)))
    return is_large, _odd(b, b.select(is_large, root, size), _ASIN)


def asin(b: ValueBuilder, x: SSAValue) -> SSAValue:
    """The inverse sine; NaN beyond 1.

    Of |x| > 1/2 it is pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
    """
    is_large, angle = _half_angle(b, b.unary(math.AbsFOp, x))
    twice = b.subf(b.addf(angle, angle), b.like(_HALF_PI_LOW, x))
    result = b.subf(b.like(_HALF_PI_HIGH, x), twice)
    return _with_sign(b, b.select(is_large, result, angle), x)


def acos(b: ValueBuilder, x: SSAValue) -> SSAValue:
    """The inverse cosine; NaN beyond 1: 2 asin(sqrt((1 - |x|) / 2)), or pi/2 - asin(x)."""
    is_large, angle = _half_angle(b, b.unary(math.AbsFOp, x))
    is_negative = b.cmpf("olt", x, b.like(0.0, x))
    twice = b.addf(angle, angle)
    opposite = b.subf(b.like(2 * _HALF_PI_LOW, x), twice)
    opposite = b.addf(b.like(2 * _HALF_PI_HIGH, x), opposite)
    large = b.select(is_negative, opposite, twice)
    less = b.subf(_with_sign(b, angle, x), b.like(_HALF_PI_LOW, x))
    return b.select(is_large, large, b.subf(b.like(_HALF_PI_HIGH, x), less))


def atan(b: ValueBuilder, x: SSAValue) -> SSAValue:
    """The inverse tangent.

    Of |x| from tan(pi/8) on it is pi/4 + atan((|x| - 1) / (|x| + 1)), and from tan(3 pi/8) on
    pi/2 - atan(1 / |x|).
    """
    size, one, zero = b.unary(math.AbsFOp, x), b.like(1.0, x), b.like(0.0, x)
    is_middle = b.cmpf("ogt", size, b.like(_TAN_PI_8, x))
    is_large = b.cmpf("ogt", size, b.like(_TAN_3_PI_8, x))
    above = b.select(is_middle, b.subf(size, one), size)
    above = b.select(is_large, b.like(-1.0, x), above)
    below = b.select(is_middle, b.addf(size, one), one)
    ratio = _odd(b, b.divf(above, b.select(is_large, size, below)), _ATAN)
    high = b.select(is_middle, b.like(_HALF_PI_HIGH / 2, x), zero)
    low = b.select(is_middle, b.like(_HALF_PI_LOW / 2, x), zero)
    high = b.select(is_large, b.like(_HALF_PI_HIGH, x), high)
    low = b.select(is_large, b.like(_HALF_PI_LOW, x), low)
    return _with_sign(b, b.addf(high, b.addf(ratio, low)), x)
