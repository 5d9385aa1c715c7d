"""Branches, loops, and the scalars that they count with, which are tensors without axes.

  %y = scf.for %i = %0 to %5 step %1 iter_args(%s = %x) -> (tensor<3xf32>) {...}
becomes
  %n, %y = stablehlo.while(%i = %0, %s = %x) cond { %i < %5 } do { ... %i + %1, ... }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, scf, tensor
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith as own_arith
from glow.exporters.failures import CannotExport
from glow.exporters.programs.operations import operation
from glow.exporters.programs.writer import Control
from glow.exporters.stablehlo.hlo_writer import HloWriter
from glow.exporters.stablehlo.scalars import write_scalar

WriteBlock: TypeAlias = Callable[[Block], None]


def _end(writer: HloWriter, values: Sequence[SSAValue]) -> None:
    writer.append(operation("stablehlo.return", values))


def _results(block: Block) -> Sequence[SSAValue]:
    """What the end of a block hands on."""
    assert block.last_op is not None
    return block.last_op.operands


def _bind_all(
    writer: HloWriter, values: Sequence[SSAValue], new: Sequence[SSAValue]
) -> None:
    for value, one in zip(values, new, strict=True):
        writer.bind(value, one)


def _if(writer: HloWriter, op: Operation, write: WriteBlock) -> None:
    assert isinstance(op, scf.IfOp)
    if not op.results:
        return
    regions: list[Region] = []
    for region in (op.true_region, op.false_region):
        with writer.inside(Block()) as block:
            write(region.block)
            _end(writer, writer.values(_results(region.block)))
        regions.append(Region(block))
    condition = writer.value(op.cond)
    made = operation("stablehlo.if", [condition], op.result_types, regions=regions)
    _bind_all(writer, op.results, writer.append(made).results)


def _loop(
    writer: HloWriter,
    starts: Sequence[SSAValue],
    condition: Callable[[Sequence[SSAValue]], SSAValue],
    step: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """A loop over states; `condition` and `step` write what is done with them."""
    types = [value.type for value in starts]
    with writer.inside(Block(arg_types=types)) as before:
        _end(writer, [condition(before.args)])
    with writer.inside(Block(arg_types=types)) as body:
        _end(writer, step(body.args))
    regions = [Region(before), Region(body)]
    made = operation("stablehlo.while", starts, types, regions=regions)
    return writer.append(made).results


def _for(writer: HloWriter, op: Operation, write: WriteBlock) -> None:
    assert isinstance(op, scf.ForOp)
    block = op.body.block
    upper, stride = writer.values((op.ub, op.step))

    def step(states: Sequence[SSAValue]) -> Sequence[SSAValue]:
        _bind_all(writer, block.args, states)
        write(block)
        following = writer.op("add", states[0], stride)
        return [following, *writer.values(_results(block))]

    starts = writer.values((op.lb, *op.iter_args))
    _, *results = _loop(
        writer, starts, lambda states: writer.compare("LT", states[0], upper), step
    )
    _bind_all(writer, op.results, results)


def _while(writer: HloWriter, op: Operation, write: WriteBlock) -> None:
    """The states are those behind the condition, which is computed before it is read."""
    assert isinstance(op, scf.WhileOp)
    before, after = op.before_region.block, op.after_region.block

    def check(states: Sequence[SSAValue]) -> Sequence[SSAValue]:
        _bind_all(writer, before.args, states)
        write(before)
        return writer.values(_results(before))

    def step(states: Sequence[SSAValue]) -> Sequence[SSAValue]:
        _bind_all(writer, after.args, states[1:])
        write(after)
        return check(writer.values(_results(after)))

    starts = check(writer.values(op.arguments))
    _, *results = _loop(writer, starts, lambda states: states[0], step)
    _bind_all(writer, op.results, results)


def _scalar(writer: HloWriter, op: Operation, write: WriteBlock) -> None:
    value = write_scalar(writer, op, writer.values(op.operands), ())
    writer.bind(op.results[0], value)


def _same(writer: HloWriter, op: Operation, write: WriteBlock) -> None:
    """A tensor without axes as its only element."""
    if len(op.operands) > 1:
        raise CannotExport("at an index")
    writer.bind(op.results[0], writer.value(op.operands[0]))


CONTROLS: Mapping[type[Operation], Control[HloWriter]] = {
    **{one: _scalar for one in (*arith.Arith.operations, *own_arith.Arith.operations)},
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
    tensor.ExtractOp: _same,
}
"""Operations of other dialects to what writes them."""
