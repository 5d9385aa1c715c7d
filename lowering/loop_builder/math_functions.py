"""Vector polynomials for the math functions that networks use.

LLVM turns `llvm.exp.v16f32` into sixteen calls of libm, nine times slower than a polynomial
(and a bundle may have no libm), so the common functions are written out in arith operations,
valid on scalars and on vectors of any shape. Every function propagates NaN and has the right
limits at the infinities. Error bounds are measured over dense samples of f32 against float64
(test_kernels_math.py), on targets with FMA; without, they are up to two units larger:

| function | bound | remark |
|---|---|---|
| exp, exp2 | 1, 2 ulp | results below the smallest normal number are 0 |
| expm1 | 3 ulp | |
| log, log1p | 1, 3 ulp | denormal arguments are exact too |
| log2, log10 | 3 ulp | |
| tanh | 5 ulp | of results below the smallest normal number 1.5e-43 absolute |
| erf | 6 ulp | 3.4e-7 absolute; of results below the smallest normal number 5.1e-44 |
| sigmoid, softplus (activations.py) | 3 ulp | |

Sources: exp and log are Cephes' `expf` and `logf`; tanh and erf are the rational
approximations of Eigen and XLA.
"""

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder.value_builder import ValueBuilder

_INFINITY = float("inf")
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693359375
"""ln 2 rounded so that its product with a small integer is exact."""
_LN2_LOW = -2.12194440e-4
_ROUNDING = 12582912.0
"""1.5 * 2^23: adding it rounds to an integer that then sits in the low mantissa bits."""
_ROUNDING_BITS = 0x4B400000
_EXP = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
_LARGEST_EXPONENT = 88.72283172607422
"""The largest number whose power is finite."""
_SMALLEST_EXPONENT = -87.33654
_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_SQRT_HALF_BITS = 0x3F3504F3
_MANTISSA_MASK = 0x7FFFFF
_SMALLEST_NORMAL = 1.1754943508222875e-38
_TANH_LIMIT = 7.90531110763549805
_TANH_ONE = 8.3
_TANH_NUMERATOR = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_DENOMINATOR = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)
_ERF_LIMIT = 4.0
_ERF_NUMERATOR = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_DENOMINATOR = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


def horner(
    builder: ValueBuilder, x: SSAValue, coefficients: Sequence[float]
) -> SSAValue:
    """The polynomial in x, highest power first."""
    result = builder.like(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = builder.fma(result, x, builder.like(coefficient, x))
    return result


def at_most(builder: ValueBuilder, x: SSAValue, limit: float | SSAValue) -> SSAValue:
    """The smaller of x and a number that is not NaN, NaN if x is.

    One instruction where `arith.minimumf` costs four: a compare and select in this operand
    order is what `vminps` computes.
    """
    bound = limit if isinstance(limit, SSAValue) else builder.like(limit, x)
    if builder.target.is_aarch64:
        return builder.binary(arith.MinimumfOp, x, bound)
    return builder.select(builder.cmpf("ogt", x, bound), bound, x)


def at_least(builder: ValueBuilder, x: SSAValue, limit: float | SSAValue) -> SSAValue:
    """The larger of x and a number that is not NaN, NaN if x is; see `at_most`."""
    bound = limit if isinstance(limit, SSAValue) else builder.like(limit, x)
    if builder.target.is_aarch64:
        return builder.maximumf(x, bound)
    return builder.select(builder.cmpf("olt", x, bound), bound, x)


def _binary_exponent(
    builder: ValueBuilder, x: SSAValue
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """(t, n, r) with x = n ln2 + r, |r| <= ln2 / 2, and the bits of t ending in those of n."""
    rounding = builder.like(_ROUNDING, x)
    shifted = builder.fma(x, builder.like(_LOG2_E, x), rounding)
    n = builder.subf(shifted, rounding)
    r = builder.fma(n, builder.like(-_LN2_HIGH, x), x)
    return shifted, n, builder.fma(n, builder.like(-_LN2_LOW, x), r)


def exp_minus_one(builder: ValueBuilder, r: SSAValue) -> SSAValue:
    """e^r - 1 for |r| <= ln2 / 2."""
    return builder.fma(horner(builder, r, _EXP), builder.mulf(r, r), r)


def exp(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """e^x: e^r 2^n, where n is added to the exponent bits."""
    shifted, _, r = _binary_exponent(builder, x)
    result = _scaled_exp(builder, shifted, r)
    return _limited(builder, x, result, _SMALLEST_EXPONENT, _LARGEST_EXPONENT)


def exp2(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """2^x, as e^(r ln2) 2^n."""
    rounding = builder.like(_ROUNDING, x)
    shifted = builder.addf(x, rounding)
    r = builder.subf(x, builder.subf(shifted, rounding))
    r = builder.mulf(r, builder.like(0.6931471805599453, x))
    result = _scaled_exp(builder, shifted, r)
    return _limited(builder, x, result, -126.0, 127.99999237060547)


def _scaled_exp(builder: ValueBuilder, shifted: SSAValue, r: SSAValue) -> SSAValue:
    """e^r 2^n with the low bits of n from `shifted`; garbage where that overflows."""
    mantissa = builder.addf(exp_minus_one(builder, r), builder.like(1.0, r))
    bits = builder.bitcast(shifted, i32)
    exponent = builder.binary_integer(arith.ShLIOp, bits, builder.like(23, bits))
    scaled = builder.binary_integer(
        arith.AddiOp, builder.bitcast(mantissa, i32), exponent
    )
    return builder.bitcast(scaled, f32)


def _limited(
    builder: ValueBuilder,
    x: SSAValue,
    result: SSAValue,
    smallest: float,
    largest: float,
) -> SSAValue:
    """The result inside the range of x; 0 below, infinity above, NaN for NaN."""
    in_range = builder.cmpf("ole", x, builder.like(largest, x))
    overflow = builder.addf(x, builder.like(_INFINITY, x))
    result = builder.select(in_range, result, overflow)
    tiny = builder.cmpf("olt", x, builder.like(smallest, x))
    return builder.select(tiny, builder.like(0.0, x), result)


def exp_nonpositive(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """e^x for x <= 0 (softmax): no test for overflow; NaN gives NaN."""
    shifted, _, r = _binary_exponent(builder, x)
    mantissa = builder.addf(exp_minus_one(builder, r), builder.like(1.0, r))
    bits = builder.bitcast(shifted, i32)
    bias = builder.like(127 - _ROUNDING_BITS, bits)
    exponent = builder.binary_integer(arith.AddiOp, bits, bias)
    power = builder.binary_integer(arith.ShLIOp, exponent, builder.like(23, bits))
    scaled = builder.mulf(mantissa, builder.bitcast(power, f32))
    tiny = builder.cmpf("olt", x, builder.like(_SMALLEST_EXPONENT, x))
    return builder.select(tiny, builder.like(0.0, x), scaled)


def expm1(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """e^x - 1, accurate near 0: 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)).

    With n - 1 the power stays finite as long as the result does.
    """
    bounded = at_most(builder, at_least(builder, x, -20.0), 89.0)
    shifted, _, r = _binary_exponent(builder, bounded)
    bits = builder.bitcast(shifted, i32)
    bias = builder.like(126 - _ROUNDING_BITS, bits)
    exponent = builder.binary_integer(arith.AddiOp, bits, bias)
    power = builder.binary_integer(arith.ShLIOp, exponent, builder.like(23, bits))
    half = builder.bitcast(power, f32)
    offset = builder.subf(half, builder.like(0.5, half))
    result = builder.fma(half, exp_minus_one(builder, r), offset)
    return builder.addf(result, result)


def _log_of_positive(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The logarithm of a normal positive x: x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)."""
    bits = builder.bitcast(x, i32)
    offset = builder.like(_SQRT_HALF_BITS, bits)
    shifted = builder.binary_integer(arith.SubiOp, bits, offset)
    exponent = builder.binary_integer(arith.ShRSIOp, shifted, builder.like(23, bits))
    fraction = builder.binary_integer(
        arith.AndIOp, shifted, builder.like(_MANTISSA_MASK, bits)
    )
    mantissa = builder.bitcast(
        builder.binary_integer(arith.AddiOp, fraction, offset), f32
    )
    f = builder.subf(mantissa, builder.like(1.0, x))
    e = builder.cast(arith.SIToFPOp, exponent, f32)
    return _log_of_parts(builder, f, e)


def _log_of_parts(builder: ValueBuilder, f: SSAValue, e: SSAValue) -> SSAValue:
    """ln((1 + f) 2^e)."""
    square = builder.mulf(f, f)
    result = builder.mulf(builder.mulf(horner(builder, f, _LOG), f), square)
    result = builder.fma(e, builder.like(_LN2_LOW, e), result)
    result = builder.fma(square, builder.like(-0.5, f), result)
    return builder.fma(e, builder.like(_LN2_HIGH, e), builder.addf(f, result))


def log(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The natural logarithm; -inf at 0 and NaN below."""
    denormal = builder.cmpf("olt", x, builder.like(_SMALLEST_NORMAL, x))
    scaled = builder.mulf(x, builder.like(2.0**23, x))
    result = _log_of_positive(builder, builder.select(denormal, scaled, x))
    lowered = builder.subf(result, builder.like(_DENORMAL_SHIFT, x))
    result = builder.select(denormal, lowered, result)
    zero = builder.like(0.0, x)
    at_zero = builder.select(
        builder.cmpf("oeq", x, zero),
        builder.like(-_INFINITY, x),
        builder.like(float("nan"), x),
    )
    result = builder.select(builder.cmpf("ogt", x, zero), result, at_zero)
    infinity = builder.like(_INFINITY, x)
    return builder.select(builder.cmpf("oeq", x, infinity), infinity, result)


_DENORMAL_SHIFT = 15.942385152878742
"""ln 2^23."""


def log1p(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """ln(1 + x), accurate near 0: the rounding error of 1 + x enters as a correction."""
    one = builder.like(1.0, x)
    shifted = builder.addf(x, one)
    lost = builder.subf(x, builder.subf(shifted, one))
    correction = builder.divf(lost, shifted)
    # At -1 and at the infinities the correction is NaN.
    finite = builder.cmpf(
        "olt", builder.unary(math.AbsFOp, correction), builder.like(1.0, x)
    )
    correction = builder.select(finite, correction, builder.like(0.0, x))
    return builder.addf(log(builder, shifted), correction)


def log2(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The logarithm to base 2."""
    return builder.mulf(log(builder, x), builder.like(_LOG2_E, x))


def log10(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The logarithm to base 10."""
    return builder.mulf(log(builder, x), builder.like(0.4342944819032518, x))


def _odd_rational(
    builder: ValueBuilder,
    x: SSAValue,
    limit: float,
    numerator: Sequence[float],
    denominator: Sequence[float],
) -> SSAValue:
    """The odd function x P(x^2) / Q(x^2), with x in [-limit, limit], in [-1, 1]."""
    x = at_most(builder, at_least(builder, x, -limit), limit)
    square = builder.mulf(x, x)
    above = builder.mulf(x, horner(builder, square, numerator))
    ratio = builder.divf(above, horner(builder, square, denominator))
    return at_most(builder, at_least(builder, ratio, -1.0), 1.0)


def tanh(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The hyperbolic tangent."""
    ratio = _odd_rational(builder, x, _TANH_LIMIT, _TANH_NUMERATOR, _TANH_DENOMINATOR)
    # The rational ends just below 1; beyond, 1 is as close and lets 1 + tanh(-x) vanish.
    one = builder.like(1.0, x)
    high = builder.select(
        builder.cmpf("ogt", x, builder.like(_TANH_ONE, x)), one, ratio
    )
    low = builder.cmpf("olt", x, builder.like(-_TANH_ONE, x))
    return builder.select(low, builder.like(-1.0, x), high)


def erf(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The error function."""
    return _odd_rational(builder, x, _ERF_LIMIT, _ERF_NUMERATOR, _ERF_DENOMINATOR)


def rsqrt(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """1 / sqrt(x); the estimates of `vrsqrt14ps` need a Newton step and save little."""
    return builder.divf(builder.like(1.0, x), builder.unary(math.SqrtOp, x))


def integer_power(builder: ValueBuilder, x: SSAValue, exponent: int) -> SSAValue:
    """x^exponent for exponent >= 1, by squaring."""
    result: SSAValue | None = None
    while True:
        if exponent & 1:
            result = x if result is None else builder.mulf(result, x)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        x = builder.mulf(x, x)


def power_by_constant(
    builder: ValueBuilder, x: SSAValue, exponent: float
) -> SSAValue | None:
    """x^exponent for the exponents that need no logarithm, else None."""
    if exponent == 0:
        return builder.like(1.0, x)
    if abs(exponent) == 0.5:
        # Adding 0 turns -0 into 0, as pow does.
        root = builder.unary(math.SqrtOp, builder.addf(x, builder.like(0.0, x)))
        result = root
    elif exponent == int(exponent) and abs(exponent) <= 8:
        result = integer_power(builder, x, int(abs(exponent)))
    else:
        return None
    return result if exponent > 0 else builder.divf(builder.like(1.0, x), result)


def power_of_positive(builder: ValueBuilder, x: SSAValue, exponent: float) -> SSAValue:
    """x^exponent for x > 0, relative error about 1e-7 (1 + |exponent ln x|).

    Quarters take square roots instead of a logarithm: local response normalisation uses -0.75.
    """
    if exponent * 4 == int(exponent * 4) and abs(exponent) <= 8:
        whole, quarters = divmod(int(abs(exponent) * 4), 4)
        factors = [integer_power(builder, x, whole)] if whole else []
        root = builder.unary(math.SqrtOp, x) if quarters else x
        if quarters & 2:
            factors.append(root)
        if quarters & 1:
            factors.append(builder.unary(math.SqrtOp, root))
        result = builder.like(1.0, x) if not factors else factors[0]
        for factor in factors[1:]:
            result = builder.mulf(result, factor)
        return result if exponent >= 0 else builder.divf(builder.like(1.0, x), result)
    return exp(builder, builder.mulf(log(builder, x), builder.like(exponent, x)))
