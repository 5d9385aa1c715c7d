"""Rules for `math`: LLVM intrinsics by a table, the C library where LLVM has none.

LLVM expands a vector intrinsic without an instruction of its own (exp, sin, tanh ...)
into one call of the C library per lane; functions without intrinsic (erf, log1p ...)
are called per lane here. Kernels that care about speed expand them before this level.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import math
from xdsl.dialects.builtin import Float64Type, VectorType, f32, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import llvm
from glow.lowering.loops_to_llvm.arithmetic import (
    flags_of,
    float_properties,
    intrinsic,
)
from glow.lowering.loops_to_llvm.builder import FLOAT, mangled, predicate_properties
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    boolean_like,
    element_of,
    is_vector,
    lanes_of,
)
from glow.lowering.loops_to_llvm.narrowing import rounds

WHOLE: dict[Attribute, float] = {f32: 2.0**23, f64: 2.0**52}
"""From here on floats have no fraction."""

ORDERED_GREATER, ORDERED_LESS = 2, 4

INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "llvm.fabs",
    math.AcosOp: "llvm.acos",
    math.AsinOp: "llvm.asin",
    math.AtanOp: "llvm.atan",
    math.Atan2Op: "llvm.atan2",
    math.CopySignOp: "llvm.copysign",
    math.CosOp: "llvm.cos",
    math.CoshOp: "llvm.cosh",
    math.CtPopOp: "llvm.ctpop",
    math.ExpOp: "llvm.exp",
    math.Exp2Op: "llvm.exp2",
    math.LogOp: "llvm.log",
    math.Log2Op: "llvm.log2",
    math.Log10Op: "llvm.log10",
    math.PowFOp: "llvm.pow",
    math.RoundOp: "llvm.round",
    math.SinOp: "llvm.sin",
    math.SinhOp: "llvm.sinh",
    math.SqrtOp: "llvm.sqrt",
    math.TanOp: "llvm.tan",
    math.TanhOp: "llvm.tanh",
    math.TruncOp: "llvm.trunc",
}

FLAGGED_INTRINSICS: dict[type[Operation], str] = {
    math.AbsIOp: "llvm.abs",
    math.CountLeadingZerosOp: "llvm.ctlz",
    math.CountTrailingZerosOp: "llvm.cttz",
}
"""Intrinsics with an i1 that allows poison on some input; we never do."""

LIBRARY: dict[type[Operation], str] = {
    math.AcoshOp: "acosh",
    math.AsinhOp: "asinh",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.ErfOp: "erf",
    math.ExpM1Op: "expm1",
    math.Log1pOp: "log1p",
}


def library_call(name: str) -> Callable[[FunctionLowering, Operation], None]:
    """Returns the rule that calls a function of the C library for every lane."""

    def rule(low: FunctionLowering, op: Operation) -> None:
        registers = [
            call_lanes(low, name, register)
            for register in low.registers(op.operands[0])
        ]
        low.set_registers(op.results[0], registers)

    return rule


def call_lanes(low: FunctionLowering, name: str, register: SSAValue) -> SSAValue:
    """Returns a register through a scalar function."""
    builder, type_ = low.builder, register.type
    if not lanes_of(type_):
        return call_scalar(low, name, register)
    result = builder.poison(type_)
    for lane in range(lanes_of(type_)):
        value = call_scalar(low, name, builder.extract(register, lane))
        result = builder.insert(value, result, lane)
    return result


def call_scalar(low: FunctionLowering, name: str, value: SSAValue) -> SSAValue:
    """Returns a library call; types narrower than f32 go through f32."""
    builder, type_ = low.builder, value.type
    if isinstance(type_, Float64Type):
        return low.call_external(name, (value,), type_)
    if type_ == f32:
        return low.call_external(f"{name}f", (value,), type_)
    wide = builder.emit(xllvm.FPExtOp, (value,), f32)
    result = low.call_external(f"{name}f", (wide,), f32)
    return builder.emit(xllvm.FPTruncOp, (result,), type_)


def flagged(name: str) -> Callable[[FunctionLowering, Operation], None]:
    """Returns the rule for an intrinsic with a constant i1 operand behind."""

    def rule(low: FunctionLowering, op: Operation) -> None:
        builder = low.builder
        no = builder.number(0, i1)
        registers = [
            builder.intrinsic(mangled(name, r.type), (r, no), r.type)
            for r in low.registers(op.operands[0])
        ]
        low.set_registers(op.results[0], registers)

    return rule


def reciprocal_root(low: FunctionLowering, op: Operation) -> None:
    """`1 / sqrt(x)` in full precision."""
    builder, flags = low.builder, flags_of(op)
    registers: list[SSAValue] = []
    for register in low.registers(op.operands[0]):
        root = builder.overloaded("llvm.sqrt", (register,), flags)
        one = builder.number(1.0, register.type)
        properties = float_properties(flags)
        registers.append(
            builder.emit(xllvm.FDivOp, (one, root), register.type, properties)
        )
    low.set_registers(op.results[0], registers)


def rounding(name: str, predicate: int = 0, step: float = 0.0) -> Rule:
    """The rule that rounds to integers, also where the CPU has no instruction for it.

    LLVM would call `roundevenf`, `floorf` and `ceilf`. A sum with 2^23 of the number's sign has no
    bits left for a fraction, so that adding rounds to the nearest even integer; larger numbers
    have none to lose. `floor` and `ceil` go a step back where that is beyond the number.
    """

    def rounded(low: FunctionLowering, value: SSAValue) -> SSAValue:
        near = _rounded(low, value)
        return _stepped(low, near, value, predicate, step) if step else near

    def rule(low: FunctionLowering, op: Operation) -> None:
        if isinstance(op, math.RoundEvenOp) and all(
            rounds(low, use.operation) for use in op.result.uses
        ):
            return
        if low.target.round_instruction:
            intrinsic(name)(low, op)
            return
        values = low.registers(op.operands[0])
        low.set_registers(
            op.results[0], [_as_single(low, value, rounded) for value in values]
        )

    return rule


def _as_single(
    low: FunctionLowering,
    value: SSAValue,
    function: Callable[[FunctionLowering, SSAValue], SSAValue],
) -> SSAValue:
    """The result of a function, which narrower floats go to as f32."""
    if element_of(value.type) in WHOLE:
        return function(low, value)
    type_ = value.type
    single = VectorType(f32, type_.get_shape()) if is_vector(type_) else f32
    wide = low.builder.emit(xllvm.FPExtOp, (value,), single)
    return low.builder.emit(xllvm.FPTruncOp, (function(low, wide),), value.type)


def _stepped(
    low: FunctionLowering,
    near: SSAValue,
    value: SSAValue,
    predicate: int,
    step: float,
) -> SSAValue:
    """The nearest integer, moved by a step where it compares so with the number."""
    builder, type_ = low.builder, value.type
    one = builder.number(step, type_)
    moved = builder.emit(xllvm.FAddOp, (near, one), type_, FLOAT)
    properties = {**predicate_properties(predicate), **FLOAT}
    is_beyond = builder.emit(
        llvm.FCmpOp, (near, value), boolean_like(type_), properties
    )
    found = builder.select(is_beyond, moved, near)
    return builder.overloaded("llvm.copysign", (found, value))  # Of zeros.


def _rounded(low: FunctionLowering, value: SSAValue) -> SSAValue:
    builder, type_ = low.builder, value.type
    whole = builder.number(WHOLE[element_of(type_)], type_)
    shift = builder.overloaded("llvm.copysign", (whole, value))
    moved = builder.emit(xllvm.FAddOp, (value, shift), type_, FLOAT)
    near = builder.emit(xllvm.FSubOp, (moved, shift), type_, FLOAT)
    near = builder.overloaded("llvm.copysign", (near, value))
    size = builder.overloaded("llvm.fabs", (value,))
    properties = {**predicate_properties(ORDERED_LESS), **FLOAT}
    is_small = builder.emit(llvm.FCmpOp, (size, whole), boolean_like(type_), properties)
    return builder.select(is_small, near, value)


RULES: dict[type[Operation], Rule] = {
    **{op_class: intrinsic(name) for op_class, name in INTRINSICS.items()},
    **{op_class: flagged(name) for op_class, name in FLAGGED_INTRINSICS.items()},
    **{op_class: library_call(name) for op_class, name in LIBRARY.items()},
    **dict([entry(math.RsqrtOp, reciprocal_root)]),
    math.RoundEvenOp: rounding("llvm.roundeven"),
    math.FloorOp: rounding("llvm.floor", ORDERED_GREATER, -1.0),
    math.CeilOp: rounding("llvm.ceil", ORDERED_LESS, 1.0),
}
