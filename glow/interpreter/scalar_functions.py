"""Scalar functions on whole arrays: element-wise nodes and `arith`/`math` operations.

One table serves both, since a fused region is the same functions written as scalar
operations. Each function is called as `function(op, *operands)` with arrays that
broadcast; the caller rounds its result to the type of the operation's result.

Accuracy: `+ - * /`, square root and remainders are computed in the element type, so they
are exactly IEEE's. All transcendental functions are computed in float64 and rounded
once. Integers wrap; an integer division by zero gives 0, where hardware may trap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.type import get_element_type_or_self

from glow.dialects import arith as own_arith
from glow.dialects import glow
from glow.dialects.glow.arithmetic import divide, power
from glow.dialects.glow.elementwise import Facts, FloatUnaryOp
from glow.dialects.glow.functions import erf, rsqrt
from glow.dialects.node import SEGMENTS, GlowOp, NodeOp
from glow.dialects.weight_table import dtype_of
from glow.interpreter import array_functions as functions
from glow.interpreter.arrays import Array, DType, signed, unsigned, widen

Function = Callable[..., Any]
"""`function(op, *operands)`: one array, or a tuple of one array for each result."""

# Adapters from functions of arrays to functions of an operation --------------------------


def plain(function: Callable[..., Array]) -> Function:
    """A function that needs nothing of its operation."""

    def run(op: Operation, *operands: Array) -> Array:
        return function(*operands)

    return run


def double(function: Callable[..., Array]) -> Function:
    """A function that is computed in float64."""

    def run(op: Operation, *operands: Array) -> Array:
        return function(*map(widen, operands))

    return run


def element_dtype(value_type: Attribute) -> DType:
    """The dtype of a scalar type, or of a tensor's or memref's elements."""
    return dtype_of(get_element_type_or_self(value_type))


def result_dtype(op: Operation, number: int = 0) -> DType:
    """The dtype of an operation's result, or of its @out operand."""
    value = op.results[number] if op.results else op.operands[number]
    return element_dtype(value.type)


def run_convert(op: Operation, x: Array) -> Array:
    """Conversion to the type of the result."""
    return functions.convert(np.asarray(x), result_dtype(op))


def run_convert_node(op: Operation, x: Array) -> Array:
    """`glow.convert`."""
    assert isinstance(op, GlowOp)
    mode = op.attributes_view().string("round_mode")
    return functions.convert(np.asarray(x), result_dtype(op), mode)


def run_convert_signed(op: Operation, x: Array) -> Array:
    """Conversion of an integer taken as signed: the `i1` true is -1."""
    return functions.convert(signed(x), result_dtype(op))


def run_convert_unsigned(op: Operation, x: Array) -> Array:
    """The bits of an unsigned integer that a float is converted to."""
    dtype = result_dtype(op)
    whole = np.dtype(f"u{dtype.name}") if dtype.kind == "i" else dtype
    return functions.convert(np.asarray(x), whole).astype(dtype)


def run_truncate(op: Operation, x: Array) -> Array:
    """The low bits of an integer."""
    dtype = result_dtype(op)
    return (np.bitwise_and(x, 1) if dtype.kind == "b" else np.asarray(x)).astype(dtype)


def modular(function: Callable[..., Array]) -> Function:
    """Arithmetic modulo the integers' width, that of `i1` included."""

    def run(op: Operation, *operands: Array) -> Array:
        if np.asarray(operands[0]).dtype.kind != "b":
            return function(*operands)
        bits = function(*(np.asarray(operand, np.uint8) for operand in operands))
        return np.bitwise_and(bits, 1).astype(np.bool_)

    return run


def run_resize_unsigned(op: Operation, x: Array) -> Array:
    """Conversion of an integer taken as unsigned."""
    return unsigned(x).astype(result_dtype(op))


def run_bitcast(op: Operation, x: Array) -> Array:
    """The same bits as another type of the same width."""
    dtype = result_dtype(op)
    return np.asarray(x) != 0 if dtype == np.bool_ else np.asarray(x).view(dtype)


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
    elif name.startswith("s"):
        lhs, rhs = signed(lhs), signed(rhs)
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

    def run(op: Operation, *operands: Array) -> Array:
        return function(*map(unsigned, operands))

    return run


# The tables -----------------------------------------------------------------------------


def _node_function(node: type[NodeOp], facts: Facts) -> Function:
    """The function of an element-wise node: its reference, called with its attributes."""
    reference = facts.reference
    operands = np.asarray if not issubclass(node, FloatUnaryOp) else widen
    names = [name for name in node.get_irdl_definition().properties if name != SEGMENTS]

    def run(op: GlowOp, *arrays: Array) -> Array:
        view = op.attributes_view()
        return reference(*map(operands, arrays), *(view.float(name) for name in names))

    return run if names else (double if operands is widen else plain)(reference)


NODES: dict[type[Operation], Function] = {
    **{node: _node_function(node, facts) for node, facts in glow.FACTS.items()},
    glow.ConvertOp: run_convert_node,
    glow.BitcastOp: run_bitcast,
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
    arith.AddiOp: modular(np.add),
    arith.SubiOp: modular(np.subtract),
    arith.MuliOp: modular(np.multiply),
    arith.DivSIOp: plain(divide),
    arith.DivUIOp: in_unsigned(np.floor_divide),
    arith.FloorDivSIOp: plain(np.floor_divide),
    arith.CeilDivSIOp: plain(functions.ceil_divide),
    arith.CeilDivUIOp: in_unsigned(functions.ceil_divide),
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
    arith.ExtSIOp: run_convert_signed,
    arith.ExtUIOp: run_resize_unsigned,
    arith.TruncIOp: run_truncate,
    arith.FPToSIOp: run_convert,
    arith.SIToFPOp: run_convert_signed,
    arith.IndexCastOp: run_convert_signed,
    arith.BitcastOp: run_bitcast,
    UnrealizedConversionCastOp: run_bitcast,
}

MATH: dict[type[Operation], Function] = {
    math_dialect.AbsFOp: plain(np.abs),
    math_dialect.AbsIOp: plain(np.abs),
    math_dialect.AcosOp: double(np.arccos),
    math_dialect.AcoshOp: double(np.arccosh),
    math_dialect.AsinhOp: double(np.arcsinh),
    math_dialect.AtanhOp: double(np.arctanh),
    math_dialect.CbrtOp: double(np.cbrt),
    math_dialect.CoshOp: double(np.cosh),
    math_dialect.SinhOp: double(np.sinh),
    math_dialect.RoundOp: double(functions.round_half_away),
    math_dialect.FPowIOp: double(np.power),
    math_dialect.IPowIOp: plain(power),
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
    math_dialect.FmaOp: double(functions.fused_multiply_add),
    math_dialect.Log10Op: double(np.log10),
    math_dialect.Log1pOp: double(np.log1p),
    math_dialect.Log2Op: double(np.log2),
    math_dialect.LogOp: double(np.log),
    math_dialect.PowFOp: double(np.power),
    math_dialect.RoundEvenOp: double(np.rint),
    math_dialect.RsqrtOp: double(rsqrt),
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
        "arith.fptoui": run_convert_unsigned,
        "arith.remf": plain(np.fmod),
        "arith.uitofp": run_resize_unsigned,
    }
    return {
        op: by_name[op.name] for op in own_arith.Arith.operations if op.name in by_name
    }


SCALARS: dict[type[Operation], Function] = {**ARITH, **_own_arith(), **MATH}
"""Scalar operations that a region or a function's index arithmetic may hold."""
