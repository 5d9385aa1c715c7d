"""Special functions, as formulas of a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder


def angle(builder: HloBuilder) -> SSAValue:
    """atan2(y, x): the arc tangent of the smaller over the larger, turned into its octant.

    Zeros have signs, and two infinities are as far as each other.
    """
    y, x = builder.op.operands
    zero, infinity = builder.number(0, x), builder.number(float("inf"), x)
    high, wide = (builder.node(glow.AbsOp, one) for one in (y, x))
    small = builder.node(glow.MinOp, high, wide)
    large = builder.node(glow.MaxOp, high, wide)
    ratio = builder.node(glow.DivOp, small, large)
    is_zero = builder.node(glow.EqualOp, large, zero)
    is_infinite = builder.node(glow.EqualOp, small, infinity)
    ratio = builder.node(glow.SelectOp, is_zero, zero, ratio)
    ratio = builder.node(glow.SelectOp, is_infinite, builder.number(1, x), ratio)
    result = builder.node(glow.AtanOp, ratio)
    is_steep = builder.node(glow.LessOp, wide, high)
    result = _turned(builder, is_steep, pi / 2, result)
    result = _turned(builder, _is_negative(builder, x), pi, result)
    negated = builder.node(glow.NegOp, result)
    return builder.node(glow.SelectOp, _is_negative(builder, y), negated, result)


def _turned(
    builder: HloBuilder, condition: SSAValue, whole: float, value: SSAValue
) -> SSAValue:
    """The rest of an angle where a condition holds."""
    rest = builder.node(glow.SubOp, builder.number(whole, value), value)
    return builder.node(glow.SelectOp, condition, rest, value)


def _is_negative(builder: HloBuilder, value: SSAValue) -> SSAValue:
    """Below zero, or the zero below it."""
    zero = builder.number(0, value)
    inverse = builder.node(glow.DivOp, builder.number(1, value), value)
    both = builder.node(glow.MinOp, value, inverse)
    return builder.node(glow.LessOp, both, zero)


NEAR = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
FAR = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
BORDER = 5.0
"""Of -log(1 - x * x), between both polynomials (Giles, "Approximating the erfinv function")."""


def inverse_erf(builder: HloBuilder) -> SSAValue:
    """erf_inv of f32: x times one of two polynomials."""
    (x,) = builder.op.operands
    if element_of(x) != f32:
        raise GlowError(f"erf_inv of {element_of(x)} elements is not supported")
    one = builder.number(1, x)
    lower, upper = builder.node(glow.SubOp, one, x), builder.node(glow.AddOp, one, x)
    logarithm = builder.node(glow.LogOp, builder.node(glow.MulOp, lower, upper))
    distance = builder.node(glow.NegOp, logarithm)
    near = builder.node(glow.SubOp, distance, builder.number(2.5, x))
    root = builder.node(glow.SqrtOp, distance)
    far = builder.node(glow.SubOp, root, builder.number(3, x))
    is_near = builder.node(glow.LessOp, distance, builder.number(BORDER, x))
    factor = builder.node(
        glow.SelectOp,
        is_near,
        _polynomial(builder, near, NEAR),
        _polynomial(builder, far, FAR),
    )
    result = builder.node(glow.MulOp, factor, x)
    is_end = builder.node(glow.EqualOp, builder.node(glow.AbsOp, x), one)
    infinite = builder.node(glow.MulOp, x, builder.number(float("inf"), x))
    return builder.node(glow.SelectOp, is_end, infinite, result)


def _polynomial(
    builder: HloBuilder, x: SSAValue, coefficients: Sequence[float]
) -> SSAValue:
    """By Horner's rule, the highest power first."""
    result = builder.number(coefficients[0], x)
    for number in coefficients[1:]:
        product = builder.node(glow.MulOp, result, x)
        result = builder.node(glow.AddOp, product, builder.number(number, x))
    return result


HANDLERS: Handlers = {"chlo.erf_inv": inverse_erf, "stablehlo.atan2": angle}
