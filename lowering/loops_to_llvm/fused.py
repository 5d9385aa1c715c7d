"""Multiply-adds of floats: one instruction where a target has one, else two operations.

vector.fma %a, %b, %c    x86, Arm, RISC-V V     llvm.fma
wasm-relaxed-simd      llvm.wasm.relaxed.madd, which may round twice
others                 fmul, fadd: LLVM would call `fmaf`
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import math, vector
from xdsl.dialects.builtin import f32
from xdsl.dialects.llvm import FastMathAttr
from xdsl.ir import Operation, SSAValue

from glow.lowering.loops_to_llvm.arithmetic import flags_of, float_properties
from glow.lowering.loops_to_llvm.builder import NO_FLAGS
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import register_type

RELAXED = register_type(f32, 4)
"""What WebAssembly's instruction multiplies."""


def fma(low: FunctionLowering, op: Operation) -> None:
    flags = flags_of(op)
    operands = zip(*map(low.registers, op.operands), strict=True)
    registers = [fused(low, group, flags) for group in operands]
    low.set_registers(op.results[0], registers)


def fused(
    low: FunctionLowering,
    operands: Sequence[SSAValue],
    flags: FastMathAttr = NO_FLAGS,
) -> SSAValue:
    """Returns `a * b + c`, rounded once where the target has an instruction for that.

    WebAssembly's takes whole vectors.
    """
    builder, (lhs, rhs, addend) = low.builder, operands
    type_ = addend.type
    if low.target.fma_instruction and not low.target.is_wasm:
        return builder.overloaded("llvm.fma", (lhs, rhs, addend), flags)
    if low.target.fma_instruction and type_ == RELAXED:
        return builder.overloaded("llvm.wasm.relaxed.madd", (lhs, rhs, addend))
    properties = float_properties(flags)
    scaled = builder.emit(xllvm.FMulOp, (lhs, rhs), type_, properties)
    return builder.emit(xllvm.FAddOp, (scaled, addend), type_, properties)


RULES: dict[type[Operation], Rule] = dict(
    [entry(vector.FMAOp, fma), entry(math.FmaOp, fma)]
)
