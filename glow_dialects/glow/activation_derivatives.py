"""The derivatives of activations, as formulas; see `formulas.Derivative`.

Kinks and bounds have the slope that PyTorch gives them: 0 for relu, both bounds of hardtanh and
hardsigmoid, alpha for leaky_relu. Where it saves an exponential they are told by the result.
"""

from __future__ import annotations

from math import inf, pi, sqrt
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from glow.dialects.attributes import Attributes
from glow.dialects.glow.arithmetic import AndOp, LessEqualOp, LessOp, MinOp, SelectOp
from glow.dialects.glow.functions import AbsOp, ErfOp, ExpOp, SigmoidOp

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Formula, Gradients, Operands


def relu(f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes) -> Gradients:
    """1 where the result is positive."""
    zero = f.number(0.0, y)
    return [f.apply(SelectOp, f.apply(LessEqualOp, y, zero), zero, g)]


def softplus(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """sigmoid(x)."""
    return [f.mul(g, f.apply(SigmoidOp, x[0]))]


def softsign(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """1 / (1 + |x|)^2."""
    divisor = f.add(f.apply(AbsOp, x[0]), f.number(1.0, x[0]))
    return [f.div(g, f.mul(divisor, divisor))]


def hard_swish(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """0 below -3, 1 above 3, x / 3 + 1/2 between."""
    (value,) = x
    zero, one = f.number(0.0, value), f.number(1.0, value)
    inner = f.add(f.mul(value, f.number(1 / 3, value)), f.number(0.5, value))
    is_below = f.apply(LessOp, value, f.number(3.0, value))
    slope = f.apply(SelectOp, is_below, inner, one)
    is_low = f.apply(LessOp, value, f.number(-3.0, value))
    return [f.mul(g, f.apply(SelectOp, is_low, zero, slope))]


def mish(f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes) -> Gradients:
    """t + x * sigmoid(x) * (1 - t^2), t = tanh(softplus(x)).

    With e = exp(x) and n = e * (e + 2) it is t = n / (n + 2), and 1 - t^2 is
    4 * (e + 1)^2 / (n + 2)^2, so that the second term is 4 * x * e * (e + 1) / (n + 2)^2.
    """
    (value,) = x
    two = f.number(2.0, value)
    e = f.apply(ExpOp, f.apply(MinOp, value, f.number(20.0, value)))
    n = f.mul(e, f.add(e, two))
    divisor = f.add(n, two)
    share = f.div(f.mul(e, f.add(e, f.number(1.0, value))), divisor)
    rest = f.mul(f.mul(value, f.number(4.0, value)), f.div(share, divisor))
    return [f.mul(g, f.add(f.div(n, divisor), rest))]


def gelu(f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes) -> Gradients:
    """P(x) + x * p(x), with the normal distribution P and its density p."""
    (value,) = x
    half = f.number(0.5, value)
    inner = f.apply(ErfOp, f.mul(value, f.number(1 / sqrt(2), value)))
    below = f.add(f.mul(inner, half), half)
    bell = f.apply(ExpOp, f.mul(f.mul(value, value), f.number(-0.5, value)))
    density = f.mul(bell, f.number(1 / sqrt(2 * pi), value))
    return [f.mul(g, f.add(below, f.mul(value, density)))]


def gelu_tanh(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """s + y * (1 - s) * u', with y = x * s and s = sigmoid(u) for the gate's argument u.

    u is sqrt(8 / pi) * (x + 0.044715 x^3), since (1 + tanh(u / 2)) / 2 is sigmoid(u).
    """
    (value,) = x
    factor, cubic = sqrt(8 / pi), 0.044715
    square = f.mul(value, value)
    inner = f.add(
        f.mul(square, f.number(factor * cubic, value)), f.number(factor, value)
    )
    gate = f.apply(SigmoidOp, f.mul(value, inner))
    slope = f.add(
        f.mul(square, f.number(3 * factor * cubic, value)), f.number(factor, value)
    )
    closed = f.sub(f.number(1.0, value), gate)
    return [f.mul(g, f.add(gate, f.mul(f.mul(y, closed), slope)))]


def _inside(
    f: Formula, x: SSAValue, bounds: tuple[float, float], g: SSAValue
) -> SSAValue:
    """The gradient where low < x < high, else zero."""
    low, high = bounds
    tests: list[SSAValue] = []
    if low != -inf:
        tests.append(f.apply(LessOp, f.number(low, x), x))
    if high != inf:
        tests.append(f.apply(LessOp, x, f.number(high, x)))
    if not tests:
        return g
    inside = tests[0] if len(tests) == 1 else f.apply(AndOp, *tests)
    return f.apply(SelectOp, inside, g, f.number(0.0, g))


def clip(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, attributes: Attributes
) -> Gradients:
    """1 between the bounds."""
    bounds = attributes.float("low"), attributes.float("high")
    return [_inside(f, x[0], bounds, g)]


def hard_sigmoid(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, attributes: Attributes
) -> Gradients:
    """alpha where the result is between 0 and 1."""
    slope = f.mul(g, f.number(attributes.float("alpha"), g))
    return [_inside(f, y, (0.0, 1.0), slope)]


def leaky_relu(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, attributes: Attributes
) -> Gradients:
    """1 where x is positive, else alpha."""
    slope = f.mul(g, f.number(attributes.float("alpha"), g))
    is_low = f.apply(LessEqualOp, x[0], f.number(0.0, x[0]))
    return [f.apply(SelectOp, is_low, slope, g)]


def elu(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, attributes: Attributes
) -> Gradients:
    """gamma where x is positive, else gamma * alpha * exp(x), which is y + gamma * alpha."""
    gamma, alpha = attributes.float("gamma"), attributes.float("alpha")
    slope = f.add(y, f.number(gamma * alpha, y))
    is_low = f.apply(LessEqualOp, x[0], f.number(0.0, x[0]))
    return [f.mul(g, f.apply(SelectOp, is_low, slope, f.number(gamma, y)))]
