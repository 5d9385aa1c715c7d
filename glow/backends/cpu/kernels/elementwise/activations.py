"""Activation functions written out for kernels and regions, with the limits at infinity right.

A lowering that makes regions may call these while tracing; the operations that they leave
behind are plain arith and math operations either way.
"""

from xdsl.dialects import math
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.value_builder import ValueBuilder


def relu(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """max(x, 0)."""
    return math_functions.at_least(builder, x, 0.0)


def sigmoid(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """1 / (1 + e^-x)."""
    one = builder.like(1.0, x)
    negative = builder.unary(arith.NegfOp, x)
    return builder.divf(one, builder.addf(one, math_functions.exp(builder, negative)))


def softplus(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """ln(1 + e^x), as max(x, 0) + ln(1 + e^-|x|)."""
    magnitude = builder.unary(math.AbsFOp, x)
    small = math_functions.exp_nonpositive(
        builder, builder.unary(arith.NegfOp, magnitude)
    )
    return builder.addf(relu(builder, x), math_functions.log1p(builder, small))


def gelu(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The Gaussian error linear unit, x / 2 (1 + erf(x / sqrt 2))."""
    scaled = builder.mulf(x, builder.like(0.7071067811865476, x))
    half = builder.mulf(x, builder.like(0.5, x))
    return builder.fma(half, math_functions.erf(builder, scaled), half)


def gelu_tanh(builder: ValueBuilder, x: SSAValue) -> SSAValue:
    """The tanh approximation of gelu: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    square = builder.mulf(x, x)
    inner = math_functions.horner(
        builder, square, (0.044715 * 0.7978845608028654, 0.7978845608028654)
    )
    half = builder.mulf(x, builder.like(0.5, x))
    return builder.fma(half, math_functions.tanh(builder, builder.mulf(x, inner)), half)
