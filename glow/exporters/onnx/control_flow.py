"""Branches and loops as `If` and `Loop`, whose bodies read what is around them.

    %y = scf.for %i = %0 to %5 step %1 iter_args(%s = %x) -> (tensor<3xf32>) {...}
  becomes
    y = Loop(5, "", x) <body = (i, go, s) => (go', s') {...}>

Scalars of `arith` and indices are tensors without axes, an index one of i64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith as own_arith
from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import dtype_of
from glow.exporters.failures import CannotExport
from glow.exporters.onnx.elementwise import Export
from glow.exporters.onnx.writer import Writer

WriteOperations = Callable[[Writer, Iterable[Operation]], None]
Control = Callable[[Writer, Operation, WriteOperations], None]


def _names(writer: Writer, values: Iterable[SSAValue]) -> list[str]:
    return [writer.name(value) for value in values]


def _body(block: Block) -> list[Operation]:
    """The operations of a block without its end."""
    return [op for op in block.ops if op is not block.last_op]


def _if(writer: Writer, op: Operation, write: WriteOperations) -> None:
    assert isinstance(op, scf.IfOp)
    if not op.results:
        return

    def branch(region: Region) -> None:
        write(writer, _body(region.block))
        last = region.block.last_op
        assert last is not None
        results = list(zip(_names(writer, last.operands), op.result_types, strict=True))
        writer.end_graph(results)

    graphs = [
        writer.graph(region, branch) for region in (op.true_region, op.false_region)
    ]
    names = ("then_branch", "else_branch")
    attributes = dict(zip(names, graphs, strict=True))
    writer.emit("If", [writer.name(op.cond)], _names(writer, op.results), **attributes)


def _loop(
    writer: Writer,
    op: Operation,
    start: tuple[str, str, Sequence[str]],
    step: Callable[[str, Sequence[str]], tuple[str, Sequence[str]]],
) -> None:
    """A Loop of trip count, condition and states; `step` gives the next condition, states."""
    count, condition, states = start

    def body(region: Region) -> None:
        index, go = writer.argument("index", np.int64), writer.argument("go", np.bool_)
        inside = [writer.argument_like(value.type) for value in op.results]
        following, results = step(index, inside)
        kinds = [value.type for value in op.results]
        end = following or go
        writer.end_graph(list(zip(results, kinds, strict=True)), condition=end)

    graph = writer.graph(op.regions[0], body)
    inputs = [count, condition, *states]
    writer.emit("Loop", inputs, _names(writer, op.results), body=graph)


def _for(writer: Writer, op: Operation, write: WriteOperations) -> None:
    """(upper - lower + step - 1) / step iterations; Loop runs none for a negative number."""
    assert isinstance(op, scf.ForOp)
    block = op.body.block
    lower, upper, stride = _names(writer, (op.lb, op.ub, op.step))
    one = writer.constant(np.array(1, np.int64), "one")
    span = writer.emit("Sub", [upper, lower])
    rounded = writer.emit("Sub", [writer.emit("Add", [span, stride]), one])
    count = writer.emit("Div", [rounded, stride])

    def step(index: str, states: Sequence[str]) -> tuple[str, Sequence[str]]:
        place = writer.emit("Add", [writer.emit("Mul", [index, stride]), lower])
        for value, name in zip(block.args, [place, *states], strict=True):
            writer.bind(value, name)
        write(writer, _body(block))
        assert block.last_op is not None
        return "", _names(writer, block.last_op.operands)

    _loop(writer, op, (count, "", _names(writer, op.iter_args)), step)


def _while(writer: Writer, op: Operation, write: WriteOperations) -> None:
    """The condition is computed before the loop, and at the end of each iteration."""
    assert isinstance(op, scf.WhileOp)
    before, after = op.before_region.block, op.after_region.block

    def check(states: Sequence[str]) -> tuple[str, Sequence[str]]:
        for value, name in zip(before.args, states, strict=True):
            writer.bind(value, name)
        write(writer, _body(before))
        last = before.last_op
        assert isinstance(last, scf.ConditionOp)
        return writer.name(last.condition), _names(writer, last.operands[1:])

    def step(index: str, states: Sequence[str]) -> tuple[str, Sequence[str]]:
        for value, name in zip(after.args, states, strict=True):
            writer.bind(value, name)
        write(writer, _body(after))
        assert after.last_op is not None
        return check(_names(writer, after.last_op.operands))

    condition, states = check(_names(writer, op.arguments))
    _loop(writer, op, ("", condition, states), step)


# -- scalars


def _constant(writer: Writer, op: Operation, write: WriteOperations) -> None:
    value, result = op.properties["value"], op.results[0]
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise CannotExport("of vectors")
    number = np.array(value.value.data).astype(dtype_of(result.type))
    writer.bind(result, writer.constant(number, "scalar"))


def _same(writer: Writer, op: Operation, write: WriteOperations) -> None:
    """A tensor without axes as its only element."""
    if len(op.operands) > 1:
        raise CannotExport("at an index")
    writer.bind(op.results[0], writer.name(op.operands[0]))


def _cast(writer: Writer, op: Operation, write: WriteOperations) -> None:
    to = writer.data_type(op.results[0].type)
    writer.emit("Cast", _names(writer, op.operands), writer.name(op.results[0]), to=to)


def _binary(operator: str) -> Control:
    def export(writer: Writer, op: Operation, write: WriteOperations) -> None:
        writer.emit(operator, _names(writer, op.operands), writer.name(op.results[0]))

    return export


CONTROLS: Mapping[type[Operation], Control] = {
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
    tensor.ExtractOp: _same,
    arith.ConstantOp: _constant,
    arith.AddiOp: _binary("Add"),
    arith.SubiOp: _binary("Sub"),
    arith.MuliOp: _binary("Mul"),
    arith.IndexCastOp: _cast,
    own_arith.IndexCastOp: _cast,
}
"""Operations of other dialects to what writes them."""


# -- elements at an index


def _row(writer: Writer, index: str) -> str:
    return writer.emit("Reshape", [index, writer.integers([1, 1], "shape")])


def _dynamic_slice(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    writer.emit("Gather", inputs, output, axis=0)


def _dynamic_update(writer: Writer, op: NodeOp, inputs: list[str], output: str) -> None:
    data, value, index = inputs
    front = writer.integers([0], "axes")
    row = writer.emit("Unsqueeze", [value, front])
    writer.emit("ScatterND", [data, _row(writer, index), row], output)


EXPORTS: Mapping[type[NodeOp], Export] = {
    glow.DynamicSliceOp: _dynamic_slice,
    glow.DynamicUpdateOp: _dynamic_update,
}
"""Nodes of loops to what writes them."""
