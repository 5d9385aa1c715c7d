"""Convolutions, products and pools; rows of pixels come with their channels last.

Integers less their zero points are multiplied in i32 (`glow.conv2d_integer`,
`glow.matmul_integer`); where a `rescale` reads the product, both become one product of
quantized elements (`rescale.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.quant import UniformQuantizedType
from glow.dialects.weight_table import dtype_of
from glow.frontends.tosa.quantized import as_quantized, as_stored, element
from glow.frontends.tosa.tosa_builder import Handlers, TosaBuilder
from glow.passes.quantization.integer.fold_storage_casts import behind


def channels_first(builder: TosaBuilder, value: SSAValue) -> SSAValue:
    """[N, ..., C] as [N, C, ...]."""
    rank = len(shape_of(value))
    return builder.transpose(value, [0, rank - 1, *range(1, rank - 1)])


def channels_last(builder: TosaBuilder, value: SSAValue) -> SSAValue:
    """[N, C, ...] as [N, ..., C]."""
    rank = len(shape_of(value))
    return builder.transpose(value, [0, *range(2, rank), 1])


def pads_of(builder: TosaBuilder) -> tuple[list[int], list[int]]:
    """The border before and behind each axis: TOSA has [top, bottom, left, right]."""
    pads = builder.op.integers("pad")
    return pads[0::2], pads[1::2]


def convolution(builder: TosaBuilder) -> SSAValue:
    """conv2d and conv3d: weights [O, ..., I]."""
    weights = channels_first(builder, builder.op.operands[1])
    return _convolve(builder, weights, 1)


def depthwise(builder: TosaBuilder) -> SSAValue:
    """Weights [H, W, C, M]: M output channels of each channel."""
    weights = builder.op.operands[1]
    height, width, channels, multiple = shape_of(weights)
    weights = builder.transpose(weights, [2, 3, 0, 1])
    weights = builder.reshape(weights, [channels * multiple, 1, height, width])
    return _convolve(builder, weights, channels)


def _convolve(builder: TosaBuilder, weights: SSAValue, group: int) -> SSAValue:
    op = builder.op
    value = channels_first(builder, op.operands[0])
    low, high = pads_of(builder)
    window = {
        "strides": op.integers("stride"),
        "pads": [*low, *high],
        "dilations": op.integers("dilation"),
        "group": group,
    }
    outs = shape_of(weights)[0]
    is_plane = len(low) == 2
    if dtype_of(element_of(value)).kind not in "biu":
        node = glow.Conv2dOp if is_plane else glow.Conv3dOp
        operands = [value, weights, *_bias(builder, outs)]
        return channels_last(builder, builder.create(node, operands, window))
    return channels_last(builder, _integer_sums(builder, value, weights, window))


def _integer_sums(
    builder: TosaBuilder,
    value: SSAValue,
    weights: SSAValue,
    window: Mapping[str, AttributeValue],
) -> SSAValue:
    """The convolution of bytes less their zero points, and the bias, in i32."""
    if len(shape_of(value)) != 4:
        raise GlowError("a convolution of integers in three dimensions")
    points = zero_points(builder, value, weights, 3)
    operands = [value, weights, *points]
    result = builder.create(glow.Conv2dIntegerOp, operands, window)
    outs = shape_of(weights)[0]
    for bias in _bias(builder, outs):
        per_channel = builder.reshape(bias, [outs, 1, 1])
        result = builder.node(glow.AddOp, result, per_channel)
    return result


def _bias(builder: TosaBuilder, outs: int) -> list[SSAValue]:
    """The bias of each channel; none where it is 0."""
    bias = builder.op.operands[2]
    array = builder.known(bias)
    if array is not None and not array.any():
        return []
    if shape_of(bias) != (outs,):
        wanted = tensor_type([outs], element_of(bias))
        bias = builder.create(glow.BroadcastOp, [bias], {}, types=[wanted])
    return [bias]


def zero_points(
    builder: TosaBuilder, value: SSAValue, weights: SSAValue, first: int
) -> list[SSAValue]:
    """The zero points of both operands of a product, from operand `first` on."""
    for one in (value, weights):
        if dtype_of(element_of(one)).itemsize != 1:
            raise GlowError(f"a product of {element_of(one)} elements is not supported")
    return [
        builder.number(builder.zero_point(first), value),
        builder.number(builder.zero_point(first + 1), weights),
    ]


def transposed(builder: TosaBuilder) -> SSAValue:
    """A transposed convolution: weights [O, H, W, I], a border that may be cropped."""
    op = builder.op
    value = channels_first(builder, op.operands[0])
    if dtype_of(element_of(value)).kind in "biu":
        raise GlowError("a transposed convolution of integers is not supported")
    weights = builder.transpose(op.operands[1], [3, 0, 1, 2])
    pads = op.integers("out_pad")
    crop = [-min(pad, 0) for pad in (*pads[0::2], *pads[1::2])]
    result = builder.node(
        glow.ConvTranspose2dOp,
        value,
        weights,
        strides=op.integers("stride"),
        pads=crop,
    )
    more = [max(pad, 0) for pad in pads]
    result = builder.pad(result, [0, 0, *more[0::2]], [0, 0, *more[1::2]])
    for bias in _bias(builder, shape_of(op.operands[1])[0]):
        per_channel = builder.reshape(bias, [shape_of(bias)[0], 1, 1])
        result = builder.node(glow.AddOp, result, per_channel)
    return channels_last(builder, result)


def matmul(builder: TosaBuilder) -> SSAValue:
    """[B, M, K] x [B, K, N]; a matrix where there is one batch."""
    lhs, rhs = builder.op.operands[:2]
    shape = builder.result.get_shape()
    if dtype_of(element_of(lhs)).kind not in "biu":
        # Sums of halves may be single: what is multiplied is widened before.
        lhs, rhs = (
            builder.convert(one, builder.result.element_type) for one in (lhs, rhs)
        )
        if shape[0] > 1:
            return builder.node(glow.MatmulOp, lhs, rhs)
        matrix = builder.reshape(rhs, shape_of(rhs)[1:])
        return builder.node(glow.MatmulOp, lhs, matrix)
    points = zero_points(builder, lhs, rhs, 2)
    return builder.node(glow.MatmulIntegerOp, lhs, rhs, *points)


def pool(builder: TosaBuilder) -> SSAValue:
    """The mean or the largest element of each window; the mean leaves the border out."""
    op = builder.op
    builder.propagate_nan()
    low, high = pads_of(builder)
    is_max = op.name == "tosa.max_pool2d"
    node = glow.MaxPool2dOp if is_max else glow.AvgPool2dOp
    value = channels_first(builder, op.operands[0])
    window = {
        "kernel": op.integers("kernel"),
        "strides": op.integers("stride"),
        "pads": [*low, *high],
    }
    if dtype_of(element_of(value)).kind not in "biu":
        return channels_last(builder, builder.node(node, value, **window))
    source, points = behind(op.operands[0]), [0, 0]
    if not is_max:
        points = [builder.zero_point(1), builder.zero_point(2)]
    kinds = [element(value, point) for point in points]
    if is_max and source is not None:
        kinds = [cast("UniformQuantizedType", element_of(source))] * 2
    value = as_quantized(builder, value, kinds[0])
    like = channels_first_shape(builder.result.get_shape())
    result = builder.create(node, [value], window, types=[tensor_type(like, kinds[1])])
    return channels_last(builder, as_stored(builder, result))


def channels_first_shape(shape: Sequence[int]) -> list[int]:
    """[N, H, W, C] as [N, C, H, W]."""
    return [shape[0], shape[-1], *shape[1:-1]]


def resize(builder: TosaBuilder) -> SSAValue:
    """Rows and columns between those of the input, by products with tables of weights.

    A point `y` of the result lies at `(y * d + offset) / n` of the input (TOSA 1.0, RESIZE).
    """
    op, (value, *_) = builder.op, builder.op.operands
    if dtype_of(element_of(value)).kind in "biu":
        raise GlowError("a resized tensor of integers is not supported")
    if len(op.operands) == 4:
        scale, offset = builder.sizes(op.operands[1]), builder.sizes(op.operands[2])
    else:
        scale, offset = op.integers("scale"), op.integers("offset")
    shape, result = shape_of(value), builder.result.get_shape()
    value = channels_first(builder, value)
    for at, axis in enumerate((1, 2)):
        places = np.arange(result[axis]) * scale[2 * at + 1] + offset[at]
        places = places / scale[2 * at]
        weights = _weights(places, shape[axis], builder.word("mode"))
        matrix = builder.put(weights.astype(dtype_of(element_of(value))), "resize")
        if axis == 1:
            value = builder.node(glow.MatmulOp, matrix, value)
        else:
            value = builder.node(glow.MatmulOp, value, matrix, transpose_rhs=True)
    return channels_last(builder, value)


def _weights(
    places: np.ndarray[tuple[int], np.dtype[np.float64]], size: int, mode: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """What each point of an axis weighs for each place: [places, size]."""
    points = np.arange(size)
    if mode != "BILINEAR":
        nearest = np.clip(np.floor(places + 0.5), 0, size - 1)
        return (points == nearest[:, None]).astype(np.float64)
    inside = np.clip(places, 0, size - 1)[:, None]
    return np.clip(1 - np.abs(points - inside), 0, 1)


HANDLERS: Handlers = {
    "avg_pool2d": pool,
    "conv2d": convolution,
    "conv3d": convolution,
    "depthwise_conv2d": depthwise,
    "matmul": matmul,
    "max_pool2d": pool,
    "resize": resize,
    "transpose_conv2d": transposed,
}
