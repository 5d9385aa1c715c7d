"""Rules for `memref` and for contiguous and strided vector access.

Views (subview, view, reinterpret_cast) emit nothing: they only change strides and the
affine offset. Accesses are aligned to their element, never to their vector: x86 folds
unaligned operands at no cost, and buffers of any origin are then safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IntegerType,
    MemRefType,
    i32,
)
from xdsl.dialects.utils import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr
from xdsl.utils.exceptions import DiagnosticException

from glow.dialects.memref import PrefetchOp
from glow.lowering.loops_to_llvm.affine import AffineForm, IndexWalk
from glow.lowering.loops_to_llvm.function_lowering import (
    Address,
    FunctionLowering,
    Memory,
    Registers,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    byte_strides,
    element_bytes,
    row_offsets,
)
from glow.lowering.loops_to_llvm.lazy import LazyRegisters, ReadSource
from glow.lowering.loops_to_llvm.transpose import (
    find_transposition,
    read_transposed,
    transposed,
)
from glow.lowering.type_guards import is_memref

# Views -------------------------------------------------------------------------------


def mixed(
    walk: IndexWalk,
    static: DenseArrayBase[IntegerType],
    dynamic: Sequence[SSAValue],
) -> Iterator[AffineForm]:
    """Returns the forms of a list of static numbers with dynamic values in between."""
    values = iter(dynamic)
    for number in static.iter_values():
        if number == DYNAMIC_INDEX:
            yield walk.index(next(values))
        else:
            yield AffineForm(int(number))


def result_type(op: Operation) -> MemRefType[Attribute]:
    """Returns the memref type of an op's result."""
    type_ = op.results[0].type
    assert is_memref(type_)
    return type_


def subview(low: FunctionLowering, op: memref.SubviewOp) -> None:
    source = low.memories[op.source]
    offset = source.offset
    offsets = mixed(low, op.static_offsets, op.offsets)
    for stride, form in zip(source.strides, offsets, strict=True):
        offset = offset.plus(form, stride)
    strides = byte_strides(result_type(op))
    low.memories[op.result] = Memory(source.pointer, strides, offset, source.origin)


def reinterpret_cast(low: FunctionLowering, op: memref.ReinterpretCastOp) -> None:
    """The offset counts from the start of the buffer, not from the source's first
    element, as upstream has it.
    """
    source, type_ = low.memories[op.source], result_type(op)
    (offset,) = mixed(low, op.static_offsets, op.offsets)
    offset = source.origin.plus(offset, element_bytes(type_.element_type))
    strides = byte_strides(type_)
    low.memories[op.result] = Memory(source.pointer, strides, offset, source.origin)


def view(low: FunctionLowering, op: memref.ViewOp) -> None:
    source = low.memories[op.source]
    offset = source.offset.plus(low.index(op.byte_shift))
    strides = byte_strides(result_type(op))
    low.memories[op.result] = Memory(source.pointer, strides, offset, offset)


def alloca(low: FunctionLowering, op: memref.AllocaOp) -> None:
    type_ = result_type(op)
    size = element_bytes(type_.element_type)
    alignment = op.alignment.value.data if op.alignment is not None else size
    pointer = low.builder.alloca(prod(type_.get_shape()) * size, alignment)
    low.memories[op.memref] = Memory(pointer, byte_strides(type_))


# Loads and stores --------------------------------------------------------------------


def load(low: FunctionLowering, op: memref.LoadOp | vector.LoadOp) -> None:
    read(low, op, op.operands[0], op.operands[1:])


def store(low: FunctionLowering, op: memref.StoreOp | vector.StoreOp) -> None:
    value, target, *indices = op.operands
    write(low, value, target, indices)


def transfer_read(low: FunctionLowering, op: vector.TransferReadOp) -> None:
    source, *indices, _padding = op.operands
    read(low, op, source, indices, permutation(op.permutation_map))


def transfer_write(low: FunctionLowering, op: vector.TransferWriteOp) -> None:
    value, target, *indices = op.operands
    write(low, value, target, indices, permutation(op.permutation_map))


def prefetch(low: FunctionLowering, op: PrefetchOp) -> None:
    """The address may lie outside of the buffer: nothing is read."""
    address = low.address(low.memories[op.memref], op.indices)
    hints = (op.isWrite, op.localityHint, op.isDataCache)
    numbers = [low.builder.number(abs(hint.value.data), i32) for hint in hints]
    low.builder.intrinsic_call(
        "llvm.prefetch.p0",
        [low.builder.offset_constant(*address), *numbers],
    )


Permutation = tuple[int | None, ...]
"""For each vector dimension the memref dimension that it runs along, or None where
one element is repeated."""


def permutation(map_: AffineMapAttr) -> Permutation:
    """Returns the dimensions of a permutation map with broadcasts."""
    return tuple(map(map_position, map_.data.results))


def map_position(expression: object) -> int | None:
    """Returns the dimension that a result of a permutation map names."""
    if isinstance(expression, AffineDimExpr):
        return expression.position
    if isinstance(expression, AffineConstantExpr) and expression.value == 0:
        return None
    raise DiagnosticException(f"loops-to-llvm: no permutation map result: {expression}")


def vector_strides(
    memory: Memory, rank: int, dimensions: Permutation | None
) -> tuple[int, ...]:
    """Returns the bytes from element to element in each vector dimension."""
    if dimensions is None:
        return memory.strides[len(memory.strides) - rank :]
    return tuple(0 if d is None else memory.strides[d] for d in dimensions)


def read(
    low: FunctionLowering,
    op: Operation,
    source: SSAValue,
    indices: Sequence[SSAValue],
    dimensions: Permutation | None = None,
) -> None:
    """Records the registers of a read; contiguous and repeated rows are lazy."""
    result = op.results[0]
    layout, memory = low.layout(result), low.memories[source]
    address = low.address(memory, indices)
    if not layout.width:
        low.set_registers(result, contiguous_read(low, address, layout, ()))
        return
    strides = vector_strides(memory, len(layout.shape) + 1, dimensions)
    if strides[-1] in (0, layout.element_bytes):
        low.set_registers(result, contiguous_read(low, address, layout, strides))
        return
    found = find_transposition(layout, strides)
    if found is not None:
        low.set_registers(result, read_transposed(low, address, layout, found))
    else:
        low.set_registers(result, gathered_read(low, address, layout, strides))


def contiguous_read(
    low: FunctionLowering,
    address: Address,
    layout: RegisterLayout,
    strides: tuple[int, ...],
) -> Registers:
    """Returns rows that are contiguous in memory, or one element repeated."""
    builder = low.builder
    pointer, distance = address
    chunks = list(zip(layout.chunks, layout.row_types, strict=True))
    places = [
        (row + (first * strides[-1] if strides else 0), width, type_)
        for row in row_offsets(layout, strides)
        for (first, width), type_ in chunks
    ]
    # Equal widths are equal types, which are dear to hash.
    slots = {place[:2]: k for k, place in reversed(list(enumerate(places)))}

    def load_row(slot: int) -> SSAValue:
        offset, _, type_ = places[slot]
        alignment = low.alignment(layout, type_)
        return builder.load(pointer, distance + offset, type_, alignment)

    def load_repeated(slot: int) -> SSAValue:
        offset, _, type_ = places[slot]
        alignment = layout.element_bytes
        element = builder.load(pointer, distance + offset, layout.element, alignment)
        return builder.splat(element, type_)

    repeats = bool(strides) and strides[-1] == 0
    return LazyRegisters(
        load_repeated if repeats else load_row,
        [slots[place[:2]] for place in places],
        source=ReadSource(pointer, distance, strides),
    )


def gathered_read(
    low: FunctionLowering,
    address: Address,
    layout: RegisterLayout,
    strides: tuple[int, ...],
) -> Registers:
    """Returns rows put together element by element."""
    builder = low.builder
    registers: list[SSAValue] = []
    for row in row_offsets(layout, strides):
        for (first, width), type_ in zip(layout.chunks, layout.row_types, strict=True):
            register = builder.poison(type_)
            for lane in range(width):
                distance = address.distance + row + (first + lane) * strides[-1]
                element = builder.load(
                    address.pointer, distance, layout.element, layout.element_bytes
                )
                register = builder.insert(element, register, lane)
            registers.append(register)
    return registers


def write(
    low: FunctionLowering,
    value: SSAValue,
    target: SSAValue,
    indices: Sequence[SSAValue],
    dimensions: Permutation | None = None,
) -> None:
    """Stores registers row by row, or lane by lane where rows are not contiguous."""
    low.load_pending()
    layout, memory = low.layout(value), low.memories[target]
    address = low.address(memory, indices)
    registers = low.registers(value)
    if not layout.width:
        low.builder.store(registers[0], *address, layout.element_bytes)
        return
    strides = vector_strides(memory, len(layout.shape) + 1, dimensions)
    if strides[-1] != layout.element_bytes and layout.width > 1:
        found = find_transposition(layout, strides)
        if found is None:
            scattered_write(low, registers, address, layout, strides)
            return
        registers = transposed(low, registers, layout, found)
        layout, strides = found.loaded, found.strides
    contiguous_write(low, registers, address, layout, strides)


def contiguous_write(
    low: FunctionLowering,
    registers: Registers,
    address: Address,
    layout: RegisterLayout,
    strides: Sequence[int],
) -> None:
    """Stores rows that are contiguous in memory."""
    places = [
        row + first * layout.element_bytes
        for row in row_offsets(layout, strides)
        for first, _ in layout.chunks
    ]
    for register, place in zip(registers, places, strict=True):
        distance = address.distance + place
        alignment = low.alignment(layout, register.type)
        low.builder.store(register, address.pointer, distance, alignment)


def scattered_write(
    low: FunctionLowering,
    registers: Registers,
    address: Address,
    layout: RegisterLayout,
    strides: tuple[int, ...],
) -> None:
    """Stores rows lane by lane."""
    places = [
        (row + first * strides[-1], width)
        for row in row_offsets(layout, strides)
        for first, width in layout.chunks
    ]
    for register, (place, width) in zip(registers, places, strict=True):
        for lane in range(width):
            element = low.builder.extract(register, lane)
            distance = address.distance + place + lane * strides[-1]
            low.builder.store(element, address.pointer, distance, layout.element_bytes)


RULES: dict[type[Operation], Rule] = dict(
    [
        entry(memref.SubviewOp, subview),
        entry(memref.ReinterpretCastOp, reinterpret_cast),
        entry(memref.ViewOp, view),
        entry(memref.AllocaOp, alloca),
        entry(memref.LoadOp, load),
        entry(memref.StoreOp, store),
        entry(PrefetchOp, prefetch),
        entry(vector.LoadOp, load),
        entry(vector.StoreOp, store),
        entry(vector.TransferReadOp, transfer_read),
        entry(vector.TransferWriteOp, transfer_write),
    ]
)
