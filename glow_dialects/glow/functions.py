"""Element-wise nodes that are functions of one number; most are one scalar operation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects.attributes import Attributes
from glow.dialects.glow.elementwise import (
    Array,
    Facts,
    NumberUnaryOp,
    UnaryTestOp,
    is_integer,
    is_unsigned,
    no_slope,
    unary,
)
from glow.dialects.node import public_nodes

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Formula, Gradients, Operands, Scalars

erf = np.vectorize(math.erf, otypes=[np.float64], doc="Gauss error function (float64).")


def rsqrt(x: Array) -> Array:
    """`1 / sqrt(x)`."""
    return 1 / np.sqrt(x)


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`."""
    return 1 / (1 + np.exp(-x))


def _negate(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    if is_integer(x[0].type):
        return f.sub(f.number(0, x[0]), x[0])
    return f.unary("arith.negf", x[0])


def _absolute(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    if is_unsigned(x[0].type):
        return x[0]
    if is_integer(x[0].type):
        return f.maximum(x[0], f.sub(f.number(0, x[0]), x[0]))
    return f.unary("math.absf", x[0])


def _sign(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    """x itself where neither comparison holds: zero and NaN."""
    (value,) = x
    zero, one = (f.number(n, value) for n in (0, 1))
    positive = f.select(f.compare("lt", zero, value), one, value)
    if is_unsigned(value.type):
        return positive
    minus = f.number(-1, value)
    return f.select(f.compare("lt", value, zero), minus, positive)


def _scalar_sigmoid(f: Scalars, x: Operands, _: Attributes) -> SSAValue:
    one = f.number(1.0, x[0])
    exponential = f.unary("math.exp", f.unary("arith.negf", x[0]))
    return f.div(one, f.add(exponential, one))


def _lower_sigmoid(f: Formula, x: Operands, _: Attributes) -> SSAValue:
    exponential = f.apply(ExpOp, f.apply(NegOp, x[0]))
    return f.apply(ReciprocalOp, f.add(exponential, f.number(1.0, x[0])))


def _one_minus(f: Formula, x: SSAValue) -> SSAValue:
    return f.sub(f.number(1.0, x), x)


def _one_minus_square(f: Formula, x: SSAValue) -> SSAValue:
    return _one_minus(f, f.mul(x, x))


def _one_plus_square(f: Formula, x: SSAValue) -> SSAValue:
    return f.add(f.mul(x, x), f.number(1.0, x))


def _derive_erf(
    f: Formula, x: Operands, y: SSAValue, g: SSAValue, _: Attributes
) -> Gradients:
    """2 / sqrt(pi) * exp(-x^2)."""
    bell = f.apply(ExpOp, f.apply(NegOp, f.mul(x[0], x[0])))
    return [f.mul(f.mul(g, f.number(2 / math.sqrt(math.pi), g)), bell)]


NegOp = unary(
    "neg",
    "-x",
    Facts(
        reference=np.negative,
        derivative=lambda f, x, y, g, _: [f.apply(NegOp, g)],
        scalar=_negate,
        onnx="Neg",
        table=True,
        involution=True,
    ),
    NumberUnaryOp,
)
AbsOp = unary(
    "abs",
    "|x|",
    Facts(
        reference=np.abs,
        derivative=lambda f, x, y, g, _: [f.mul(g, f.apply(SignOp, x[0]))],
        scalar=_absolute,
        onnx="Abs",
        table=True,
        idempotent=True,
    ),
    NumberUnaryOp,
)
SignOp = unary(
    "sign",
    "-1, 0 or 1; NaN stays NaN",
    Facts(reference=np.sign, derivative=no_slope, scalar=_sign, onnx="Sign"),
    NumberUnaryOp,
)
FloorOp = unary(
    "floor",
    "Largest integer <= x",
    Facts(
        reference=np.floor,
        derivative=no_slope,
        scalar="math.floor",
        onnx="Floor",
        table=True,
        idempotent=True,
    ),
)
CeilOp = unary(
    "ceil",
    "Smallest integer >= x",
    Facts(
        reference=np.ceil,
        derivative=no_slope,
        scalar="math.ceil",
        onnx="Ceil",
        table=True,
        idempotent=True,
    ),
)
RoundOp = unary(
    "round",
    "Nearest integer, ties to even",
    Facts(
        reference=np.rint,
        derivative=no_slope,
        scalar="math.roundeven",
        onnx="Round",
        table=True,
        idempotent=True,
    ),
)
SqrtOp = unary(
    "sqrt",
    "Square root",
    Facts(
        reference=np.sqrt,
        derivative=lambda f, x, y, g, _: [f.div(f.mul(g, f.number(0.5, g)), y)],
        scalar="math.sqrt",
        onnx="Sqrt",
        table=True,
    ),
)
RsqrtOp = unary(
    "rsqrt",
    "1 / sqrt(x)",
    Facts(
        reference=rsqrt,
        derivative=lambda f, x, y, g, _: [
            f.div(f.mul(f.mul(g, f.number(-0.5, g)), y), x[0])
        ],
        scalar="math.rsqrt",
        table=True,
    ),
)
ReciprocalOp = unary(
    "reciprocal",
    "1 / x",
    Facts(
        reference=np.reciprocal,
        derivative=lambda f, x, y, g, _: [f.apply(NegOp, f.mul(g, f.mul(y, y)))],
        scalar=lambda f, x, _: f.div(f.number(1.0, x[0]), x[0]),
        onnx="Reciprocal",
        table=True,
    ),
)
ExpOp = unary(
    "exp",
    "e raised to x",
    Facts(
        reference=np.exp,
        derivative=lambda f, x, y, g, _: [f.mul(g, y)],
        scalar="math.exp",
        onnx="Exp",
        table=True,
    ),
)
LogOp = unary(
    "log",
    "Natural logarithm",
    Facts(
        reference=np.log,
        derivative=lambda f, x, y, g, _: [f.div(g, x[0])],
        scalar="math.log",
        onnx="Log",
        table=True,
    ),
)
SinOp = unary(
    "sin",
    "Sine of x in radians",
    Facts(
        reference=np.sin,
        derivative=lambda f, x, y, g, _: [f.mul(g, f.apply(CosOp, x[0]))],
        scalar="math.sin",
        onnx="Sin",
        table=True,
    ),
)
CosOp = unary(
    "cos",
    "Cosine of x in radians",
    Facts(
        reference=np.cos,
        derivative=lambda f, x, y, g, _: [
            f.apply(NegOp, f.mul(g, f.apply(SinOp, x[0])))
        ],
        scalar="math.cos",
        onnx="Cos",
        table=True,
    ),
)
TanOp = unary(
    "tan",
    "Tangent of x in radians",
    Facts(
        reference=np.tan,
        derivative=lambda f, x, y, g, _: [f.mul(g, _one_plus_square(f, y))],
        scalar="math.tan",
        onnx="Tan",
    ),
)
AsinOp = unary(
    "asin",
    "Inverse sine",
    Facts(
        reference=np.arcsin,
        derivative=lambda f, x, y, g, _: [
            f.mul(g, f.apply(RsqrtOp, _one_minus_square(f, x[0])))
        ],
        scalar="math.asin",
        onnx="Asin",
    ),
)
AcosOp = unary(
    "acos",
    "Inverse cosine",
    Facts(
        reference=np.arccos,
        derivative=lambda f, x, y, g, _: [
            f.apply(NegOp, f.mul(g, f.apply(RsqrtOp, _one_minus_square(f, x[0]))))
        ],
        scalar="math.acos",
        onnx="Acos",
    ),
)
AtanOp = unary(
    "atan",
    "Inverse tangent",
    Facts(
        reference=np.arctan,
        derivative=lambda f, x, y, g, _: [f.div(g, _one_plus_square(f, x[0]))],
        scalar="math.atan",
        onnx="Atan",
    ),
)
ErfOp = unary(
    "erf",
    "Gauss error function",
    Facts(
        reference=erf, derivative=_derive_erf, scalar="math.erf", onnx="Erf", table=True
    ),
)
SigmoidOp = unary(
    "sigmoid",
    "1 / (1 + exp(-x))",
    Facts(
        reference=sigmoid,
        derivative=lambda f, x, y, g, _: [f.mul(f.mul(g, y), _one_minus(f, y))],
        scalar=_scalar_sigmoid,
        lowering=_lower_sigmoid,
        onnx="Sigmoid",
        table=True,
    ),
)
TanhOp = unary(
    "tanh",
    "Hyperbolic tangent",
    Facts(
        reference=np.tanh,
        derivative=lambda f, x, y, g, _: [f.mul(g, _one_minus_square(f, y))],
        scalar="math.tanh",
        onnx="Tanh",
        table=True,
    ),
)
IsNanOp = unary(
    "is_nan",
    "Whether x is NaN (i1)",
    Facts(
        reference=np.isnan,
        scalar=lambda f, x, _: f.compare("ne", x[0], x[0]),
        onnx="IsNaN",
    ),
    UnaryTestOp,
)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
