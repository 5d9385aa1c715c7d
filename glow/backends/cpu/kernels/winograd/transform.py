"""The transforms of Winograd convolutions along one axis.

Points come in pairs +-p, so that polynomials in the pairs have even and odd halves that both
points share: a transform of six values takes 12 multiply-adds. Along an axis without points
there is one value, which stays as it is.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.spec import POINTS
from glow.lowering.loop_builder.builder import LoopBuilder

Values = Sequence[SSAValue]


def transform_patch(b: LoopBuilder, values: Values) -> list[SSAValue]:
    """The inputs of one row or column of a patch, at the points.

    The entry of a point is the product of (x - other point) over the other finite points, a
    polynomial whose coefficients multiply the inputs.
    """
    if len(values) == 1:
        return list(values)
    points = POINTS[len(values)]
    every = even_polynomial(points)
    result = [_combine(b, every, values[0:-1:2])]
    for point in points:
        others = even_polynomial([other for other in points if other != point])
        even = _combine(b, others, values[2::2])
        odd = _combine(b, others, values[1:-1:2])
        result.append(_add_scaled(b, even, point, odd))
        result.append(_add_scaled(b, even, -point, odd))
    return [*result, _combine(b, every, values[1::2])]


def transform_products(b: LoopBuilder, tile: int, values: Values) -> list[SSAValue]:
    """The m outputs of the products at the points: output k sums point^k x product."""
    if len(values) == 1:
        return list(values)
    zero, *finite, infinity = values
    pairs = list(zip(finite[0::2], finite[1::2], strict=True))
    sums = [b.addf(*pair) for pair in pairs]
    differences = [b.subf(*pair) for pair in pairs]
    result: list[SSAValue] = []
    for power in range(tile):
        terms = sums if power % 2 == 0 else differences
        first = {0: zero, tile - 1: infinity}.get(power)
        scales = [point**power for point in POINTS[len(values)]]
        result.append(_weighted_sum(b, first, scales, terms))
    return result


def even_polynomial(points: Sequence[float]) -> list[float]:
    """The coefficients of the product of (x^2 - p^2), of x^0, x^2, ...; the last one is 1."""
    coefficients = [1.0]
    for point in points:
        shifted = [0.0, *coefficients]
        lowered = [*(-point * point * c for c in coefficients), 0.0]
        coefficients = [a + c for a, c in zip(shifted, lowered, strict=True)]
    return coefficients


def _combine(b: LoopBuilder, coefficients: Sequence[float], values: Values) -> SSAValue:
    """The sum of coefficient x value; the last coefficient is 1."""
    *scales, _ = coefficients
    *scaled, last = values
    return _weighted_sum(b, last, scales, scaled)


def _weighted_sum(
    b: LoopBuilder, first: SSAValue | None, scales: Sequence[float], values: Values
) -> SSAValue:
    """The sum of scale x value, plus `first`."""
    result = first
    for scale, value in reversed(list(zip(scales, values, strict=True))):
        if result is not None:
            result = _add_scaled(b, result, scale, value)
        else:
            result = value if scale == 1 else b.mulf(b.like(scale, value), value)
    assert result is not None
    return result


def _add_scaled(b: LoopBuilder, a: SSAValue, scale: float, value: SSAValue) -> SSAValue:
    """The sum a + scale x value."""
    if scale == 1:
        return b.addf(a, value)
    if scale == -1:
        return b.subf(a, value)
    return b.fma(b.like(scale, value), value, a)
