"""Nodes that move elements, reductions along axes, and lookups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.exporters.failures import CannotExport
from glow.exporters.programs.writer import Handler, type_like
from glow.exporters.tosa.elementwise import TosaHandler
from glow.exporters.tosa.tosa_writer import TosaWriter, integer


def _reshape(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.reshape(inputs[0], shape_of(op.results[0]))


def _broadcast(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    shape, own = shape_of(op.results[0]), shape_of(inputs[0])
    ranked = writer.reshape(inputs[0], [*[1] * (len(shape) - len(own)), *own])
    return writer.tile(ranked, shape)


def _tile(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    counts = writer.shape(op.attributes_view().ints("repeats"))
    to = type_like(inputs[0], shape_of(op.results[0]))
    return writer.op("tile", inputs[0], counts, to=to)


def _transpose(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.transpose(inputs[0], op.attributes_view().ints("permutation"))


def _concat(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    axis = op.attributes_view().int("axis") % len(shape_of(inputs[0]))
    return writer.concat(inputs, axis)


def _slice(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Every n-th element is one of n, of which zeros may fill the last."""
    view, (value,) = op.attributes_view(), inputs
    starts, sizes, steps = (list(view.ints(n)) for n in ("starts", "sizes", "steps"))
    for axis, step in enumerate(steps):
        if step < 0:
            starts[axis] += (sizes[axis] - 1) * step
    own, steps_up = shape_of(value), [abs(step) for step in steps]
    ends = [
        start + size * step
        for start, size, step in zip(starts, sizes, steps_up, strict=True)
    ]
    places = [
        min(max(end - extent, 0), start) if step > 1 else 0
        for end, extent, start, step in zip(ends, own, starts, steps_up, strict=True)
    ]
    starts = [start - place for start, place in zip(starts, places, strict=True)]
    spans = [
        min(size * step, extent - start)
        for size, step, extent, start in zip(sizes, steps_up, own, starts, strict=True)
    ]
    value = writer.slice(value, starts, spans)
    for axis, step in enumerate(steps):
        if abs(step) > 1:
            value = _thinned(writer, value, axis, abs(step), places[axis])
        if step < 0:
            value = writer.op("reverse", value, axis=integer(axis))
    return value


def _thinned(
    writer: TosaWriter, value: SSAValue, axis: int, step: int, place: int
) -> SSAValue:
    """The element at a place of each group of `step`."""
    sizes = list(shape_of(value))
    count = -(-sizes[axis] // step)
    high = [0] * len(sizes)
    high[axis] = count * step - sizes[axis]
    full = writer.pad(value, [0] * len(sizes), high, 0)
    groups = [*sizes[:axis], count, step, *sizes[axis + 1 :]]
    apart, starts = writer.reshape(full, groups), [0] * len(groups)
    groups[axis + 1], starts[axis + 1] = 1, place
    one = writer.slice(apart, starts, groups)
    return writer.reshape(one, [*sizes[:axis], count, *sizes[axis + 1 :]])


def _pad(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return padded(writer, op, inputs[0], op.attributes_view().float("value"))


def padded(writer: TosaWriter, op: NodeOp, value: SSAValue, number: float) -> SSAValue:
    """A value with a border of a number, or cropped."""
    view = op.attributes_view()
    pads, rank = view.ints("pads"), len(shape_of(value))
    low, high = pads[:rank], pads[rank:]
    starts = [max(-one, 0) for one in low]
    sizes = [
        size - start + min(end, 0)
        for size, start, end in zip(shape_of(value), starts, high, strict=True)
    ]
    value = writer.slice(value, starts, sizes)
    low, high = ([max(one, 0) for one in ends] for ends in (low, high))
    return writer.pad(value, low, high, number)


def _gather(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Rows of one table [1, K, C] at [1, W]."""
    value, indices = inputs
    shape, result = shape_of(value), shape_of(op.results[0])
    axis = op.attributes_view().int("axis") % len(shape)
    rest = [size for at, size in enumerate(shape) if at != axis]
    if 0 in result or not rest:
        rest = rest or [1]
    order = [axis, *(at for at in range(len(shape)) if at != axis)]
    table = writer.reshape(writer.transpose(value, order), [1, shape[axis], prod(rest)])
    count = prod(shape_of(indices))
    flat = writer.cast(writer.reshape(indices, [1, count]), i32)
    zero, extent = writer.one(0, i32, 2), writer.one(shape[axis], i32, 2)
    is_negative = writer.binary("greater", zero, flat, element=i1)
    moved = writer.binary("add", flat, extent)
    places = writer.op("select", is_negative, moved, flat, to=type_like(flat))
    to = tensor_type([1, count, prod(rest)], element_of(value))
    rows = writer.op("gather", table, places, to=to)
    inner = list(shape_of(indices))
    spread = writer.reshape(rows, [*inner, *rest] if len(shape) > 1 else inner)
    back = list(range(len(inner), len(inner) + axis))
    order = [*back, *range(len(inner)), *range(len(inner) + axis, len(result))]
    return writer.transpose(spread, order)


def _reduction(name: str) -> TosaHandler:
    def write(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        rank = len(shape_of(inputs[0]))
        axes = [axis % rank for axis in op.attributes_view().ints("axes")]
        reduced = writer.reduce(name, inputs[0], axes)
        return writer.reshape(reduced, shape_of(op.results[0]))

    return write


def _arg_max(writer: TosaWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    (value,), view = inputs, op.attributes_view()
    if view.has("select_last"):
        raise CannotExport("that takes the last of equal ones")
    shape = list(shape_of(value))
    axis = view.int("axis") % len(shape)
    to = tensor_type([*shape[:axis], *shape[axis + 1 :]], i32)
    found = writer.op("argmax", value, to=to, axis=integer(axis))
    return writer.cast(
        writer.reshape(found, shape_of(op.results[0])), element_of(op.results[0])
    )


HANDLERS: Mapping[type[Operation], Handler[TosaWriter]] = {
    glow.ReshapeOp: _reshape,
    glow.BroadcastOp: _broadcast,
    glow.TileOp: _tile,
    glow.TransposeOp: _transpose,
    glow.ConcatOp: _concat,
    glow.SliceOp: _slice,
    glow.PadOp: _pad,
    glow.GatherOp: _gather,
    glow.ReduceSumOp: _reduction("sum"),
    glow.ReduceProdOp: _reduction("product"),
    glow.ReduceMaxOp: _reduction("max"),
    glow.ReduceMinOp: _reduction("min"),
    glow.ArgMaxOp: _arg_max,
}
