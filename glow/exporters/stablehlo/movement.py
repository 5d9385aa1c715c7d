"""Nodes that move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import ints_attr
from glow.dialects.node import NodeOp, shape_of
from glow.exporters.programs.writer import Handler, type_like
from glow.exporters.stablehlo.hlo_writer import HloWriter


def _reshape(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.reshape(inputs[0], shape_of(op.results[0]))


def _broadcast(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.broadcast(inputs[0], shape_of(op.results[0]))


def _tile(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """[a, b] repeated m and n times is [m, a, n, b] of a broadcast, joined."""
    own, repeats = shape_of(inputs[0]), op.attributes_view().ints("repeats")
    apart = [one for pair in zip(repeats, own, strict=True) for one in pair]
    axes = range(1, len(apart), 2)
    spread = writer.broadcast(inputs[0], apart, axes)
    return writer.reshape(spread, shape_of(op.results[0]))


def _transpose(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.transpose(inputs[0], op.attributes_view().ints("permutation"))


def _concat(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    axis = op.attributes_view().int("axis") % len(shape_of(inputs[0]))
    return writer.concatenate(inputs, axis)


def _slice(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Steps backwards are steps forward from the last element, in reverse."""
    view = op.attributes_view()
    starts, sizes, steps = (list(view.ints(n)) for n in ("starts", "sizes", "steps"))
    backwards = [axis for axis, step in enumerate(steps) if step < 0]
    for axis in backwards:
        starts[axis] += max(sizes[axis] - 1, 0) * steps[axis]
        steps[axis] = -steps[axis]
    value = writer.slice(inputs[0], starts, sizes, steps)
    if not backwards:
        return value
    return writer.op("reverse", value, dimensions=ints_attr(*backwards))


def _pad(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    view = op.attributes_view()
    pads, rank = view.ints("pads"), len(shape_of(inputs[0]))
    return writer.pad(inputs[0], pads[:rank], pads[rank:], view.float("value"))


def _dynamic_slice(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    value, index = inputs
    shape = shape_of(value)
    part = writer.op(
        "dynamic_slice",
        value,
        *writer.starts(index, len(shape)),
        to=type_like(value, [1, *shape[1:]]),
        slice_sizes=ints_attr(1, *shape[1:]),
    )
    return writer.reshape(part, shape[1:])


def _dynamic_update(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    value, update, index = inputs
    row = writer.reshape(update, [1, *shape_of(update)])
    starts = writer.starts(index, len(shape_of(value)))
    return writer.op("dynamic_update_slice", value, row, *starts)


HANDLERS: Mapping[type[Operation], Handler[HloWriter]] = {
    glow.ReshapeOp: _reshape,
    glow.BroadcastOp: _broadcast,
    glow.TileOp: _tile,
    glow.TransposeOp: _transpose,
    glow.ConcatOp: _concat,
    glow.SliceOp: _slice,
    glow.PadOp: _pad,
    glow.DynamicSliceOp: _dynamic_slice,
    glow.DynamicUpdateOp: _dynamic_update,
}
