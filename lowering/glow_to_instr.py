"""Bufferization: lowered graph nodes become instructions on memory (Glow's IRGen).

Every tensor value gets a buffer. Results of the function become `@out` arguments after
the inputs, and no tensor is left. Reshapes and contiguous slices are views; a concat
is an allocation that its pieces are copied into, so that copy elimination can let each
producer write its piece in place. A buffer lives from `instr.alloc` to the
`instr.dealloc` after its last use (`deallocations`).

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

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from glow.dialects import glow, instr
from glow.dialects.attributes import int_attr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import INPUT_COUNT, OUTPUT_NAMES
from glow.dialects.node import NodeOp, Types, memref_of, node_name, shape_of
from glow.lowering.deallocations import insert_deallocations
from glow.passes.instr.buffers import root_of


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


def buffer_type(value: SSAValue) -> MemRefType[Attribute]:
    """The memref type of a tensor value's buffer."""
    return memref_of(cast("TensorType[Attribute]", value.type))


class Bufferizer:
    """Rewrites one function; see the module's docstring."""

    def __init__(self, function: func.FuncOp) -> None:
        self.function = function
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.block = Block()
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.alloc_point: Operation | None = None
        """Inside a branch or loop: the outermost one, before which allocations go."""

    def run(self) -> func.FuncOp:
        """The bufferized function."""
        old = self.function.body.block
        self._add_arguments(old)
        self.lower_block(old)
        insert_deallocations(self.block)
        types = [argument.type for argument in self.block.args]
        function = func.FuncOp(
            self.function.sym_name.data,
            FunctionType.from_lists(types, []),
            Region(self.block),
            visibility=self.function.sym_visibility,
        )
        function.attributes.update(self.function.attributes)
        function.attributes[INPUT_COUNT] = int_attr(len(old.args))
        function.location = self.function.location
        return function

    def _add_arguments(self, old: Block) -> None:
        for argument in old.args:
            is_index = isinstance(argument.type, IndexType)
            kind = argument.type if is_index else buffer_type(argument)
            new = self.block.insert_arg(kind, len(self.block.args))
            new.name_hint = argument.name_hint
            self.buffers[argument] = new
        terminator = old.last_op
        assert isinstance(terminator, func.ReturnOp)
        names = self.function.attributes.get(OUTPUT_NAMES)
        self.results: list[SSAValue] = []
        for number, value in enumerate(terminator.arguments):
            new = self.block.insert_arg(buffer_type(value), len(self.block.args))
            new.name_hint = f"result{number}"
            if isinstance(names, ArrayAttr):
                name = cast("ArrayAttr[Attribute]", names).data[number]
                new.name_hint = _safe_hint(str(name), new.name_hint)
            self.results.append(new)

    # -- pieces that the handlers use

    def emit(self, op: Operation, source: Operation) -> Operation:
        """Insert an operation at the current place with its source's location."""
        op.location = source.location
        return self.builder.insert(op)

    def buffer(self, value: SSAValue) -> SSAValue:
        """The buffer of a value; index values stand for themselves."""
        return self.buffers.get(value, value)

    def alloc(self, value: SSAValue, source: Operation) -> SSAValue:
        """A new buffer for a tensor value."""
        buffer = self.alloc_memory(buffer_type(value), source)
        buffer.name_hint = value.name_hint
        return buffer

    def alloc_memory(
        self, memref: MemRefType[Attribute], source: Operation
    ) -> SSAValue:
        """A new buffer."""
        op = instr.AllocOp.build_memory([], memref)
        op.location = source.location
        if self.alloc_point is None:
            self.builder.insert(op)
        else:
            Builder(InsertPoint.before(self.alloc_point)).insert(op)
        return op.result

    @contextmanager
    def inside(self, op: Operation, block: Block) -> Iterator[None]:
        """Emit into a region's block; the operation is emitted already."""
        builder, point = self.builder, self.alloc_point
        self.builder = Builder(InsertPoint.at_end(block))
        self.alloc_point = point or op
        yield
        self.builder, self.alloc_point = builder, point

    def view(
        self, source: SSAValue, offset: int, like: SSAValue, op: Operation
    ) -> SSAValue:
        """A view of `source` from element `offset` on with the shape of `like`."""
        view = instr.TensorviewOp.build_memory(
            [source], buffer_type(like), offset=offset
        )
        self.emit(view, op)
        view.result.name_hint = like.name_hint
        return view.result

    def copy(self, target: SSAValue, source: SSAValue, op: Operation) -> None:
        """Copy a buffer into another."""
        self.emit(instr.CopyOp.build_instruction([target], [source]), op)

    # -- structure

    def lower_block(self, block: Block) -> None:
        """Lower the operations of a block, its terminator last."""
        for op in block.ops:
            handler = HANDLERS.get(type(op))
            if handler is not None:
                handler(self, op)
            elif isinstance(op, NodeOp) and instr.find_instruction(type(op)):
                _lower_node(self, op)
            else:
                raise GlowError(f"{op.name} has no instruction", node=node_name(op))


def _safe_hint(text: str, fallback: str) -> str:
    name = text.strip('"')
    return name if SSAValue.is_valid_name(name) else fallback


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


def _lower_dynamic_update(lowering: Bufferizer, op: Operation) -> None:
    """Write into the loop's own buffer when nobody else sees the old value."""
    assert isinstance(op, glow.DynamicUpdateOp)
    target = lowering.buffer(op.input)
    owner = op.input.owner
    owned = owner is op.parent and isinstance(op.parent_op(), scf.ForOp)
    if not (owned and op.input.has_one_use()):
        target = lowering.alloc(op.result, op)
        lowering.copy(target, lowering.buffer(op.input), op)
    element = _dynamic_view(lowering, target, op.index, op)
    lowering.copy(element, lowering.buffer(op.value), op)
    lowering.buffers[op.result] = target


def _lower_for(lowering: Bufferizer, op: Operation) -> None:
    """A loop without loop-carried values: they live in buffers of the loop."""
    assert isinstance(op, scf.ForOp)
    carried = [lowering.alloc(result, op) for result in op.results]
    for buffer, initial in zip(carried, op.iter_args, strict=True):
        lowering.copy(buffer, lowering.buffer(initial), op)
    body = Block(arg_types=[IndexType()])
    old = op.body.block
    bounds = [lowering.buffer(bound) for bound in (op.lb, op.ub, op.step)]
    loop = scf.ForOp(bounds[0], bounds[1], bounds[2], [], body)
    lowering.emit(loop, op)
    lowering.buffers[old.args[0]] = body.args[0]
    lowering.buffers.update(zip(old.args[1:], carried, strict=True))
    with lowering.inside(loop, body):
        lowering.lower_block(old)
        _store(lowering, _terminator(old), _terminator(old).operands, carried)
        lowering.builder.insert(scf.YieldOp())
    lowering.buffers.update(zip(op.results, carried, strict=True))


def _lower_if(lowering: Bufferizer, op: Operation) -> None:
    """Both branches write the results' buffers."""
    assert isinstance(op, scf.IfOp)
    results = [lowering.alloc(result, op) for result in op.results]
    olds = [region.block for region in op.regions if region.blocks]
    blocks = [Block() for _ in olds]
    branch = scf.IfOp(lowering.buffer(op.cond), [], *map(Region, blocks))
    lowering.emit(branch, op)
    for old, block in zip(olds, blocks, strict=True):
        with lowering.inside(branch, block):
            lowering.lower_block(old)
            _store(lowering, _terminator(old), _terminator(old).operands, results)
            lowering.builder.insert(scf.YieldOp())
    lowering.buffers.update(zip(op.results, results, strict=True))


def _lower_while(lowering: Bufferizer, op: Operation) -> None:
    """The values of both regions live in buffers; those passed on as they are in one."""
    assert isinstance(op, scf.WhileOp)
    before, after = op.before_region.block, op.after_region.block
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    carried = [lowering.alloc(argument, op) for argument in before.args]
    for buffer, initial in zip(carried, op.arguments, strict=True):
        lowering.copy(buffer, lowering.buffer(initial), op)
    if list(condition.args) == list(before.args):
        given = carried
    else:
        given = [lowering.alloc(result, op) for result in op.results]
    lowering.buffers.update(zip(before.args, carried, strict=True))
    lowering.buffers.update(zip(after.args, given, strict=True))
    test, body = Block(), Block()
    loop = scf.WhileOp([], [], Region(test), Region(body))
    lowering.emit(loop, op)
    with lowering.inside(loop, test):
        lowering.lower_block(before)
        _store(lowering, condition, condition.args, given)
        lowering.builder.insert(scf.ConditionOp(lowering.buffer(condition.condition)))
    with lowering.inside(loop, body):
        lowering.lower_block(after)
        _store(lowering, _terminator(after), _terminator(after).operands, carried)
        lowering.builder.insert(scf.YieldOp())
    lowering.buffers.update(zip(op.results, given, strict=True))


def _terminator(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def _store(
    lowering: Bufferizer,
    terminator: Operation,
    values: Sequence[SSAValue],
    carried: Sequence[SSAValue],
) -> None:
    """Copy the values that a region ends with into buffers.

    A value that is another of these buffers, or a view of one, goes through a temporary
    first, since all old values are read before any is replaced.
    """
    moves: list[tuple[SSAValue, SSAValue]] = []
    for target, value in zip(carried, values, strict=True):
        source = lowering.buffer(value)
        if source is target:
            continue
        if root_of(source) in carried:
            temporary = lowering.alloc(value, terminator)
            lowering.copy(temporary, source, terminator)
            source = temporary
        moves.append((target, source))
    for target, source in moves:
        lowering.copy(target, source, terminator)


def _lower_return(lowering: Bufferizer, op: Operation) -> None:
    for target, value in zip(lowering.results, op.operands, strict=True):
        lowering.copy(target, lowering.buffer(value), op)
    lowering.emit(func.ReturnOp(), op)


def _keep(lowering: Bufferizer, op: Operation) -> None:
    clone = op.clone({value: lowering.buffer(value) for value in op.operands})
    lowering.emit(clone, op)
    lowering.buffers.update(zip(op.results, clone.results, strict=True))


def _lower_extract(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, tensor.ExtractOp)
    indices = [lowering.buffer(index) for index in op.indices]
    load = memref.LoadOp.get(lowering.buffer(op.tensor), indices)
    lowering.emit(load, op)
    lowering.buffers[op.result] = load.res


def _skip(lowering: Bufferizer, op: Operation) -> None:
    """The terminator of a region is built with it."""


HANDLERS: dict[type[Operation], Callable[[Bufferizer, Operation], None]] = {
    glow.ConstantOp: _lower_constant,
    glow.ReshapeOp: _lower_reshape,
    glow.SliceOp: _lower_slice,
    glow.ConcatOp: _lower_concat,
    glow.DynamicSliceOp: _lower_dynamic_slice,
    glow.DynamicUpdateOp: _lower_dynamic_update,
    scf.ForOp: _lower_for,
    scf.IfOp: _lower_if,
    scf.WhileOp: _lower_while,
    scf.YieldOp: _skip,
    scf.ConditionOp: _skip,
    tensor.ExtractOp: _lower_extract,
    func.ReturnOp: _lower_return,
    arith.ConstantOp: _keep,
    arith.AddiOp: _keep,
    arith.SubiOp: _keep,
    arith.IndexCastOp: _keep,
}


@dataclass(frozen=True)
class GlowToInstrPass(ModulePass):
    """Give every tensor a buffer and every node an instruction."""

    name = "glow-to-instr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Bufferize each function of the module."""
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                new = Bufferizer(function).run()
                block = op.body.block
                block.insert_op_before(new, function)
                function.detach()
                function.erase(safe_erase=False)
