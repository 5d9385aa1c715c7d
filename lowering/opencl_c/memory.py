"""Rules for `memref` and for contiguous and strided vector access.

Views print nothing: they change strides and the affine offset only. Accesses are aligned to
their element, which is all that `vload` and `vstore` ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from glow.dialects.memref import PrefetchOp
from glow.lowering.loops_to_llvm.affine import AffineForm
from glow.lowering.loops_to_llvm.function_lowering import entry
from glow.lowering.loops_to_llvm.memory import (
    Permutation,
    mixed,
    permutation,
    result_type,
)
from glow.lowering.opencl_c.c_types import (
    RegisterLayout,
    element_strides,
    is_boolean,
    memory_name,
    vector_name,
)
from glow.lowering.opencl_c.function_printer import (
    GLOBAL,
    PRIVATE,
    FunctionPrinter,
    Memory,
    Rule,
)

# Views -------------------------------------------------------------------------------


def subview(out: FunctionPrinter, op: memref.SubviewOp) -> None:
    source = out.memories[op.source]
    offset = source.at(mixed(out, op.static_offsets, op.offsets))
    strides = element_strides(result_type(op))
    out.memories[op.result] = source._replace(strides=strides, offset=offset)


def reinterpret_cast(out: FunctionPrinter, op: memref.ReinterpretCastOp) -> None:
    """The offset counts from the start of the buffer, as upstream has it."""
    source = out.memories[op.source]
    (offset,) = mixed(out, op.static_offsets, op.offsets)
    out.memories[op.result] = source._replace(
        strides=element_strides(result_type(op)), offset=source.origin.plus(offset)
    )


def view(out: FunctionPrinter, op: memref.ViewOp) -> None:
    """Bytes as elements of another type: a pointer of its own."""
    source, type_ = out.memories[op.source], result_type(op)
    place = out.address(source, source.offset.plus(out.index(op.byte_shift)))
    pointer = f"{source.space} {memory_name(type_.element_type)} *"
    name = out.new_name()
    out.line(f"{pointer}{name} = ({pointer})({place});")
    out.bind_memory(op.result, name, source.space)


def alloca(out: FunctionPrinter, op: memref.AllocaOp) -> None:
    type_, name = result_type(op), out.new_name()
    element = memory_name(type_.element_type)
    size = prod(type_.get_shape())
    out.line(f"{element} {name}[{size}] __attribute__((aligned(64)));")
    out.bind_memory(op.memref, name, PRIVATE)


# Reads -------------------------------------------------------------------------------


def load(out: FunctionPrinter, op: memref.LoadOp | vector.LoadOp) -> None:
    read(out, op, op.operands[0], op.operands[1:])


def transfer_read(out: FunctionPrinter, op: vector.TransferReadOp) -> None:
    read(out, op, op.source, op.indices, permutation(op.permutation_map))


def vector_strides(
    memory: Memory, layout: RegisterLayout, dimensions: Permutation | None
) -> tuple[int, ...]:
    """The elements from lane to lane in each dimension of a vector."""
    if not layout.width:
        return ()
    if dimensions is None:
        return memory.strides[len(memory.strides) - len(layout.shape) - 1 :]
    return tuple(0 if d is None else memory.strides[d] for d in dimensions)


def places(layout: RegisterLayout, strides: Sequence[int]) -> list[int]:
    """How far the first element of each register is from that of the vector."""
    ranges = [
        [k * stride for k in range(extent)]
        for extent, stride in zip(layout.shape, strides, strict=False)
    ]
    step = strides[-1] if strides else 0
    return [
        sum(row) + first * step
        for row in product(*ranges)
        for first, _ in layout.chunks
    ]


def read(
    out: FunctionPrinter,
    op: Operation,
    source: SSAValue,
    indices: Sequence[SSAValue],
    dimensions: Permutation | None = None,
) -> None:
    """Records the registers of a read, printed when they are used."""
    result, memory = op.results[0], out.memories[source]
    layout = out.layout(result)
    offset = memory.at(map(out.index, indices))
    strides = vector_strides(memory, layout, dimensions)
    starts, lanes = places(layout, strides), layout.lanes
    step = strides[-1] if strides else 0

    def text(slot: int) -> str:
        place = offset.plus(AffineForm(starts[slot]))
        return loaded(out, memory, place, lanes[slot], step)

    if isinstance(result.type, IndexType):
        out.define(result, [text(0)])
        return
    keys = list(zip(starts, lanes, strict=True))
    first = {key: k for k, key in reversed(list(enumerate(keys)))}
    out.define_lazily(result, text, [first[key] for key in keys])


def loaded(
    out: FunctionPrinter, memory: Memory, place: AffineForm, lanes: int, step: int
) -> str:
    """The elements from a place on, `step` from each other, as a register."""
    boolean = is_boolean(memory.element)
    if lanes == 1:
        return element_text(out, memory, place)
    name = vector_name(memory_name(memory.element), lanes)
    if step == 0:
        text = f"({name})({element_text(out, memory, place)})"
    elif step == 1:
        text = f"vload{lanes}(0, {out.address(memory, place)})"
    else:
        steps = [place.plus(AffineForm(k * step)) for k in range(lanes)]
        listed = ", ".join(element_text(out, memory, each) for each in steps)
        text = f"({name})({listed})"
    return f"-convert_int{lanes}({text})" if boolean else text


def element_text(out: FunctionPrinter, memory: Memory, place: AffineForm) -> str:
    """One element as it is in memory."""
    return f"{memory.pointer}[{out.form_text(place)}]"


# Writes ------------------------------------------------------------------------------


def store(out: FunctionPrinter, op: memref.StoreOp | vector.StoreOp) -> None:
    value, target, *indices = op.operands
    write(out, value, target, indices)


def transfer_write(out: FunctionPrinter, op: vector.TransferWriteOp) -> None:
    write(out, op.vector, op.source, op.indices, permutation(op.permutation_map))


def write(
    out: FunctionPrinter,
    value: SSAValue,
    target: SSAValue,
    indices: Sequence[SSAValue],
    dimensions: Permutation | None = None,
) -> None:
    """Stores registers row by row, or lane by lane where rows are not contiguous."""
    out.load_pending()
    layout, memory = out.layout(value), out.memories[target]
    offset = memory.at(map(out.index, indices))
    strides = vector_strides(memory, layout, dimensions)
    step = strides[-1] if strides else 1
    starts = places(layout, strides)
    for start, lanes, register in zip(
        starts, layout.lanes, out.registers(value), strict=True
    ):
        write_register(
            out, memory, offset.plus(AffineForm(start)), lanes, step, register
        )


def write_register(
    out: FunctionPrinter,
    memory: Memory,
    place: AffineForm,
    lanes: int,
    step: int,
    register: str,
) -> None:
    """Stores one register, its lanes `step` elements from each other."""
    if is_boolean(memory.element) and lanes > 1:
        register = f"convert_uchar{lanes}({register} & 1)"
    if lanes == 1:
        out.line(f"{element_text(out, memory, place)} = {register};")
    elif step == 1:
        out.line(f"vstore{lanes}({register}, 0, {out.address(memory, place)});")
    else:
        for lane in range(lanes):
            target = element_text(out, memory, place.plus(AffineForm(lane * step)))
            out.line(f"{target} = ({register}).s{lane:x};")


def prefetch(out: FunctionPrinter, op: PrefetchOp) -> None:
    """A hint; the address may lie outside of the buffer, as nothing is read."""
    memory = out.memories[op.memref]
    if memory.space == GLOBAL:
        place = memory.at(map(out.index, op.indices))
        out.line(f"prefetch({out.address(memory, place)}, 1);")


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
