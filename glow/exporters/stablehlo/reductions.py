"""Windows, reductions along axes, positions of the largest, sorting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IntegerType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import ints_attr
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.exporters.programs.operations import operation
from glow.exporters.programs.reductions import neutral, reach_of
from glow.exporters.programs.writer import Handler, result_type
from glow.exporters.stablehlo.elementwise import HloHandler
from glow.exporters.stablehlo.hlo_writer import HloWriter, integer
from glow.interpreter.convolution import fold_windows


def start_of(writer: HloWriter, name: str, value: SSAValue) -> SSAValue:
    """What a reduction of a value begins with."""
    return writer.scalar(neutral(name, element_of(value)), element_of(value))


# -- windows


def _pool(writer: HloWriter, op: NodeOp, value: SSAValue, name: str) -> SSAValue:
    """All windows combined; what `ceil_mode` reaches beyond the padding is padding too."""
    view, shape = op.attributes_view(), shape_of(value)
    kernel, strides = view.ints("kernel"), view.ints("strides")
    dilations, pads, ends = view.ints("dilations"), view.ints("pads"), reach_of(op)
    crop = [min(end, 0) for end in ends]
    if any(crop):  # Rows that no window reaches.
        shape = (*shape[:2], shape[2] + crop[0], shape[3] + crop[1])
        value = writer.slice(value, [0] * 4, shape)
    window = {
        "window_dimensions": [1, 1, *kernel],
        "window_strides": [1, 1, *strides],
        "window_dilations": [1, 1, *dilations],
    }
    padding = [(0, 0), (0, 0), *((pads[axis], max(ends[axis], 0)) for axis in (0, 1))]
    start = start_of(writer, name, value)
    if type(op) is type(op.operands[0].owner):
        # IREE fills memory once for two pools of one size, and has no stack for it then.
        start = writer.op("optimization_barrier", start)
    how = name, start
    return writer.reduce_window(value, how, result_type(op), window, padding)


def _max_pool(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    return _pool(writer, op, inputs[0], "maximum")


def _average_pool(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """Sums over how many elements each has."""
    view, shape = op.attributes_view(), shape_of(inputs[0])
    total = _pool(writer, op, inputs[0], "add")
    border = float(view.has("count_include_pad")), 0.0
    ones = np.ones((1, 1, *shape[2:]))
    counts = np.maximum(fold_windows(ones, view, border, np.add), 1)
    if (counts == counts.flat[0]).all():
        return writer.op("divide", total, writer.number(counts.flat[0], total))
    plane = counts.astype(dtype_of(element_of(total))).reshape(counts.shape[2:])
    divisor = writer.broadcast(writer.array(plane, "counts"), shape_of(total), [2, 3])
    return writer.op("divide", total, divisor)


def _local_response_norm(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """Sums of the squares of neighbouring channels are windows along axis 1."""
    (value,), view = inputs, op.attributes_view()
    size = view.int("size")
    before = (size - 1) // 2
    squares = writer.op("multiply", value, value)
    rank = len(shape_of(value))
    window = {"window_dimensions": [1, size, *[1] * (rank - 2)]}
    padding = [(0, 0), (before, size - 1 - before), *[(0, 0)] * (rank - 2)]
    sums = writer.reduce_window(
        squares,
        ("add", start_of(writer, "add", value)),
        result_type(op),
        window,
        padding,
    )
    scale = writer.number(view.float("alpha") / size, value)
    offset = writer.number(view.float("offset"), value)
    base = writer.op("add", writer.op("multiply", sums, scale), offset)
    power = writer.op("power", base, writer.number(view.float("beta"), value))
    return writer.op("divide", value, power)


def _cumulative(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Windows as long as the axis; without the element itself, of what is moved by one."""
    (value,), view = inputs, op.attributes_view()
    shape = shape_of(value)
    axis, backwards = view.int("axis") % len(shape), view.has("reverse")
    name = {"sum": "add", "prod": "multiply"}[view.string("kind")]
    if 0 in shape:
        return value
    if view.has("exclusive"):
        low, high = [0] * len(shape), [0] * len(shape)
        low[axis], high[axis] = (-1, 1) if backwards else (1, -1)
        value = writer.pad(value, low, high, neutral(name, element_of(value)))
    sizes, padding = [1] * len(shape), [(0, 0)] * len(shape)
    sizes[axis], more = shape[axis], shape[axis] - 1
    padding[axis] = (0, more) if backwards else (more, 0)
    window = {"window_dimensions": sizes}
    how = name, start_of(writer, name, value)
    return writer.reduce_window(value, how, result_type(op), window, padding)


# -- along axes


def _reduction(name: str) -> HloHandler:
    def write(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        (value,) = inputs
        axes = [
            axis % len(shape_of(value)) for axis in op.attributes_view().ints("axes")
        ]
        how = name, neutral(name, element_of(value))
        reduced = writer.reduce(value, how, sorted(axes))
        return writer.reshape(reduced, shape_of(op.results[0]))

    return write


def _position(direction: str) -> HloHandler:
    """The place of the largest or smallest: a reduction of pairs of values and places."""

    def write(writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
        (value,), view = inputs, op.attributes_view()
        shape, element = shape_of(value), element_of(value)
        axis, index = view.int("axis") % len(shape), element_of(op.results[0])
        name = "maximum" if direction == "GT" else "minimum"
        start = writer.scalar(neutral(name, element), element)
        places = writer.iota(shape, axis, index)
        kept = [size for at, size in enumerate(shape) if at != axis]
        types = [tensor_type(kept, element), tensor_type(kept, index)]
        is_last = view.has("select_last")
        body = _chooses(writer, direction, (element, index), last=is_last)
        operands = [value, places, start, writer.scalar(0, index)]
        properties = {"dimensions": ints_attr(axis)}
        made = operation("stablehlo.reduce", operands, types, properties, [body])
        return writer.reshape(writer.append(made).results[1], shape_of(op.results[0]))

    return write


def _chooses(
    writer: HloWriter,
    direction: str,
    elements: tuple[Attribute, Attribute],
    *,
    last: bool,
) -> Region:
    """The better of two values with its place; NaN is better than all numbers.

    Of equal ones, and of two NaN, the places say which, as reductions have no order.
    """
    scalars = [tensor_type((), element) for element in elements]
    block = Block(arg_types=[*scalars, *scalars])
    with writer.inside(block):
        value, place, other, other_place = block.args
        sooner = writer.compare("GT" if last else "LT", place, other_place)
        is_tie = writer.compare("EQ", value, other)
        wins = writer.compare(direction, value, other)
        wins = writer.op("or", wins, writer.op("and", is_tie, sooner))
        if not isinstance(elements[0], IntegerType):
            is_nan, had_nan = (writer.compare("NE", x, x) for x in (value, other))
            wins = writer.select(
                had_nan,
                writer.op("and", is_nan, sooner),
                writer.op("or", wins, is_nan),
            )
        chosen = [
            writer.select(wins, *pair)
            for pair in ((value, other), (place, other_place))
        ]
        writer.append(operation("stablehlo.return", chosen))
    return Region(block)


def _top_k(
    writer: HloWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The first of the elements in order, which take their places along."""
    (value,), view = inputs, op.attributes_view()
    shape = shape_of(value)
    places = writer.iota(shape, len(shape) - 1, i64)
    body = _in_order(writer, element_of(value), smallest=view.has("smallest"))
    properties: dict[str, Attribute] = {
        "dimension": integer(len(shape) - 1),
        "is_stable": BoolAttr.from_bool(True),
    }
    types = [value.type, places.type]
    made = operation("stablehlo.sort", [value, places], types, properties, [body])
    starts, sizes = [0] * len(shape), [*shape[:-1], view.int("k")]
    results = writer.append(made).results
    return [writer.slice(result, starts, sizes) for result in results]


def _in_order(writer: HloWriter, element: Attribute, *, smallest: bool) -> Region:
    """Whether the first of two values comes before; NaN is above all numbers."""
    scalars = [tensor_type((), one) for one in (element, element, i64, i64)]
    block = Block(arg_types=scalars)
    with writer.inside(block):
        first, second = block.args[:2]
        if not isinstance(element, IntegerType):
            first, second = _canonical(writer, first), _canonical(writer, second)
        order = "LT" if smallest else "GT"
        before = writer.compare(order, first, second, "TOTALORDER")
        writer.append(operation("stablehlo.return", [before]))
    return Region(block)


def _canonical(writer: HloWriter, value: SSAValue) -> SSAValue:
    """A number as one of those that the total order has only once: 0 for -0, one NaN."""
    zero, nan = writer.number(0, value), writer.number(np.nan, value)
    is_zero = writer.compare("EQ", value, zero)
    value = writer.select(is_zero, zero, value)
    return writer.select(writer.compare("NE", value, value), nan, value)


HANDLERS: Mapping[type[Operation], Handler[HloWriter]] = {
    glow.MaxPool2dOp: _max_pool,
    glow.AvgPool2dOp: _average_pool,
    glow.LocalResponseNormOp: _local_response_norm,
    glow.CumulativeOp: _cumulative,
    glow.ReduceSumOp: _reduction("add"),
    glow.ReduceProdOp: _reduction("multiply"),
    glow.ReduceMaxOp: _reduction("maximum"),
    glow.ReduceMinOp: _reduction("minimum"),
    glow.ArgMaxOp: _position("GT"),
    glow.ArgMinOp: _position("LT"),
    glow.TopKOp: _top_k,
}
