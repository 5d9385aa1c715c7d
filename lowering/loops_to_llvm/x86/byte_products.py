"""int8 products in i32, by the instruction that adds two products of 16-bit integers.

    %a = arith.extui %pixels  : vector<8xi8> to vector<8xi32>
    %b = arith.extsi %weights : vector<8xi8> to vector<8xi32>       llvm.x86.avx2.pmadd.wd(
    %c = arith.muli %a, %b    : vector<8xi32>                  ->     bitcast %a, bitcast %b)

The upper halves of the unsigned factor are 0, so that the second product is. `pmulld`, which takes
all 32 bits, is two instructions inside of Intel's cores and has twice the latency; LLVM finds the
other one by itself only where both factors are extended in the block that multiplies them, which
weights that a loop keeps in registers are not.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import vector
from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import SSAValue

from glow.dialects import arith
from glow.lowering.loops_to_llvm.contract import PAIR_PRODUCTS, WORD_BYTES
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering
from glow.lowering.loops_to_llvm.layout import element_of, lanes_of, register_type

PAIR = 2
"""16-bit integers in 32 bits."""


def product_of_bytes(
    low: FunctionLowering, lhs: SSAValue, rhs: SSAValue
) -> Sequence[SSAValue] | None:
    """Returns the products of an unsigned byte and another, None for other factors."""
    extensions = {extension_of(value) for value in (lhs, rhs)}
    if None in extensions or arith.ExtUIOp not in extensions:
        return None
    left, right = low.registers(lhs), low.registers(rhs)
    if not all(product_name(register) for register in left):
        return None
    # Weights that are broadcast are one register.
    halves = {register: as_halves(low, register) for register in (*left, *right)}
    return [
        low.builder.intrinsic(product_name(a), (halves[a], halves[b]), a.type)
        for a, b in zip(left, right, strict=True)
    ]


def extension_of(value: SSAValue) -> type[arith.ExtSIOp | arith.ExtUIOp] | None:
    """Returns the op that extended bytes to 32 bits; they may be broadcast since."""
    while isinstance(value.owner, vector.BroadcastOp):
        value = value.owner.source
    owner = value.owner
    if not isinstance(owner, arith.ExtSIOp | arith.ExtUIOp):
        return None
    is_byte = element_of(owner.input.type) == i8 and element_of(value.type) == i32
    return type(owner) if is_byte else None


def product_name(register: SSAValue) -> str:
    """Returns the instruction for registers of a size, nothing without one."""
    return PAIR_PRODUCTS.get(("x86_64", WORD_BYTES * lanes_of(register.type)), "")


def as_halves(low: FunctionLowering, register: SSAValue) -> SSAValue:
    """Returns 32-bit integers as pairs of 16-bit ones."""
    type_ = register_type(i16, PAIR * lanes_of(register.type))
    return low.builder.emit(xllvm.BitcastOp, (register,), type_)
