"""Rules for `amx`: matrix tiles, by the intrinsics whose registers LLVM allocates.

A tile is one value of LLVM's type `x86_amx`, which loops carry as any register. Each intrinsic
says the shape of its tiles; from that LLVM makes the configuration that a function loads first,
and sets free at its end.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float16Type, i16, i64
from xdsl.ir import Operation, SSAValue

from glow.dialects.llvm import X86_AMX
from glow.dialects.x86 import amx
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Rule,
    entry,
)

INTEGER_PRODUCTS = {
    (True, True): "llvm.x86.tdpbuud.internal",
    (True, False): "llvm.x86.tdpbusd.internal",
    (False, True): "llvm.x86.tdpbsud.internal",
    (False, False): "llvm.x86.tdpbssd.internal",
}
"""By whether the left and the right bytes are unsigned."""


def sizes(low: FunctionLowering, *numbers: int) -> list[SSAValue]:
    """The extents that an intrinsic takes: rows, or bytes of a row."""
    return [low.builder.number(number, i16) for number in numbers]


def extents(low: FunctionLowering, tile: SSAValue) -> list[SSAValue]:
    """Those of one tile."""
    type_ = amx.tile_of(tile)
    return sizes(low, type_.get_shape()[0], type_.row_bytes)


def place(
    low: FunctionLowering, op: amx.TileLoadOp | amx.TileStoreOp
) -> list[SSAValue]:
    """The address of a tile and the bytes from row to row."""
    builder, memory = low.builder, low.memories[op.base]
    pointer = builder.offset_constant(*low.address(memory, op.indices))
    if op.stride is None:
        return [pointer, builder.number(memory.strides[-2], i64)]
    return [pointer, builder.scale(low.scalar(op.stride), memory.strides[-1])]


def tile_zero(low: FunctionLowering, op: amx.TileZeroOp) -> None:
    name = "llvm.x86.tilezero.internal"
    result = low.builder.intrinsic(name, extents(low, op.res), X86_AMX)
    low.set_registers(op.res, (result,))


def tile_load(low: FunctionLowering, op: amx.TileLoadOp) -> None:
    operands = extents(low, op.res) + place(low, op)
    name = "llvm.x86.tileloadd64.internal"
    low.set_registers(op.res, (low.builder.intrinsic(name, operands, X86_AMX),))


def tile_store(low: FunctionLowering, op: amx.TileStoreOp) -> None:
    low.load_pending()
    where = place(low, op)
    operands = [*extents(low, op.val), *where, low.scalar(op.val)]
    low.builder.intrinsic_call("llvm.x86.tilestored64.internal", operands)


def product(
    low: FunctionLowering, op: amx.TileMulIOp | amx.TileMulFOp, name: str
) -> None:
    """A product by the intrinsic of that name."""
    lhs, acc = amx.tile_of(op.lhs), amx.tile_of(op.acc)
    shape = sizes(low, acc.get_shape()[0], acc.row_bytes, lhs.row_bytes)
    tiles = [low.scalar(value) for value in (op.acc, op.lhs, op.rhs)]
    result = low.builder.intrinsic(name, [*shape, *tiles], X86_AMX)
    low.set_registers(op.res, (result,))


def integer_product(low: FunctionLowering, op: amx.TileMulIOp) -> None:
    unsigned = (op.isZextLhs is not None, op.isZextRhs is not None)
    product(low, op, INTEGER_PRODUCTS[unsigned])


def float_product(low: FunctionLowering, op: amx.TileMulFOp) -> None:
    is_half = isinstance(amx.tile_of(op.lhs).element_type, Float16Type)
    kind = "tdpfp16ps" if is_half else "tdpbf16ps"
    product(low, op, f"llvm.x86.{kind}.internal")


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(amx.TileZeroOp, tile_zero),
        entry(amx.TileLoadOp, tile_load),
        entry(amx.TileStoreOp, tile_store),
        entry(amx.TileMulIOp, integer_product),
        entry(amx.TileMulFOp, float_product),
    ]
)
