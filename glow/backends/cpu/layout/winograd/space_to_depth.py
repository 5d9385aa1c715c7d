"""Strided convolutions as ones of stride one behind space-to-depth.

A layer of stride s reads s x s new pixels for each of its outputs. Taken as channels, they leave
a kernel of a quarter (a sixteenth) of the taps and stride one, for which there are ways
with few multiplications: 7 x 7 becomes 4 x 4, 11 x 11 of stride 4 becomes 3 x 3.

    %y = glow.conv2d %x, %w strides [2, 2] pads [3, 3, 3, 3] : tensor<1x64x112x112xf32>
  becomes
    %0 = glow.pad %x ... : tensor<1x3x230x230xf32>
    %1 = ... space-to-depth ... : tensor<1x12x115x115xf32>
    %y = glow.conv2d %1, %w.squares : tensor<1x64x112x112xf32>

A kernel of one tap, of floats or bytes, reads one pixel of each square. A slice of these is a plane
without gaps, whose pixels are one run, which tiles cover better than short rows:

    %y = glow.conv2d %x, %w strides [2, 2] : tensor<1x2048x7x7xf32>
  becomes
    %0 = glow.slice %x ... steps [1, 1, 2, 2] : tensor<1x1024x7x7xf32>
    %y = glow.conv2d %0, %w : tensor<1x2048x7x7xf32>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.conv_shape import ConvShape, Pair
from glow.backends.cpu.layout.convolution import conv_shape, is_blocked
from glow.backends.cpu.layout.layout import is_f32
from glow.backends.cpu.layout.packer import Packer
from glow.backends.cpu.layout.winograd.budget import ITEM_BYTES, WeightGrowth
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import Array, constant_value
from glow.lowering.lower_quantized.integer_products import int8_factors
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.operations import all_operations

StridedConvolution: TypeAlias = glow.Conv2dOp | glow.Conv2dIntegerOp


def space_to_depth(
    module: ModuleOp, packer: Packer, growth: WeightGrowth
) -> set[Operation]:
    """Convert the convolutions that are faster so, and whose new weights the budget bears.

    Returns the new ones in which some taps are zeros: squares that the kernel does not fill.
    """
    budget, squares = growth.budget(module), set[Operation]()
    for op in all_operations(module):
        if not isinstance(op, glow.Conv2dOp):
            continue
        new, shape = squares_of(op, packer), conv_shape(op)
        if new is None or not _is_profitable(op, new, packer, budget):
            continue
        if choice := packer.choose_winograd(new):
            budget -= ITEM_BYTES * choice.packed_weights
        converted = _convert(op, new, packer)
        if any(size % shape.strides[0] for size in shape.kernel):
            squares.add(converted)
    return squares


def slice_inputs(module: ModuleOp, packer: Packer) -> None:
    """Give strided convolutions of one tap a slice of their input, where that is faster."""
    for op in all_operations(module):
        if isinstance(op, StridedConvolution) and _is_slice_profitable(op, packer):
            _slice_input(op)


def _is_slice_profitable(op: StridedConvolution, packer: Packer) -> bool:
    """Whether tiles of one run are faster by more than the slice takes."""
    shape = conv_shape(op)
    is_single = shape.kernel == (1, 1) != shape.strides and not any(shape.pads)
    if not is_single or shape.input_channels < packer.lanes:
        return False
    if (cycles := _direct_cycles(op, packer)) is None:
        return False
    core, plane = packer.core, cast(Pair, shape_of(op.result)[2:])
    pixels = replace(shape, plane=plane, strides=(1, 1))
    moved = shape.batch * cpu.blocks(shape.input_channels, packer.lanes) * prod(plane)
    sliced = moved * core.pass_cycles + core.barrier_cycles
    return cycles(pixels) + sliced < cycles(shape)


def _direct_cycles(
    op: StridedConvolution, packer: Packer
) -> Callable[[ConvShape], float] | None:
    """The estimate for kernels of the convolution's elements on blocks; None without them."""
    shape = conv_shape(op)
    if isinstance(op, glow.Conv2dOp):
        is_float = is_f32(op.input, op.weights, op.bias)
        has_kernel = is_float and is_blocked(shape, packer.lanes)
        return packer.conv2d_cycles if has_kernel else None
    has_kernel = shape.group == 1 and int8_factors(op) is not None
    return packer.int8_conv2d_cycles if has_kernel else None


def _slice_input(op: StridedConvolution) -> None:
    builder, strides = NodeBuilder(op), op.attributes_view().ints("strides")
    pixels = builder.node(
        glow.SliceOp,
        op.input,
        starts=[0, 0, 0, 0],
        sizes=[*shape_of(op.input)[:2], *shape_of(op.result)[2:]],
        steps=[1, 1, *strides],
    )
    operands = [pixels, *op.operands[1:]]
    attributes = {**attributes_of(op), "strides": (1, 1)}
    builder.replace(builder.create(type(op), operands, attributes))


def squares_of(op: glow.Conv2dOp, packer: Packer) -> ConvShape | None:
    """The convolution of squares, if there is one."""
    shape, weights = conv_shape(op), constant_value(op.weights)
    stride = shape.strides[0]
    is_strided = shape.strides == (stride, stride) and stride > 1
    if not is_strided or shape.group != 1 or shape.dilations != (1, 1):
        return None
    if weights is None or not is_f32(op.input, op.weights, op.bias):
        return None
    if not is_blocked(shape, packer.lanes):
        return None
    return _of_squares(shape, cast(Pair, shape_of(op.result)[2:]))


def _of_squares(shape: ConvShape, output: Pair) -> ConvShape:
    """The shape behind space-to-depth."""
    stride = shape.strides[0]
    kernel = tuple(-(-size // stride) for size in shape.kernel)
    plane = tuple(out + taps - 1 for out, taps in zip(output, kernel, strict=True))
    return replace(
        shape,
        input_channels=shape.input_channels * stride**2,
        plane=cast(Pair, plane),
        kernel=cast(Pair, kernel),
        strides=(1, 1),
        pads=(0, 0, 0, 0),
    )


def _is_profitable(
    op: glow.Conv2dOp, new: ConvShape, packer: Packer, budget: float
) -> bool:
    """Whether few multiplications make up for moving the pixels, and the weights allow them."""
    shape, weights = conv_shape(op), constant_value(op.weights)
    choice = packer.choose_winograd(new)
    if choice is None or ITEM_BYTES * choice.packed_weights > budget:
        return False
    assert weights is not None
    of_squares = square_weights(weights, shape.strides[0])
    if packer.winograd_factors(of_squares, new, choice.tile) is None:
        return False
    height, width = (new.plane[axis] - new.kernel[axis] + 1 for axis in (0, 1))
    blocks = cpu.blocks(shape.output_channels, packer.lanes)
    taps = shape.input_channels * shape.kernel[0] * shape.kernel[1]
    core = packer.core
    direct = height * width * blocks * taps / core.fma_per_cycle
    channels = cpu.blocks(new.input_channels, packer.lanes) * packer.lanes
    moved = core.scalar_move_cycles * channels * new.plane[0] * new.plane[1]
    if choice.cycles + shape.batch * moved < shape.batch * direct:
        return True  # The choice of Winograd's algorithm is the one for tuning.
    return packer.choose_level("space_to_depth", shape, usual=False)


def _convert(op: glow.Conv2dOp, new: ConvShape, packer: Packer) -> Operation:
    """The convolution of squares, in the place of the strided one."""
    builder, weights = NodeBuilder(op), constant_value(op.weights)
    assert weights is not None
    stride = op.attributes_view().ints("strides")[0]
    squares = _squares(builder, op, new, packer)
    name = f"{name_of(op.weights)}.squares"
    operands = [squares, builder.constant(square_weights(weights, stride), name)]
    if op.bias is not None:
        operands.append(op.bias)
    attributes = {**attributes_of(op), "strides": (1, 1), "pads": (0, 0, 0, 0)}
    result = builder.create(glow.Conv2dOp, operands, attributes)
    builder.replace(result)
    assert isinstance(result.owner, Operation)
    return result.owner


def _squares(
    builder: NodeBuilder, op: glow.Conv2dOp, new: ConvShape, packer: Packer
) -> SSAValue:
    """[N, C, H, W] as [N, C * s * s, H / s, W / s], in blocks."""
    batch, channels, *plane = shape_of(op.input)
    attributes = op.attributes_view()
    stride, (top, left, *_) = attributes.ints("strides")[0], attributes.ints("pads")
    rows, columns = new.plane
    bottom = rows * stride - plane[0] - top
    right = columns * stride - plane[1] - left
    pads = [0, 0, top, left, 0, 0, bottom, right]
    image = builder.node(glow.PadOp, op.input, pads=pads) if any(pads) else op.input
    split = builder.reshape(image, (batch, channels, rows, stride, columns, stride))
    turned = builder.transpose(split, (0, 1, 3, 5, 2, 4))
    squares = builder.reshape(turned, (batch, new.input_channels, rows, columns))
    blocked = builder.node(cpu.PackOp, squares, lanes=packer.lanes)
    return builder.node(cpu.UnpackOp, blocked, channels=new.input_channels)


def square_weights(weights: Array, stride: int) -> Array:
    """[O, C, kh, kw] as [O, C * s * s, kh / s, kw / s], zeros where a square is cut."""
    outputs, channels, *kernel = weights.shape
    taps = [-(-size // stride) for size in kernel]
    rest = [count * stride - size for count, size in zip(taps, kernel, strict=True)]
    padded = np.pad(weights, [(0, 0), (0, 0), (0, rest[0]), (0, rest[1])])
    split = padded.reshape(outputs, channels, taps[0], stride, taps[1], stride)
    turned = split.transpose(0, 1, 3, 5, 2, 4)
    return np.ascontiguousarray(turned.reshape(outputs, -1, *taps))
