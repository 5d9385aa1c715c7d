"""Tables of 256 bytes in registers, looked up by instructions that shuffle bytes.

| instructions | bytes at once | how                                                          |
|--------------|---------------|--------------------------------------------------------------|
| VBMI         | 64            | each half of the table is two registers for one permutation, |
|              |               | and the highest bit of a place chooses between the halves    |
| AVX2,        | 32, 64        | each sixteenth is a register; places that are not in it have |
| AVX512BW     |               | their highest bit set, for which the shuffle gives 0         |

65,536 bytes on a Zen 4: 41 us by loads, 13 by shuffles, 4 by permutations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from glow.lowering.loops_to_llvm.builder import SIGNED_LESS, LlvmBuilder
from glow.lowering.loops_to_llvm.function_lowering import Address, FunctionLowering
from glow.lowering.loops_to_llvm.layout import lanes_of, register_type
from glow.lowering.loops_to_llvm.vectors import join, resized
from glow.lowering.target.features import has_byte_permutations

TABLE = 256
ROW = 16
BYTE = IntegerType(8)
OTHER_ROWS = 0x70
"""Added to the place in a row, what is 16 or more gets its highest bit."""

PERMUTE = "llvm.x86.avx512.vpermi2var.qi.512"
SHUFFLES = {
    32: "llvm.x86.avx2.pshuf.b",
    64: "llvm.x86.avx512.pshuf.b.512",
}
"""By the bytes of a register."""

LookUp = Callable[[SSAValue], SSAValue]
"""The bytes of a table at the places that a register holds."""


def byte_table(low: FunctionLowering, table: Address) -> LookUp:
    """How bytes are looked up in a table that begins at an address."""
    width = low.target.vector_bytes
    permutes = has_byte_permutations(low.target) and width == TABLE // 4
    kind = _permuted if permutes else _shuffled
    native = kind(low.builder, table, width)

    def look_up(places: SSAValue) -> SSAValue:
        builder, lanes = low.builder, lanes_of(places.type)
        whole = -(-lanes // width) * width
        padded = resized(builder, places, whole)
        parts = [
            native(_part(builder, padded, at, width)) for at in range(0, whole, width)
        ]
        return resized(builder, join(low, parts), lanes)

    return look_up


def _part(builder: LlvmBuilder, register: SSAValue, first: int, width: int) -> SSAValue:
    """Some lanes of a register."""
    if lanes_of(register.type) == width:
        return register
    lanes = tuple(range(first, first + width))
    return builder.shuffle(register, builder.poison(register.type), lanes)


def _permuted(builder: LlvmBuilder, table: Address, width: int) -> LookUp:
    type_ = register_type(BYTE, width)
    first, second, third, fourth = (
        builder.load(table.pointer, table.distance + at, type_, 1)
        for at in range(0, TABLE, width)
    )

    def look_up(places: SSAValue) -> SSAValue:
        lower = builder.intrinsic(PERMUTE, (first, places, second), type_)
        upper = builder.intrinsic(PERMUTE, (third, places, fourth), type_)
        is_upper = builder.compare(SIGNED_LESS, places, builder.number(0, type_))
        return builder.select(is_upper, upper, lower)

    return look_up


def _shuffled(builder: LlvmBuilder, table: Address, width: int) -> LookUp:
    type_ = register_type(BYTE, width)
    row_type = register_type(BYTE, ROW)
    repeated = tuple(range(ROW)) * (width // ROW)
    rows = [
        builder.load(table.pointer, table.distance + at, row_type, 1)
        for at in range(0, TABLE, ROW)
    ]
    rows = [builder.shuffle(row, builder.poison(row_type), repeated) for row in rows]
    others = builder.number(OTHER_ROWS, type_)

    def in_row(places: SSAValue, number: int) -> SSAValue:
        start = builder.number(number * ROW, type_)
        place = builder.emit(xllvm.XOrOp, (places, start), type_)
        marked = builder.intrinsic(f"llvm.uadd.sat.v{width}i8", (place, others), type_)
        return builder.intrinsic(SHUFFLES[width], (rows[number], marked), type_)

    def look_up(places: SSAValue) -> SSAValue:
        found = [in_row(places, number) for number in range(TABLE // ROW)]
        return reduce(lambda a, b: builder.emit(xllvm.OrOp, (a, b), type_), found)

    return look_up
