"""Convolutions and pools as named operations on padded tensors, matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import numpy_to_dense
from glow.exporters.failures import CannotExport
from glow.exporters.linalg.elementwise import result_type
from glow.exporters.linalg.linalg_writer import LinalgWriter, affine_map
from glow.exporters.programs.reductions import neutral, reach_of
from glow.exporters.programs.writer import Handler
from glow.interpreter.convolution import fold_windows
from glow.passes.rewriting.scalar_builder import ScalarBuilder


def numbers(values: Sequence[int]) -> DenseIntOrFPElementsAttr:
    """`dense<[1, 1]> : tensor<2xi64>`."""
    return numpy_to_dense(np.array(values, np.int64))


def multiply_add(f: ScalarBuilder, x: Sequence[SSAValue]) -> list[SSAValue]:
    """x * y + z."""
    return [f.add(f.mul(x[0], x[1]), x[2])]


def window(op: NodeOp) -> dict[str, Attribute]:
    """Strides and dilations, which come in this order."""
    view = op.attributes_view()
    return {
        "dilations": numbers(view.ints("dilations")),
        "strides": numbers(view.ints("strides")),
    }


def with_bias(
    writer: LinalgWriter, value: SSAValue, inputs: Sequence[SSAValue]
) -> SSAValue:
    """A convolution's result plus the bias of each channel, if there is one."""
    if len(inputs) < 3:
        return value
    rank = len(shape_of(value))
    same = affine_map(rank, list(range(rank)))
    start = writer.empty(tensor_type(shape_of(value), element_of(value)))
    return writer.generic(
        [value, inputs[2]],
        [start],
        [same, affine_map(rank, [1]), same],
        (),
        lambda f, x: [f.add(x[0], x[1])],
    )[0]


def convolution(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """On a padded input; groups are an axis of their own, channels by themselves too."""
    view, (value, weights, *_) = op.attributes_view(), inputs
    pads, axes, group = view.ints("pads"), len(shape_of(value)) - 2, view.int("group")
    padded = writer.pad(value, [0, 0, *pads[:axes]], [0, 0, *pads[axes:]])
    to = result_type(op)
    if element_of(value) != to.element_type:
        raise CannotExport("of integers into wider ones")
    if group == 1:
        name = "conv_2d_nchw_fchw" if axes == 2 else "conv_3d_ncdhw_fcdhw"
        made = writer.named(
            f"linalg.{name}",
            [padded, weights],
            writer.filled(0, to),
            window(op),
            multiply_add,
        )
        return with_bias(writer, made, inputs)
    made = _grouped(writer, op, padded, weights, group)
    return with_bias(writer, made, inputs)


def _grouped(
    writer: LinalgWriter, op: NodeOp, padded: SSAValue, weights: SSAValue, group: int
) -> SSAValue:
    batch, channels, *plane = shape_of(padded)
    outputs, per_group, *kernel = shape_of(weights)
    to = result_type(op)
    if group == channels == outputs:
        flat = writer.reshape(weights, [channels, *kernel])
        return writer.named(
            "linalg.depthwise_conv_2d_nchw_chw",
            [padded, flat],
            writer.filled(0, to),
            window(op),
            multiply_add,
        )
    result = tensor_type(
        [batch, group, outputs // group, *to.get_shape()[2:]], to.element_type
    )
    made = writer.named(
        "linalg.conv_2d_ngchw_gfchw",
        [
            writer.reshape(padded, [batch, group, channels // group, *plane]),
            writer.reshape(weights, [group, outputs // group, per_group, *kernel]),
        ],
        writer.filled(0, result),
        window(op),
        multiply_add,
    )
    return writer.reshape(made, to.get_shape())


def _pool(writer: LinalgWriter, op: NodeOp, value: SSAValue, name: str) -> SSAValue:
    """Windows over a plane that is padded or cropped to what they reach."""
    view, to, shape = op.attributes_view(), result_type(op), shape_of(value)
    start = neutral({"sum": "add", "max": "maximum"}[name], to.element_type)
    before, ends = view.ints("pads")[:2], reach_of(op)
    crop = [min(end, 0) for end in ends]
    if any(crop):
        kept = [*shape[:2], shape[2] + crop[0], shape[3] + crop[1]]
        value = writer.extract_slice(value, [0] * 4, kept)
    high = [max(end, 0) for end in ends]
    padded = writer.pad(value, [0, 0, *before], [0, 0, *high], start)
    kernel = writer.empty(tensor_type(view.ints("kernel"), to.element_type))
    combine = ScalarBuilder.maximum if name == "max" else ScalarBuilder.add
    return writer.named(
        f"linalg.pooling_nchw_{name}",
        [padded, kernel],
        writer.filled(start, to),
        window(op),
        lambda f, x: [combine(f, x[2], x[0])],
    )


def max_pool(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """The largest of each window."""
    return _pool(writer, op, inputs[0], "max")


def average_pool(
    writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]
) -> SSAValue:
    """Sums over how many elements each has."""
    view, to = op.attributes_view(), result_type(op)
    total = _pool(writer, op, inputs[0], "sum")
    border = float(view.has("count_include_pad")), 0.0
    ones = np.ones((1, 1, *shape_of(inputs[0])[2:]))
    counts = np.maximum(fold_windows(ones, view, border, np.add), 1)
    if (counts == counts.flat[0]).all():
        counts = np.broadcast_to(counts.flat[0], (1, 1, 1, 1))
    divisor = writer.array(counts.astype(dtype_of(to.element_type)), "counts")
    return writer.map([total, divisor], to, lambda f, x: [f.div(x[0], x[1])])


def matmul(writer: LinalgWriter, op: NodeOp, inputs: Sequence[SSAValue]) -> SSAValue:
    """Plain products have names; others are contractions, whose maps broadcast and turn."""
    view, to = op.attributes_view(), result_type(op)
    turned = view.has("transpose_lhs"), view.has("transpose_rhs")
    ranks = {len(shape_of(value)) for value in inputs}
    same_batch = len({shape_of(value)[:-2] for value in inputs}) == 1
    start = writer.filled(0, to)
    rank = len(to.get_shape())
    batch, row, column, inner = range(rank - 2), rank - 2, rank - 1, rank
    maps = [
        batch_map(op, number, (inner, row, column), turned[number])
        for number in range(2)
    ]
    maps.append(affine_map(rank + 1, [*batch, row, column]))
    if ranks in ({2}, {3}) and same_batch and not any(turned):
        name = "linalg.matmul" if ranks == {2} else "linalg.batch_matmul"
        properties = writer.maps(maps)
        return writer.named(name, inputs, start, properties, multiply_add)
    return writer.generic(inputs, [start], maps, [inner], multiply_add)[0]


def batch_map(op: NodeOp, number: int, axes: tuple[int, int, int], turned: bool):
    """Which element of an operand a product reads."""
    inner, row, column = axes
    shape, result = shape_of(op.operands[number]), shape_of(op.results[0])
    first = len(result) - len(shape)
    batch = [
        None if shape[axis] == 1 != result[first + axis] else first + axis
        for axis in range(len(shape) - 2)
    ]
    ends = [row, inner] if number == 0 else [inner, column]
    return affine_map(len(result) + 1, [*batch, *(ends[::-1] if turned else ends)])


HANDLERS: Mapping[type[Operation], Handler[LinalgWriter]] = {
    glow.Conv2dOp: convolution,
    glow.Conv3dOp: convolution,
    glow.MaxPool2dOp: max_pool,
    glow.AvgPool2dOp: average_pool,
    glow.MatmulOp: matmul,
}
