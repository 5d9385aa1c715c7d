"""Scalar functions on whole arrays: element-wise nodes and `arith`/`math` operations.

One table serves both, since a fused region is the same functions written as scalar
operations. Each function is called as `function(op, *operands)` with arrays that
broadcast; the caller rounds its result to the type of the operation's result.

Accuracy: `+ - * /`, square root and remainders are computed in the element type, so they
are exactly IEEE's. All transcendental functions are computed in float64 and rounded
once. Integers wrap; an integer division by zero gives 0, where hardware may trap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Operation
from xdsl.utils.type import get_element_type_or_self

from glow.dialects import arith as own_arith
from glow.dialects import glow
from glow.dialects.node import GlowOp
from glow.dialects.weight_table import Array, dtype_of

Function = Callable[..., Any]
"""`function(op, *operands)`: one array, or a tuple of one array for each result."""

erf = np.vectorize(math.erf, otypes=[np.float64], doc="Gauss error function (float64).")


def is_float(array: Array) -> bool:
    """Whether the elements are floating point (bfloat16 included)."""
    return array.dtype.kind not in "biu"


def widen(array: Array) -> Array:
    """Floats as float64, the type in which transcendental functions and sums are done."""
    return array.astype(np.float64, copy=False) if is_float(array) else array


def unsigned(array: Array) -> Array:
    """The same bits as unsigned integers (booleans stay)."""
    array = np.asarray(array)
    return array if array.dtype.kind == "b" else array.view(f"u{array.dtype.itemsize}")


# Functions of arrays -----------------------------------------------------------------


def divide(lhs: Array, rhs: Array) -> Array:
    """`lhs / rhs`; integers round towards zero, and `x / 0` is 0."""
    if is_float(lhs):
        return np.divide(lhs, rhs)
    floor = np.floor_divide(lhs, rhs)
    inexact = np.not_equal(np.remainder(lhs, rhs), 0)
    return floor + (inexact & ((lhs < 0) != (rhs < 0))).astype(lhs.dtype)


def power(base: Array, exponent: Array) -> Array:
    """`base ** exponent`; integers to negative powers round towards zero."""
    if is_float(base):
        return np.power(widen(base), widen(exponent))
    odd = np.where(np.remainder(exponent, 2) == 0, base * base, base)
    inverse = np.where(np.abs(base) == 1, odd, 0)
    return np.where(exponent < 0, inverse, np.power(base, np.maximum(exponent, 0)))


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`."""
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    """`log(1 + exp(x))` without overflow."""
    return np.logaddexp(x, 0)


def relu(x: Array) -> Array:
    """`max(x, 0)`; NaN stays NaN."""
    return np.maximum(x, np.zeros((), x.dtype))


def clip(x: Array, low: float, high: float) -> Array:
    """`min(max(x, low), high)`; NaN stays NaN, bounds of integers saturate."""
    if not is_float(x):
        info = np.iinfo(x.dtype)
        low, high = (
            int(min(max(bound, info.min), info.max)) if math.isfinite(bound) else limit
            for bound, limit in ((low, info.min), (high, info.max))
        )
    return np.minimum(
        np.maximum(x, np.asarray(low, x.dtype)), np.asarray(high, x.dtype)
    )


def leaky_relu(x: Array, alpha: float = 0.01) -> Array:
    """`x if x >= 0 else alpha * x`."""
    return np.where(x < 0, alpha * x, x)


def hard_swish(x: Array) -> Array:
    """`x * clip(x / 6 + 1/2, 0, 1)`."""
    return x * clip(x / 6 + 0.5, 0.0, 1.0)


def gelu(x: Array) -> Array:
    """`x / 2 * (1 + erf(x / sqrt 2))`."""
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x: Array) -> Array:
    """GELU's approximation by a hyperbolic tangent."""
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def elu(x: Array, alpha: float, gamma: float) -> Array:
    """`gamma * (x if x >= 0 else alpha * (exp(x) - 1))`."""
    return gamma * np.where(x < 0, alpha * np.expm1(x), x)


def convert(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """The elements in another type: floats truncate and saturate, NaN becomes 0.

    Integers wrap; a conversion to `i1` tests for non-zero.
    """
    if dtype.kind not in "iu" or not is_float(x):
        return x.astype(dtype)
    info = np.iinfo(dtype)
    wide = np.trunc(np.nan_to_num(widen(x), nan=0.0, posinf=2.0**64, neginf=-(2.0**64)))
    # float64 cannot hold the largest 64-bit integers: saturate by comparison instead.
    inside = np.where((wide >= info.max) | (wide <= info.min), 0, wide).astype(dtype)
    return np.where(
        wide >= info.max, info.max, np.where(wide <= info.min, info.min, inside)
    )


ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "relu": relu,
    "clip": clip,
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "leaky_relu": leaky_relu,
    "hard_swish": hard_swish,
}
"""Activations that convolutions and matrix products absorb: `function(x, *args)`."""


# Adapters from functions of arrays to functions of an operation --------------------------


def plain(function: Callable[..., Array]) -> Function:
    """A function that needs nothing of its operation."""
    return lambda op, *operands: function(*operands)


def double(function: Callable[..., Array]) -> Function:
    """A function that is computed in float64."""
    return lambda op, *operands: function(*map(widen, operands))


def with_floats(function: Callable[..., Array], *names: str) -> Function:
    """A function computed in float64 whose last arguments are float properties."""

    def run(op: GlowOp, x: Array) -> Array:
        attributes = op.attributes_view()
        return function(widen(x), *(attributes.float(name) for name in names))

    return run


def result_dtype(op: Operation, number: int = 0) -> np.dtype[np.generic]:
    """The dtype of an operation's result, or of its @out operand."""
    value = op.results[number] if op.results else op.operands[number]
    return dtype_of(get_element_type_or_self(value.type))


def run_convert(op: Operation, x: Array) -> Array:
    """Conversion to the type of the result."""
    return convert(np.asarray(x), result_dtype(op))


def run_resize_unsigned(op: Operation, x: Array) -> Array:
    """Conversion of an integer taken as unsigned."""
    return unsigned(x).astype(result_dtype(op))


def run_bitcast(op: Operation, x: Array) -> Array:
    """The same bits as another type of the same width."""
    return np.asarray(x).view(result_dtype(op))


def run_constant(op: Operation) -> Array:
    """An `arith.constant`, scalar or dense."""
    value = op.properties["value"]
    if isinstance(value, DenseIntOrFPElementsAttr):
        elements = np.array(value.get_values(), result_dtype(op))
        shape = value.get_shape()
        return np.broadcast_to(elements, shape) if elements.size == 1 else elements
    assert isinstance(value, IntegerAttr | FloatAttr)
    return np.asarray(value.value.data).astype(result_dtype(op))


def run_compare_integers(op: Operation, lhs: Array, rhs: Array) -> Array:
    """`arith.cmpi`."""
    name = arith.CMPI_COMPARISON_OPERATIONS[predicate_of(op)]
    if name.startswith("u"):
        lhs, rhs = unsigned(lhs), unsigned(rhs)
    return COMPARISONS[name[-2:]](lhs, rhs)


def run_compare_floats(op: Operation, lhs: Array, rhs: Array) -> Array:
    """`arith.cmpf`: `o` predicates are false on NaN, `u` predicates true."""
    name = arith.CMPF_COMPARISON_OPERATIONS[predicate_of(op)]
    if name in ("false", "true"):
        return np.full(
            np.broadcast_shapes(np.shape(lhs), np.shape(rhs)), name == "true"
        )
    unordered = np.isnan(lhs) | np.isnan(rhs)
    if name in ("ord", "uno"):
        return unordered == (name == "uno")
    compared = COMPARISONS[name[1:]](lhs, rhs)
    return compared | unordered if name[0] == "u" else compared & ~unordered


def predicate_of(op: Operation) -> int:
    """The number of a comparison's predicate."""
    predicate = op.properties["predicate"]
    assert isinstance(predicate, IntegerAttr)
    return predicate.value.data


COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def in_unsigned(function: Callable[..., Array]) -> Function:
    """A function of integers taken as unsigned."""
    return lambda op, *operands: function(*map(unsigned, operands))


def run_clip(op: GlowOp, x: Array) -> Array:
    """`glow.clip` in the operand's own type."""
    attributes = op.attributes_view()
    return clip(x, attributes.float("low"), attributes.float("high"))


# The tables -----------------------------------------------------------------------------

NODES: dict[type[Operation], Function] = {
    glow.AddOp: plain(np.add),
    glow.SubOp: plain(np.subtract),
    glow.MulOp: plain(np.multiply),
    glow.DivOp: plain(divide),
    glow.MaxOp: plain(np.maximum),
    glow.MinOp: plain(np.minimum),
    glow.PowOp: plain(power),
    glow.ModOp: plain(np.mod),
    glow.FmodOp: plain(np.fmod),
    glow.EqualOp: plain(np.equal),
    glow.NotEqualOp: plain(np.not_equal),
    glow.LessOp: plain(np.less),
    glow.LessEqualOp: plain(np.less_equal),
    glow.AndOp: plain(np.logical_and),
    glow.OrOp: plain(np.logical_or),
    glow.XorOp: plain(np.logical_xor),
    glow.NotOp: plain(np.logical_not),
    glow.NegOp: plain(np.negative),
    glow.AbsOp: plain(np.abs),
    glow.SignOp: plain(np.sign),
    glow.FloorOp: double(np.floor),
    glow.CeilOp: double(np.ceil),
    glow.RoundOp: double(np.rint),
    glow.SqrtOp: plain(np.sqrt),
    glow.RsqrtOp: double(lambda x: 1 / np.sqrt(x)),
    glow.ReciprocalOp: plain(lambda x: np.ones((), x.dtype) / x),
    glow.ExpOp: double(np.exp),
    glow.LogOp: double(np.log),
    glow.SinOp: double(np.sin),
    glow.CosOp: double(np.cos),
    glow.TanOp: double(np.tan),
    glow.AsinOp: double(np.arcsin),
    glow.AcosOp: double(np.arccos),
    glow.AtanOp: double(np.arctan),
    glow.ErfOp: double(erf),
    glow.IsNanOp: double(np.isnan),
    glow.ReluOp: plain(relu),
    glow.SigmoidOp: double(sigmoid),
    glow.TanhOp: double(np.tanh),
    glow.SoftplusOp: double(softplus),
    glow.SoftsignOp: double(lambda x: x / (1 + np.abs(x))),
    glow.HardSwishOp: double(hard_swish),
    glow.MishOp: double(lambda x: x * np.tanh(softplus(x))),
    glow.GeluOp: double(gelu),
    glow.GeluTanhOp: double(gelu_tanh),
    glow.ClipOp: run_clip,
    glow.LeakyReluOp: with_floats(leaky_relu, "alpha"),
    glow.EluOp: with_floats(elu, "alpha", "gamma"),
    glow.HardSigmoidOp: with_floats(
        lambda x, alpha, beta: clip(alpha * x + beta, 0.0, 1.0), "alpha", "beta"
    ),
    glow.SelectOp: plain(np.where),
    glow.ConvertOp: run_convert,
}

ARITH: dict[type[Operation], Function] = {
    arith.ConstantOp: run_constant,
    arith.AddfOp: plain(np.add),
    arith.SubfOp: plain(np.subtract),
    arith.MulfOp: plain(np.multiply),
    arith.DivfOp: plain(np.divide),
    arith.NegfOp: plain(np.negative),
    arith.MaximumfOp: plain(np.maximum),
    arith.MinimumfOp: plain(np.minimum),
    arith.MaxnumfOp: plain(np.fmax),
    arith.MinnumfOp: plain(np.fmin),
    arith.AddiOp: plain(np.add),
    arith.SubiOp: plain(np.subtract),
    arith.MuliOp: plain(np.multiply),
    arith.DivSIOp: plain(divide),
    arith.DivUIOp: in_unsigned(np.floor_divide),
    arith.FloorDivSIOp: plain(np.floor_divide),
    arith.CeilDivSIOp: plain(lambda a, b: -np.floor_divide(-a, b)),
    arith.CeilDivUIOp: in_unsigned(lambda a, b: a // b + (a % b != 0).astype(a.dtype)),
    arith.RemSIOp: plain(np.fmod),
    arith.RemUIOp: in_unsigned(np.remainder),
    arith.MaxSIOp: plain(np.maximum),
    arith.MinSIOp: plain(np.minimum),
    arith.MaxUIOp: in_unsigned(np.maximum),
    arith.MinUIOp: in_unsigned(np.minimum),
    arith.AndIOp: plain(np.bitwise_and),
    arith.OrIOp: plain(np.bitwise_or),
    arith.XOrIOp: plain(np.bitwise_xor),
    arith.ShLIOp: plain(np.left_shift),
    arith.ShRSIOp: plain(np.right_shift),
    arith.ShRUIOp: in_unsigned(np.right_shift),
    arith.CmpfOp: run_compare_floats,
    arith.CmpiOp: run_compare_integers,
    arith.SelectOp: plain(np.where),
    arith.ExtFOp: run_convert,
    arith.TruncFOp: run_convert,
    arith.ExtSIOp: run_convert,
    arith.ExtUIOp: run_resize_unsigned,
    arith.TruncIOp: run_convert,
    arith.FPToSIOp: run_convert,
    arith.SIToFPOp: run_convert,
    arith.IndexCastOp: run_convert,
    arith.BitcastOp: run_bitcast,
}

MATH: dict[type[Operation], Function] = {
    math_dialect.AbsFOp: plain(np.abs),
    math_dialect.AbsIOp: plain(np.abs),
    math_dialect.AcosOp: double(np.arccos),
    math_dialect.AsinOp: double(np.arcsin),
    math_dialect.AtanOp: double(np.arctan),
    math_dialect.Atan2Op: double(np.arctan2),
    math_dialect.CeilOp: double(np.ceil),
    math_dialect.CopySignOp: double(np.copysign),
    math_dialect.CosOp: double(np.cos),
    math_dialect.ErfOp: double(erf),
    math_dialect.Exp2Op: double(np.exp2),
    math_dialect.ExpM1Op: double(np.expm1),
    math_dialect.ExpOp: double(np.exp),
    math_dialect.FloorOp: double(np.floor),
    # float64 holds the product of two float32 exactly: one rounding, as fma has.
    math_dialect.FmaOp: double(lambda a, b, c: a * b + c),
    math_dialect.Log10Op: double(np.log10),
    math_dialect.Log1pOp: double(np.log1p),
    math_dialect.Log2Op: double(np.log2),
    math_dialect.LogOp: double(np.log),
    math_dialect.PowFOp: double(np.power),
    math_dialect.RoundEvenOp: double(np.rint),
    math_dialect.RsqrtOp: double(lambda x: 1 / np.sqrt(x)),
    math_dialect.SinOp: double(np.sin),
    math_dialect.SqrtOp: plain(np.sqrt),
    math_dialect.TanOp: double(np.tan),
    math_dialect.TanhOp: double(np.tanh),
    math_dialect.TruncOp: double(np.trunc),
}


def _own_arith() -> dict[type[Operation], Function]:
    """The functions of the vector-capable `arith` classes that replace xDSL's."""
    by_name = {op.name: function for op, function in ARITH.items()}
    by_name |= {
        "arith.fptoui": run_convert,
        "arith.uitofp": run_resize_unsigned,
    }
    return {op: by_name[op.name] for op in own_arith.REPLACED.values()}


SCALARS: dict[type[Operation], Function] = {**ARITH, **_own_arith(), **MATH}
"""Scalar operations that a region or a function's index arithmetic may hold."""
