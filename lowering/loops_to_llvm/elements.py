"""Rules for vectors taken apart into their elements, made of them, or of a table's.

`mlir-opt --canonicalize` writes chains of extracted and inserted lanes so; programs that come
back from it hold both.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import llvm as xllvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects import arith
from glow.dialects.vector import FromElementsOp, GatherOp, ToElementsOp
from glow.lowering.loops_to_llvm.function_lowering import (
    Address,
    FunctionLowering,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    element_of,
    integer_width,
    lanes_of,
)
from glow.lowering.target.features import looks_up_bytes
from glow.lowering.type_guards import is_memref

TABLE, BYTE_BITS = 256, 8


def lanes(layout: RegisterLayout) -> list[tuple[int, int]]:
    """The register and its lane of each element, in row-major order."""
    rows, pieces = prod(layout.shape), len(layout.chunks)
    return [
        (row * pieces + piece, lane)
        for row in range(rows)
        for piece, (_, width) in enumerate(layout.chunks)
        for lane in range(width)
    ]


def to_elements(low: FunctionLowering, op: ToElementsOp) -> None:
    registers, places = low.registers(op.source), lanes(low.layout(op.source))
    for element, (register, lane) in zip(op.elements, places, strict=True):
        value = low.builder.extract(registers[register], lane)
        low.set_registers(element, [value])


def from_elements(low: FunctionLowering, op: FromElementsOp) -> None:
    layout = low.layout(op.dest)
    registers = [low.builder.poison(type_) for type_ in layout.types]
    for element, (register, lane) in zip(op.elements, lanes(layout), strict=True):
        value = low.scalar(element)
        registers[register] = low.builder.insert(value, registers[register], lane)
    low.set_registers(op.dest, registers)


def gather(low: FunctionLowering, op: GatherOp) -> None:
    """The bytes of a table at places that are bytes; by shuffles where there are some."""
    places = _places(op)
    address = low.address(low.memories[op.base], op.offsets)
    registers, types = low.registers(places), low.layout(op.result).types
    if low.has_intrinsics and looks_up_bytes(low.target):
        from glow.lowering.loops_to_llvm.x86.byte_tables import byte_table

        look_up = byte_table(low, address)
        low.set_registers(op.result, [look_up(register) for register in registers])
        return
    pairs = zip(registers, types, strict=True)
    low.set_registers(op.result, [_loaded(low, address, *pair) for pair in pairs])


def _loaded(
    low: FunctionLowering, table: Address, places: SSAValue, type_: Attribute
) -> SSAValue:
    """A register of bytes that are loaded one by one."""
    builder, register = low.builder, low.builder.poison(type_)
    for lane in range(lanes_of(type_)):
        place = builder.extract(places, lane)
        distance = builder.emit(xllvm.ZExtOp, (place,), low.index_type)
        pointer = builder.offset(table.pointer, distance)
        value = builder.load(pointer, table.distance, element_of(type_), 1)
        register = builder.insert(value, register, lane)
    return register


def _places(op: GatherOp) -> SSAValue:
    """The bytes that are the places, before they were widened."""
    base, wide, mask = op.base.type, op.indices.owner, op.mask.owner
    is_table = is_memref(base) and base.get_shape() == (TABLE,)
    if isinstance(wide, arith.ExtUIOp) and is_table and _takes_all(mask):
        bits = [integer_width(element_of(v.type)) for v in (wide.input, op.result)]
        if bits == [BYTE_BITS, BYTE_BITS]:
            return wide.input
    raise DiagnosticException(
        "loops-to-llvm: vector.gather is lowered for all lanes of bytes alone, at places "
        f"that are bytes (by arith.extui) in a table of {TABLE}"
    )


def _takes_all(mask: Operation | Block) -> bool:
    """Whether a mask is a constant without a lane that is left out."""
    if not isinstance(mask, arith.ConstantOp):
        return False
    value = mask.value
    return isinstance(value, DenseIntOrFPElementsAttr) and all(value.iter_values())


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(GatherOp, gather),
        entry(ToElementsOp, to_elements),
        entry(FromElementsOp, from_elements),
    ]
)
