"""Gives instructions buffers that begin at multiples of so many bytes.

Kernels that take several elements at once fault on GPUs where these are not aligned. Parts of
buffers may begin anywhere: what is cut out of a larger one, or is joined with others. Then a copy
is read, or is what is written first. Copies themselves stay, and work on elements, whose kernels
can do without:

    instr.softmax @out %y, @in %v  ->  instr.copy @out %a, @in %v
                                       instr.softmax @out %y, @in %a
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import instr
from glow.passes.instr.accesses import functions_of, place_of
from glow.passes.instr.arrange import arrange, blocks_of


def is_aligned(buffer: SSAValue, alignment: int) -> bool:
    """Whether a buffer begins at a multiple of so many bytes.

    Elements of a loop's index are as long as what is read of them, and need no more.
    """
    place = place_of(buffer)
    offsets = (place.start, *place.path[::2])
    return not any(isinstance(each, int) and each % alignment for each in offsets)


def align(op: instr.InstructionOp, alignment: int) -> bool:
    """Let an instruction use copies of what is not aligned; returns whether there is some."""
    block, changed = op.parent, False
    assert block is not None
    for number, buffer in enumerate(op.operands):
        is_read, is_written = buffer in op.ins, buffer in op.outs
        type_ = buffer.type
        if not isinstance(type_, MemRefType) or is_read == is_written:
            continue  # What is changed in place is no copy's.
        if buffer in op.inouts or is_aligned(buffer, alignment):
            continue
        alloc = instr.AllocOp.build_memory([], cast("MemRefType[Attribute]", type_))
        own, other = (alloc.result, buffer) if is_read else (buffer, alloc.result)
        copy = instr.CopyOp.build_instruction([own], [other])
        dealloc = instr.DeallocOp.create(operands=[alloc.result])
        for made in (alloc, copy):
            made.location = op.location
        block.insert_ops_before([alloc, copy] if is_read else [alloc], op)
        block.insert_ops_after([dealloc] if is_read else [copy, dealloc], op)
        op.operands[number] = alloc.result
        changed = True
    return changed


def align_buffers(block: Block, alignment: int) -> None:
    """Align the buffers of a block and of its loops."""
    for inner in blocks_of(block):
        changed = [
            align(op, alignment)
            for op in list(inner.ops)
            if isinstance(op, instr.InstructionOp)
            and not op.is_data_parallel
            and not isinstance(op, instr.CopyOp | instr.InsertOp)
        ]
        if any(changed):
            arrange(inner)


@dataclass(frozen=True)
class AlignBuffersPass(ModulePass):
    """Let instructions read and write at multiples of `alignment` bytes."""

    name = "align-buffers"
    alignment: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Align the buffers of each function."""
        for function in functions_of(op):
            align_buffers(function.body.block, self.alignment)
