"""Bufferization: lowered graph nodes become instructions on memory (Glow's IRGen).

Every tensor value gets a buffer. Results of the function become `@out` arguments after
the inputs, and no tensor is left. Reshapes and contiguous slices are views; a concat
is an allocation that its pieces are copied into, so that copy elimination can let each
producer write its piece in place. A buffer lives from `instr.alloc` to the
`instr.dealloc` after its last use (`deallocations`). A variable is memory that outlives the
call; what is saved is copied into it at the end, after all reads of the old value.

Branches and loops (`scf.if`, `scf.for`, `scf.while`) keep no values of their own: what they
carry and give is in buffers. Allocations of their regions stand before them: the memory plan
then sees straight-line code in which each is one instruction. Conditions and numbers of
iterations are loaded: `tensor.extract` becomes `memref.load`.

    %0 = glow.relu %x : tensor<4xf32>        %a = instr.alloc : memref<4xf32>
    func.return %0 : tensor<4xf32>      ->   instr.relu @out %a, @in %x
                                             instr.copy @out %result, @in %a
                                             instr.dealloc %a
                                             func.return
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import (
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import arith, glow, instr
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, Types, memref_of, node_name, shape_of
from glow.lowering import bufferize_regions
from glow.lowering.bufferizer import Bufferizer, Handler, buffer_type


def contiguous_offset(
    shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int]
) -> int | None:
    """The element offset of a slice that is one run of memory, or None.

    It is one run when at most one axis is cut and all axes before it have size 1.
    """
    cut = [axis for axis, size in enumerate(sizes) if size != shape[axis]]
    if cut and prod(sizes[: cut[-1]]) != 1:
        return None
    offset = 0
    for start, extent in zip(starts, shape, strict=True):
        offset = offset * extent + start
    return offset


def _lower_node(lowering: Bufferizer, op: NodeOp) -> None:
    """One node to one instruction on new buffers, scratch memory among them."""
    outs = [lowering.alloc(result, op) for result in op.results]
    operand_types = cast("Types", [value.type for value in op.inputs])
    scratch = [
        lowering.alloc_memory(memref_of(needed), op)
        for needed in op.scratch_types(operand_types, op.attributes_view())
    ]
    ins = [lowering.buffer(value) for value in op.inputs]
    segments = instr.operand_segments_attr(len(outs), len(scratch), len(ins))
    instruction = instr.instruction_of(type(op)).create(
        operands=[*outs, *scratch, *ins],
        properties={**op.properties, instr.SEGMENTS: segments},
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    lowering.emit(instruction, op)
    lowering.buffers.update(zip(op.results, outs, strict=True))


def _lower_constant(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, glow.ConstantOp)
    weight = instr.WeightOp.create(
        result_types=[buffer_type(op.result)], properties={"value": op.value}
    )
    lowering.emit(weight, op)
    weight.result.name_hint = op.result.name_hint
    lowering.buffers[op.result] = weight.result


def _lower_variable(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, glow.VariableOp)
    lowering.buffers[op.result] = lowering.variables[op.variable_name]


def _lower_save(lowering: Bufferizer, op: Operation) -> None:
    """A save takes effect at the end, when all reads are done."""
    assert isinstance(op, glow.SaveOp)
    lowering.saves.append((op.variable_name, op.input, op))


def _lower_reshape(lowering: Bufferizer, op: Operation) -> None:
    result = op.results[0]
    source = lowering.buffer(op.operands[0])
    lowering.buffers[result] = lowering.view(source, 0, result, op)


def _lower_slice(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, glow.SliceOp)
    attributes = op.attributes_view()
    offset = contiguous_offset(
        shape_of(op.input), attributes.ints("starts"), attributes.ints("sizes")
    )
    if offset is None or any(step != 1 for step in attributes.ints("steps")):
        _lower_node(lowering, op)
    else:
        source = lowering.buffer(op.input)
        lowering.buffers[op.result] = lowering.view(source, offset, op.result, op)


def _lower_concat(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, glow.ConcatOp)
    target = lowering.alloc(op.result, op)
    shape, axis = shape_of(op.result), op.attributes_view().int("axis")
    start = 0
    for piece in op.inputs:
        offsets = [0] * len(shape)
        offsets[axis] = start
        sizes = shape_of(piece)
        run = contiguous_offset(shape, offsets, sizes)
        if run is None:
            insert = instr.InsertOp.build_instruction(
                [], [lowering.buffer(piece)], [target], offsets=offsets
            )
            lowering.emit(insert, op)
        else:
            part = lowering.view(target, run, piece, op)
            lowering.copy(part, lowering.buffer(piece), op)
        start += sizes[axis]
    lowering.buffers[op.result] = target


def _dynamic_view(
    lowering: Bufferizer, source: SSAValue, index: SSAValue, op: Operation
) -> SSAValue:
    source_type = cast("MemRefType[Attribute]", source.type)
    element = MemRefType(source_type.element_type, source_type.get_shape()[1:])
    view = instr.DynamicViewOp.build_memory([source, lowering.buffer(index)], element)
    lowering.emit(view, op)
    return view.result


def _lower_dynamic_slice(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, glow.DynamicSliceOp)
    source = lowering.buffer(op.input)
    lowering.buffers[op.result] = _dynamic_view(lowering, source, op.index, op)


def _is_done(reader: Operation, update: glow.DynamicUpdateOp) -> bool:
    """Whether nobody reads a slice of the old value once it is updated.

    A slice is a view of the value's buffer, and so are a reshape and a slice of it.
    """
    if reader is update:
        return True
    return isinstance(reader, glow.DynamicSliceOp) and all(
        use.operation.parent is update.parent
        and not isinstance(use.operation, VIEWS)
        and use.operation.is_before_in_block(update)
        for use in reader.result.uses
    )


VIEWS = (glow.ReshapeOp, glow.SliceOp, glow.DynamicSliceOp)
"""Nodes whose result may be a part of their operand's memory."""


def _lower_dynamic_update(lowering: Bufferizer, op: Operation) -> None:
    """Write into the loop's own buffer when nobody else sees the old value."""
    assert isinstance(op, glow.DynamicUpdateOp)
    target = lowering.buffer(op.input)
    owner = op.input.owner
    owned = owner is op.parent and isinstance(op.parent_op(), scf.ForOp)
    if not (owned and all(_is_done(use.operation, op) for use in op.input.uses)):
        target = lowering.alloc(op.result, op)
        lowering.copy(target, lowering.buffer(op.input), op)
    element = _dynamic_view(lowering, target, op.index, op)
    lowering.copy(element, lowering.buffer(op.value), op)
    lowering.buffers[op.result] = target


def _lower_return(lowering: Bufferizer, op: Operation) -> None:
    for target, value in zip(lowering.results, op.operands, strict=True):
        lowering.copy(target, lowering.buffer(value), op)
    lowering.copy_saves()
    lowering.emit(func.ReturnOp(), op)


def _keep(lowering: Bufferizer, op: Operation) -> None:
    clone = op.clone({value: lowering.buffer(value) for value in op.operands})
    lowering.emit(clone, op)
    lowering.buffers.update(zip(op.results, clone.results, strict=True))


HANDLERS: dict[type[Operation], Handler] = {
    **bufferize_regions.HANDLERS,
    glow.ConstantOp: _lower_constant,
    glow.VariableOp: _lower_variable,
    glow.SaveOp: _lower_save,
    glow.ReshapeOp: _lower_reshape,
    glow.SliceOp: _lower_slice,
    glow.ConcatOp: _lower_concat,
    glow.DynamicSliceOp: _lower_dynamic_slice,
    glow.DynamicUpdateOp: _lower_dynamic_update,
    func.ReturnOp: _lower_return,
    arith.ConstantOp: _keep,
    arith.AddiOp: _keep,
    arith.SubiOp: _keep,
    arith.IndexCastOp: _keep,
}


def lower_op(lowering: Bufferizer, op: Operation) -> None:
    """Give one operation's results their buffers."""
    handler = HANDLERS.get(type(op))
    if handler is not None:
        handler(lowering, op)
    elif isinstance(op, NodeOp) and instr.find_instruction(type(op)):
        _lower_node(lowering, op)
    else:
        raise GlowError(f"{op.name} has no instruction", node=node_name(op))


@dataclass(frozen=True)
class GlowToInstrPass(ModulePass):
    """Give every tensor a buffer and every node an instruction."""

    name = "glow-to-instr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Bufferize each function of the module."""
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                new = Bufferizer(function, lower_op).run()
                block = op.body.block
                block.insert_op_before(new, function)
                function.detach()
                function.erase(safe_erase=False)
