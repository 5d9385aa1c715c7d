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
    unary,
)
from glow.dialects.node import public_nodes

if TYPE_CHECKING:
    from glow.dialects.glow.formulas import Operands, Scalars

erf = np.vectorize(math.erf, otypes=[np.float64], doc="Gauss error function (float64).")


def rsqrt(x: Array) -> Array:
    """`1 / sqrt(x)`."""
    return 1 / np.sqrt(x)


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


NegOp = unary(
    "neg",
    "-x",
    Facts(
        reference=np.negative, scalar=_negate, onnx="Neg", table=True, involution=True
    ),
    NumberUnaryOp,
)
AbsOp = unary(
    "abs",
    "|x|",
    Facts(reference=np.abs, scalar=_absolute, onnx="Abs", table=True, idempotent=True),
    NumberUnaryOp,
)
SignOp = unary(
    "sign",
    "-1, 0 or 1; NaN stays NaN",
    Facts(reference=np.sign, scalar=_sign, onnx="Sign"),
    NumberUnaryOp,
)
FloorOp = unary(
    "floor",
    "Largest integer <= x",
    Facts(
        reference=np.floor,
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
        reference=np.ceil, scalar="math.ceil", onnx="Ceil", table=True, idempotent=True
    ),
)
RoundOp = unary(
    "round",
    "Nearest integer, ties to even",
    Facts(
        reference=np.rint,
        scalar="math.roundeven",
        onnx="Round",
        table=True,
        idempotent=True,
    ),
)
SqrtOp = unary(
    "sqrt",
    "Square root",
    Facts(reference=np.sqrt, scalar="math.sqrt", onnx="Sqrt", table=True),
)
RsqrtOp = unary(
    "rsqrt",
    "1 / sqrt(x)",
    Facts(reference=rsqrt, scalar="math.rsqrt", table=True),
)
ReciprocalOp = unary(
    "reciprocal",
    "1 / x",
    Facts(
        reference=np.reciprocal,
        scalar=lambda f, x, _: f.div(f.number(1.0, x[0]), x[0]),
        onnx="Reciprocal",
        table=True,
    ),
)
ExpOp = unary(
    "exp",
    "e raised to x",
    Facts(reference=np.exp, scalar="math.exp", onnx="Exp", table=True),
)
LogOp = unary(
    "log",
    "Natural logarithm",
    Facts(reference=np.log, scalar="math.log", onnx="Log", table=True),
)
SinOp = unary(
    "sin",
    "Sine of x in radians",
    Facts(reference=np.sin, scalar="math.sin", onnx="Sin", table=True),
)
CosOp = unary(
    "cos",
    "Cosine of x in radians",
    Facts(reference=np.cos, scalar="math.cos", onnx="Cos", table=True),
)
TanOp = unary(
    "tan",
    "Tangent of x in radians",
    Facts(reference=np.tan, scalar="math.tan", onnx="Tan"),
)
AsinOp = unary(
    "asin",
    "Inverse sine",
    Facts(reference=np.arcsin, scalar="math.asin", onnx="Asin"),
)
AcosOp = unary(
    "acos",
    "Inverse cosine",
    Facts(reference=np.arccos, scalar="math.acos", onnx="Acos"),
)
AtanOp = unary(
    "atan",
    "Inverse tangent",
    Facts(reference=np.arctan, scalar="math.atan", onnx="Atan"),
)
ErfOp = unary(
    "erf",
    "Gauss error function",
    Facts(reference=erf, scalar="math.erf", onnx="Erf", table=True),
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
