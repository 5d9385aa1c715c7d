"""Branches and loops on buffers: what their regions carry and give is in memory.

%r = scf.if %c -> (tensor<4xf32>) {        %r = instr.alloc : memref<4xf32>
scf.yield %a                             scf.if %c {
} else {                            ->       instr.copy @out %r, @in %a
scf.yield %b                             } else {
}                                            instr.copy @out %r, @in %b
}
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, scf, tensor
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.lowering.bufferizer import Bufferizer, Handler
from glow.passes.instr.buffers import root_of


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
    then, *otherwise = map(Region, blocks)
    condition = lowering.buffer(op.cond)
    branch = scf.IfOp(condition, [], then, otherwise[0] if otherwise else None)
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


def _lower_extract(lowering: Bufferizer, op: Operation) -> None:
    assert isinstance(op, tensor.ExtractOp)
    indices = [lowering.buffer(index) for index in op.indices]
    load = memref.LoadOp.get(lowering.buffer(op.tensor), indices)
    lowering.emit(load, op)
    lowering.buffers[op.result] = load.res


def _skip(lowering: Bufferizer, op: Operation) -> None:
    """The terminator of a region is built with it."""


HANDLERS: dict[type[Operation], Handler] = {
    scf.ForOp: _lower_for,
    scf.IfOp: _lower_if,
    scf.WhileOp: _lower_while,
    scf.YieldOp: _skip,
    scf.ConditionOp: _skip,
    tensor.ExtractOp: _lower_extract,
}
