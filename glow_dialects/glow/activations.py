"""Element-wise nodes that are non-linearities of networks, as formulas."""

from __future__ import annotations

from math import inf, isfinite, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import f16
from xdsl.ir import SSAValue

from glow.dialects.attributes import Attributes
from glow.dialects.glow import activation_derivatives as derivatives
from glow.dialects.glow.arithmetic import LessOp, MinOp, SelectOp
from glow.dialects.glow.elementwise import Array, Facts, NumberUnaryOp, unary
from glow.dialects.glow.functions import (
    AbsOp,
    ErfOp,
    ExpOp,
    LogOp,
    NegOp,
    TanhOp,
    erf,
)
from glow.dialects.node import element_of, public_nodes
from glow.dialects.quantized import arithmetic_form

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Formula, Operands, Scalars

# What they mean -------------------------------------------------------------------------


def relu(x: Array) -> Array:
    """`max(x, 0)`; NaN stays NaN."""
    return np.maximum(x, np.zeros((), x.dtype))


def clip(x: Array, low: float, high: float) -> Array:
    """`min(max(x, low), high)`; NaN stays NaN, bounds of integers saturate."""
    if x.dtype.kind in "biu":
        info = np.iinfo(x.dtype)
        low, high = (
            int(min(max(bound, info.min), info.max)) if isfinite(bound) else limit
            for bound, limit in ((low, info.min), (high, info.max))
        )
    return np.minimum(
        np.maximum(x, np.asarray(low, x.dtype)), np.asarray(high, x.dtype)
    )


def _softplus(x: Array) -> Array:
    """`log(1 + exp(x))` without overflow."""
    return np.logaddexp(x, 0)


def _softsign(x: Array) -> Array:
    return x / (1 + np.abs(x))


def hard_swish(x: Array) -> Array:
    """`x * clip(x / 6 + 1/2, 0, 1)`."""
    return x * clip(x / 6 + 0.5, 0.0, 1.0)


def _mish(x: Array) -> Array:
    return x * np.tanh(_softplus(x))


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + erf(x / sqrt(2)))


def _gelu_tanh(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def leaky_relu(x: Array, alpha: float = 0.01) -> Array:
    """`x if x >= 0 else alpha * x`."""
    return np.where(x < 0, alpha * x, x)


def _elu(x: Array, alpha: float, gamma: float) -> Array:
    return gamma * np.where(x < 0, alpha * np.expm1(x), x)


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return clip(alpha * x + beta, 0.0, 1.0)


# How they are computed: formulas of elements and of tensors alike, or of one of them ------


def _where_negative(f: Formula, x: SSAValue, result: SSAValue) -> SSAValue:
    """The result where x < 0, else x (NaN is x)."""
    return f.apply(SelectOp, f.apply(LessOp, x, f.number(0.0, x)), result, x)


def _clamp(f: Formula, x: Operands, clip: Attributes) -> SSAValue:
    return f.clamp(x[0], clip.float("low"), clip.float("high"))


def _scalar_softplus(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    """max(x, 0) + log1p(exp(-|x|)): exp cannot overflow."""
    negative = f.unary("arith.negf", f.unary("math.absf", x[0]))
    small = f.unary("math.log1p", f.unary("math.exp", negative))
    return f.add(f.maximum(x[0], f.number(0, x[0])), small)


def _lower_softplus(f: Formula, x: Operands, _: Attributes) -> SSAValue:
    """max(x, 0) + log(1 + exp(-|x|)): exp cannot overflow."""
    negative = f.apply(NegOp, f.apply(AbsOp, x[0]))
    small = f.add(f.apply(ExpOp, negative), f.number(1.0, x[0]))
    return f.add(f.clamp(x[0], 0.0, inf), f.apply(LogOp, small))


def _divide_softly(f: Formula, x: Operands, _: Attributes) -> SSAValue:
    return f.div(x[0], f.add(f.apply(AbsOp, x[0]), f.number(1.0, x[0])))


def _gate(f: Formula, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    """clip(alpha * x + beta, 0, 1)."""
    return f.clamp(f.add(f.mul(x, f.number(alpha, x)), f.number(beta, x)), 0.0, 1.0)


def _lower_mish(f: Formula, x: Operands, _: Attributes) -> SSAValue:
    """x * tanh(softplus(x)) as x * n / (n + 2), n = e^x * (e^x + 2).

    The logarithm of 1 + e^x would lose the digits of a negative x.
    """
    (value,) = x
    limit = f.number(5.5 if element_of(value) == f16 else 20.0, value)
    e = f.apply(ExpOp, f.apply(MinOp, value, limit))
    n = f.mul(e, f.add(e, f.number(2.0, value)))
    return f.mul(value, f.div(n, f.add(n, f.number(2.0, value))))


def _scalar_mish(f: Scalars, x: Operands, attributes: Attributes) -> SSAValue:
    return f.mul(x[0], f.unary("math.tanh", _scalar_softplus(f, x, attributes)))


def _erf_gate(f: Formula, x: Operands, _: Attributes) -> SSAValue:
    (value,) = x
    inner = f.apply(ErfOp, f.mul(value, f.number(1 / sqrt(2), value)))
    half = f.mul(value, f.number(0.5, value))
    return f.mul(half, f.add(inner, f.number(1.0, value)))


def _scalar_gelu_tanh(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    (value,) = x
    cubic = f.mul(f.mul(value, value), f.number(0.044715, value))
    inner = f.mul(value, f.add(cubic, f.number(1.0, value)))
    inner = f.mul(inner, f.number(sqrt(2 / pi), value))
    inner = f.unary("math.tanh", inner)
    half = f.mul(value, f.number(0.5, value))
    return f.mul(half, f.add(inner, f.number(1.0, value)))


def _lower_gelu_tanh(f: Formula, x: Operands, _: Attributes) -> SSAValue:
    (value,) = x
    square = f.mul(value, value)
    factor = f.add(f.mul(square, f.number(0.044715, value)), f.number(1.0, value))
    inner = f.mul(f.mul(value, f.number(sqrt(2 / pi), value)), factor)
    outer = f.add(f.apply(TanhOp, inner), f.number(1.0, value))
    return f.mul(f.mul(value, f.number(0.5, value)), outer)


def _leak(f: Formula, x: Operands, leaky: Attributes) -> SSAValue:
    scaled = f.mul(x[0], f.number(leaky.float("alpha"), x[0]))
    return _where_negative(f, x[0], scaled)


def _scalar_elu(f: Scalars, x: Operands, elu: Attributes) -> SSAValue:
    gamma, alpha = elu.float("gamma"), elu.float("alpha")
    (value,) = x
    # exp of min(x, 0) only: large positive x would overflow for nothing.
    exponential = f.unary("math.expm1", f.clamp(value, -inf, 0.0))
    negative = f.mul(exponential, f.number(alpha * gamma, value))
    positive = value if gamma == 1.0 else f.mul(value, f.number(gamma, value))
    return f.select(f.compare("lt", value, f.number(0.0, value)), negative, positive)


def _lower_elu(f: Formula, x: Operands, elu: Attributes) -> SSAValue:
    gamma, alpha = elu.float("gamma"), elu.float("alpha")
    (value,) = x
    # exp of min(x, 0) only: large positive x would overflow for nothing.
    exponential = f.apply(ExpOp, f.clamp(value, -inf, 0.0))
    factor = f.add(exponential, f.number(-1.0, value))
    negative = f.mul(factor, f.number(alpha * gamma, value))
    positive = f.mul(value, f.number(gamma, value))
    is_negative = f.apply(LessOp, value, f.number(0.0, value))
    return f.apply(SelectOp, is_negative, negative, positive)


# The entries ----------------------------------------------------------------------------

ReluOp = unary(
    "relu",
    "max(x, 0); NaN stays NaN",
    Facts(
        reference=relu,
        lowering=lambda f, x, _: f.clamp(x[0], 0.0, inf),
        derivative=derivatives.relu,
        onnx="Relu",
        table=True,
        integer_form=arithmetic_form,
    ),
    NumberUnaryOp,
)
SoftplusOp = unary(
    "softplus",
    "log(1 + exp(x))",
    Facts(
        reference=_softplus,
        scalar=_scalar_softplus,
        lowering=_lower_softplus,
        onnx="Softplus",
        derivative=derivatives.softplus,
        table=True,
    ),
)
SoftsignOp = unary(
    "softsign",
    "x / (1 + |x|)",
    Facts(
        reference=_softsign,
        lowering=_divide_softly,
        onnx="Softsign",
        derivative=derivatives.softsign,
        table=True,
    ),
)
HardSwishOp = unary(
    "hard_swish",
    "x * clip(x / 6 + 0.5, 0, 1)",
    Facts(
        reference=hard_swish,
        lowering=lambda f, x, _: f.mul(x[0], _gate(f, x[0], 1 / 6, 0.5)),
        onnx="HardSwish",
        derivative=derivatives.hard_swish,
        table=True,
    ),
)
MishOp = unary(
    "mish",
    "x * tanh(softplus(x))",
    Facts(
        reference=_mish,
        scalar=_scalar_mish,
        lowering=_lower_mish,
        onnx="Mish",
        derivative=derivatives.mish,
        table=True,
    ),
)
GeluOp = unary(
    "gelu",
    "x / 2 * (1 + erf(x / sqrt 2))",
    Facts(reference=_gelu, lowering=_erf_gate, derivative=derivatives.gelu, table=True),
)
GeluTanhOp = unary(
    "gelu_tanh",
    "GELU's tanh approximation",
    Facts(
        reference=_gelu_tanh,
        scalar=_scalar_gelu_tanh,
        lowering=_lower_gelu_tanh,
        derivative=derivatives.gelu_tanh,
        table=True,
    ),
)
ClipOp = unary(
    "clip",
    "`min(max(x, low), high)`; NaN stays NaN.",
    Facts(
        reference=clip,
        lowering=_clamp,
        derivative=derivatives.clip,
        table=True,
        integer_form=arithmetic_form,
    ),
    NumberUnaryOp,
    low=-inf,
    high=inf,
)
LeakyReluOp = unary(
    "leaky_relu",
    "`x if x >= 0 else alpha * x`.",
    Facts(
        reference=leaky_relu,
        lowering=_leak,
        onnx="LeakyRelu",
        derivative=derivatives.leaky_relu,
        table=True,
    ),
    alpha=0.01,
)
EluOp = unary(
    "elu",
    "`gamma * (x if x >= 0 else alpha * (exp(x) - 1))` (ONNX Elu and Selu).",
    Facts(
        reference=_elu,
        scalar=_scalar_elu,
        lowering=_lower_elu,
        onnx={
            "Elu": {},
            "Selu": {
                "alpha": 1.67326319217681884765625,
                "gamma": 1.05070102214813232421875,
            },
        },
        derivative=derivatives.elu,
        table=True,
    ),
    alpha=1.0,
    gamma=1.0,
)
HardSigmoidOp = unary(
    "hard_sigmoid",
    "`clip(alpha * x + beta, 0, 1)`.",
    Facts(
        reference=_hard_sigmoid,
        lowering=lambda f, x, gate: _gate(
            f, x[0], gate.float("alpha"), gate.float("beta")
        ),
        onnx="HardSigmoid",
        derivative=derivatives.hard_sigmoid,
        table=True,
    ),
    alpha=0.2,
    beta=0.5,
)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
