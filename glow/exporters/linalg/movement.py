"""Nodes that move elements, and those that read them at computed places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import arith, glow
from glow.dialects.attributes import ints_attr
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.exporters.linalg.elementwise import result_type
from glow.exporters.linalg.linalg_writer import LinalgWriter, affine_map
from glow.exporters.programs.operations import operation
from glow.exporters.programs.writer import Handler
from glow.exporters.stablehlo.hlo_writer import integer
from glow.passes.rewriting.scalar_builder import ScalarBuilder

Place: TypeAlias = "Callable[[ScalarBuilder, Sequence[SSAValue]], list[SSAValue]]"
"""Where an element of the result is read, from its own place."""


def _reshape(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return writer.reshape(inputs[0], shape_of(op.results[0]))


def _broadcast(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    return writer.map(inputs, result_type(op), lambda f, x: [x[0]])


def _transpose(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    order = op.attributes_view().ints("permutation")
    start = writer.empty(result_type(op))
    element = element_of(start)
    body = writer.body([element, element], lambda f, x: [x[0]])
    properties = {"permutation": ints_attr(*order)}
    return writer.emit(
        "linalg.transpose", [inputs[0], start], [start.type], properties, [body]
    )


def _concat(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    to = result_type(op)
    axis = op.attributes_view().int("axis") % len(to.get_shape())
    joined, place = writer.empty(to), 0
    for value in inputs:
        starts = [0] * len(to.get_shape())
        starts[axis] = place
        place += shape_of(value)[axis]
        if 0 not in shape_of(value):
            joined = writer.insert_slice(value, joined, starts, shape_of(value))
    return joined


def _slice(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Steps backwards read the input at places that are computed."""
    view = op.attributes_view()
    starts, sizes, steps = (view.ints(n) for n in ("starts", "sizes", "steps"))
    if min(steps, default=1) > 0:
        return writer.extract_slice(inputs[0], starts, sizes, steps)

    def place(f: ScalarBuilder, axes: Sequence[SSAValue]) -> list[SSAValue]:
        return [
            f.append(
                arith.AddiOp(
                    writer.index_in(f, start),
                    f.append(arith.MuliOp(axis, writer.index_in(f, step))),
                )
            )
            for axis, start, step in zip(axes, starts, steps, strict=True)
        ]

    return read_at(writer, inputs[0], result_type(op), place)


def read_at(
    writer: LinalgWriter, value: SSAValue, to: TensorType[Attribute], place: Place
) -> SSAValue:
    """Elements of a value at places that depend on those of the result."""
    rank = len(to.get_shape())

    def body(f: ScalarBuilder, x: Sequence[SSAValue]) -> Sequence[SSAValue]:
        axes = [
            f.append(
                operation("linalg.index", [], [IndexType()], {"dim": integer(axis)})
            )
            for axis in range(rank)
        ]
        places = place(f, axes)
        return [
            f.append(operation("tensor.extract", [value, *places], [to.element_type]))
        ]

    same = affine_map(rank, list(range(rank)))
    return writer.generic([], [writer.empty(to)], [same], (), body)[0]


def _pad(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Negative pads crop, before others are added."""
    view, (value,) = op.attributes_view(), inputs
    pads, rank = view.ints("pads"), len(shape_of(value))
    low, high = pads[:rank], pads[rank:]
    if min(pads, default=0) < 0:
        starts = [max(-one, 0) for one in low]
        sizes = [
            size - start + min(end, 0)
            for size, start, end in zip(shape_of(value), starts, high, strict=True)
        ]
        value = writer.extract_slice(value, starts, sizes)
    low, high = ([max(one, 0) for one in ends] for ends in (low, high))
    return writer.pad(value, low, high, view.float("value"))


def chosen(
    f: ScalarBuilder, indices: SSAValue, at: Sequence[SSAValue], extent: int
) -> SSAValue:
    """The place that an index says, counted from the end where it is negative."""
    raw = f.append(operation("tensor.extract", [indices, *at], [element_of(indices)]))
    moved = f.add(raw, f.number(extent, raw))
    inside = f.select(f.compare("lt", raw, f.number(0, raw)), moved, raw)
    return f.append(operation("arith.index_cast", [inside], [IndexType()]))


def _gather(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    value, indices = inputs
    shape, count = shape_of(value), len(shape_of(indices))
    axis = op.attributes_view().int("axis") % len(shape)

    def place(f: ScalarBuilder, axes: Sequence[SSAValue]) -> list[SSAValue]:
        found = chosen(f, indices, axes[axis : axis + count], shape[axis])
        return [*axes[:axis], found, *axes[axis + count :]]

    return read_at(writer, value, result_type(op), place)


def _gather_elements(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    value, indices = inputs
    axis = op.attributes_view().int("axis") % len(shape_of(value))

    def place(f: ScalarBuilder, axes: Sequence[SSAValue]) -> list[SSAValue]:
        found = chosen(f, indices, axes, shape_of(value)[axis])
        return [*axes[:axis], found, *axes[axis + 1 :]]

    return read_at(writer, value, result_type(op), place)


def _gather_nd(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    value, indices = inputs
    batch, extents = op.attributes_view().int("batch_dims"), shape_of(value)
    *outer, count = shape_of(indices)

    def place(f: ScalarBuilder, axes: Sequence[SSAValue]) -> list[SSAValue]:
        own = axes[: len(outer)]
        found = [
            chosen(
                f, indices, [*own, writer.index_in(f, number)], extents[batch + number]
            )
            for number in range(count)
        ]
        return [*axes[:batch], *found, *axes[len(outer) :]]

    return read_at(writer, value, result_type(op), place)


def _dynamic_slice(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    value, index = inputs
    shape = shape_of(value)
    starts = [index, *[0] * (len(shape) - 1)]
    return writer.extract_slice(value, starts, [1, *shape[1:]], shape=shape[1:])


def _dynamic_update(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    value, update, index = inputs
    shape = shape_of(value)
    starts = [index, *[0] * (len(shape) - 1)]
    return writer.insert_slice(update, value, starts, [1, *shape[1:]])


HANDLERS: Mapping[type[Operation], Handler[LinalgWriter]] = {
    glow.ReshapeOp: _reshape,
    glow.BroadcastOp: _broadcast,
    glow.TransposeOp: _transpose,
    glow.ConcatOp: _concat,
    glow.SliceOp: _slice,
    glow.PadOp: _pad,
    glow.GatherOp: _gather,
    glow.GatherElementsOp: _gather_elements,
    glow.GatherNDOp: _gather_nd,
    glow.DynamicSliceOp: _dynamic_slice,
    glow.DynamicUpdateOp: _dynamic_update,
}
