"""Contractions of bytes on Armv8.1-M with MVE: sixteen products of signed bytes at a time.

`vmladav` multiplies two registers of sixteen bytes and adds up all products in a scalar register.
LLVM takes it for the sum of a product of extended bytes:

    %wide = sext <16 x i8> %left to <16 x i32>
    %sum  = call i32 @llvm.vector.reduce.add(mul %wide, %right_wide)

So each lane has a row of sixteen neighbours along the depth, and the sums of four lanes are added
to a register of the accumulator.
"""

from __future__ import annotations

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from glow.lowering.loops_to_llvm.contract_operands import DotProduct, Narrow
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import lanes_of, register_type
from glow.lowering.loops_to_llvm.vectors import split

STEP = 16
WIDE = register_type(i32, STEP)


def mve_product(low: FunctionLowering, lhs: Narrow, rhs: Narrow) -> DotProduct | None:
    """Returns the contraction of sixteen signed bytes; None for other operands."""
    are_bytes = all(o.layout.element == i8 for o in (lhs, rhs))
    is_signed = lhs.extension is xllvm.SExtOp and rhs.extension is xllvm.SExtOp
    if low.target.byte_dot != "mve" or rhs.layout.width != STEP:
        return None
    if not (are_bytes and is_signed):
        return None
    builder, reduce = low.builder, "llvm.vector.reduce.add.v16i32"

    def dot(acc: SSAValue, word: SSAValue, weights: SSAValue) -> SSAValue:
        count = lanes_of(acc.type)
        left = builder.emit(xllvm.SExtOp, (word,), WIDE)
        rows = split(low, weights, [(lane * STEP, STEP) for lane in range(count)])
        sums = builder.poison(acc.type)
        for lane, row in enumerate(rows):
            right = builder.emit(xllvm.SExtOp, (row,), WIDE)
            product = builder.multiply(left, right)
            total = builder.intrinsic(reduce, (product,), i32)
            sums = builder.insert(total, sums, lane)
        return builder.add(acc, sums)

    return dot
