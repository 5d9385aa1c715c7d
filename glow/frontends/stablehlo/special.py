"""Special functions, as formulas of a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder

ROOTS = {"stablehlo.rsqrt": glow.RsqrtOp, "stablehlo.sqrt": glow.SqrtOp}


def root(builder: HloBuilder) -> SSAValue:
    """A root, or its reciprocal; of one known number it is computed, so that rules see it."""
    array = builder.known(builder.op.operands[0])
    if array is None or any(array.strides) or array.dtype.kind != "f":
        return builder.node(ROOTS[builder.op.name], *builder.op.operands)
    if not array.size or not float(array.flat[0].item()) > 0:
        return builder.node(ROOTS[builder.op.name], *builder.op.operands)
    found = np.sqrt(array.flat[0])
    if builder.op.name == "stablehlo.rsqrt":
        found = array.dtype.type(1) / found
    return builder.put(np.broadcast_to(found, array.shape))


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


LANCZOS = (
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)
"""For a step of 7 (Lanczos, "A Precision Approximation of the Gamma Function")."""
STEP, BASE = 7.0, 0.99999999999980993227684700473478


def logarithm_of_gamma(builder: HloBuilder) -> SSAValue:
    """log |gamma(x)|; below 1/2 by log(pi / |sin(pi x)|) - log |gamma(1 - x)|."""
    (x,) = builder.op.operands
    if element_of(x) not in (f32, f64):
        raise GlowError(f"lgamma of {element_of(x)} elements is not supported")
    node, number = builder.node, builder.number
    is_low = node(glow.LessOp, x, number(0.5, x))
    above = node(glow.SubOp, x, number(1, x))
    z = node(glow.SelectOp, is_low, node(glow.NegOp, x), above)
    total = number(BASE, x)
    for place, coefficient in enumerate(LANCZOS, start=1):
        below = node(glow.AddOp, z, number(place, x))
        total = node(glow.AddOp, total, node(glow.DivOp, number(coefficient, x), below))
    shifted = node(glow.AddOp, z, number(STEP + 0.5, x))
    logarithm = node(glow.LogOp, shifted)
    power = node(glow.AddOp, z, number(0.5, x))
    product = node(
        glow.MulOp,
        node(glow.SubOp, power, node(glow.DivOp, shifted, logarithm)),
        logarithm,
    )
    rest = node(glow.AddOp, node(glow.LogOp, total), number(log(2 * pi) / 2, x))
    result = node(glow.AddOp, product, rest)
    reflected = _reflected(builder, x, result)
    result = node(glow.SelectOp, is_low, reflected, result)
    size = node(glow.AbsOp, x)
    infinity = number(float("inf"), x)
    is_infinite = node(glow.EqualOp, size, infinity)
    return node(glow.SelectOp, is_infinite, infinity, result)


def _reflected(builder: HloBuilder, x: SSAValue, above: SSAValue) -> SSAValue:
    """Infinite at whole numbers; the sine is taken near its zeros, which are exact there."""
    node, number = builder.node, builder.number
    size = node(glow.AbsOp, x)
    part = node(glow.SubOp, size, node(glow.FloorOp, size))
    near = node(glow.MinOp, part, node(glow.SubOp, number(1, x), part))
    sine = node(glow.SinOp, node(glow.MulOp, near, number(pi, x)))
    is_zero = node(glow.EqualOp, near, number(0, x))
    logarithm = node(glow.SubOp, number(log(pi), x), node(glow.LogOp, sine))
    return node(
        glow.SelectOp,
        is_zero,
        number(float("inf"), x),
        node(glow.SubOp, logarithm, above),
    )


HANDLERS: Handlers = {
    "chlo.erf_inv": inverse_erf,
    "chlo.lgamma": logarithm_of_gamma,
    "stablehlo.atan2": angle,
    **dict.fromkeys(ROOTS, root),
}
