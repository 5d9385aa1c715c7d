"""Convolutions over volumes and transposed ones, as convolutions over planes.

A volume is a batch of planes: the taps along the depth become input channels of one
convolution over a plane.

    %1 = glow.conv3d %x, %w : tensor<1x8x4x6x6xf32>     // weights 8x3x3x3x3
  becomes
    %0 = ... the three planes that each output plane reads ... : tensor<4x9x8x8xf32>
    %1 = glow.conv2d %0, %v : tensor<4x8x6x6xf32>       // weights 8x9x3x3, transposed

A transposed convolution with stride s puts each output pixel into one of s phases an axis,
each an ordinary convolution with every s-th tap of the kernel. The phases become output
channels of one convolution, and their pixels are interleaved: no multiplication by zeros
that a stride would put between pixels. Over a volume it becomes `glow.conv3d` in the same way.

    %1 = glow.conv_transpose2d %x, %w strides [2, 2] : tensor<1x8x16x16xf32>
  becomes
    %0 = glow.conv2d %x, %v pads [1, 1, 1, 1] : tensor<1x32x9x9xf32>
    %1 = ... channels to pixels, borders cut off ... : tensor<1x8x16x16xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, like


def conv3d(op: Operation) -> None:
    """A convolution of planes whose channels are all taps along the depth."""
    assert isinstance(op, glow.Conv3dOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    batch, outputs, depth, *plane = shape_of(op.result)
    group, per_group = attributes.int("group"), shape_of(op.weights)[1]
    strides, pads = attributes.ints("strides"), attributes.ints("pads")
    taps = [
        _planes(builder, value, (batch * depth, group, per_group))
        for value in _depth_taps(builder, op, depth)
    ]
    joined = builder.node(glow.ConcatOp, *taps, axis=2)
    rows = shape_of(joined)[3:]
    image = builder.reshape(joined, (batch * depth, prod(shape_of(joined)[1:3]), *rows))
    result = builder.node(
        glow.Conv2dOp,
        image,
        _depth_in_channels(builder, op.weights),
        *([] if op.bias is None else [op.bias]),
        strides=strides[1:],
        pads=[pads[1], pads[2], pads[4], pads[5]],
        dilations=attributes.ints("dilations")[1:],
        group=group,
    )
    result = builder.reshape(result, (batch, depth, outputs, *plane))
    builder.replace(builder.transpose(result, (0, 2, 1, 3, 4)))


def _depth_taps(builder: NodeBuilder, op: glow.Conv3dOp, depth: int) -> list[SSAValue]:
    """For each tap along the depth the planes that it reads: [N, C, OD, H, W]."""
    attributes = op.attributes_view()
    stride, dilation = attributes.ints("strides")[0], attributes.ints("dilations")[0]
    front, back = attributes.ints("pads")[0], attributes.ints("pads")[3]
    padded = op.input
    if front or back:
        pads = [0, 0, front, 0, 0, 0, 0, back, 0, 0]
        padded = builder.node(glow.PadOp, padded, pads=pads)
    sizes = [*shape_of(padded)[:2], depth, *shape_of(padded)[3:]]
    return [
        builder.node(
            glow.SliceOp,
            padded,
            starts=[0, 0, tap * dilation, 0, 0],
            sizes=sizes,
            steps=[1, 1, stride, 1, 1],
        )
        for tap in range(shape_of(op.weights)[2])
    ]


def _planes(builder: NodeBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """[N, C, OD, H, W] as planes [N * OD, group, C / group, H, W]."""
    planes = builder.transpose(value, (0, 2, 1, 3, 4))
    return builder.reshape(planes, (*shape, *shape_of(planes)[3:]))


def _depth_in_channels(builder: NodeBuilder, weights: SSAValue) -> SSAValue:
    """[O, C, kd, kh, kw] as [O, kd * C, kh, kw]."""
    outputs, inputs, depth, *kernel = shape_of(weights)
    turned = builder.transpose(weights, (0, 2, 1, 3, 4))
    return builder.reshape(turned, (outputs, depth * inputs, *kernel))


def conv_transpose(op: Operation) -> None:
    """A convolution with an output channel for each phase, and its pixels in order."""
    assert isinstance(op, glow.ConvTransposeOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    strides, pads = attributes.ints("strides"), attributes.ints("pads")
    batch, outputs, *extents = shape_of(op.result)
    sizes, axes = shape_of(op.input)[2:], range(op.AXES)
    kernel = dilated(builder, op.weights, attributes.ints("dilations"))
    taps = [-(-k // s) for k, s in zip(shape_of(kernel)[2:], strides, strict=True)]
    # What the pads cut off from the beginning in whole lines is not computed.
    skipped = [min(pads[axis] // strides[axis], taps[axis] - 1) for axis in axes]
    rows = [-(-(pads[axis] + extents[axis]) // strides[axis]) for axis in axes]
    begins = [taps[axis] - 1 - skipped[axis] for axis in axes]
    ends = [max(0, rows[axis] - sizes[axis]) for axis in axes]
    phases = builder.node(
        glow.Conv2dOp if op.AXES == 2 else glow.Conv3dOp,
        op.input,
        phase_weights(builder, kernel, strides, taps, attributes.int("group")),
        *([] if op.bias is None else [_repeated(builder, op.bias, prod(strides))]),
        pads=begins + ends,
        group=attributes.int("group"),
    )
    result = _interleaved(builder, phases, (batch, outputs), strides)
    if shape_of(result)[2:] != tuple(extents):
        starts = [pads[axis] - skipped[axis] * strides[axis] for axis in axes]
        result = builder.node(
            glow.SliceOp,
            result,
            starts=[0, 0, *starts],
            sizes=[batch, outputs, *extents],
            steps=[1] * (2 + op.AXES),
        )
    builder.replace(result)


def _interleaved(
    builder: NodeBuilder,
    phases: SSAValue,
    outer: tuple[int, int],
    strides: Sequence[int],
) -> SSAValue:
    """[N, O * phases, sizes...] as [N, O, sizes * strides...]."""
    sizes, count = shape_of(phases)[2:], len(strides)
    pixels = builder.reshape(phases, (*outer, *strides, *sizes))
    pairs = [(2 + count + axis, 2 + axis) for axis in range(count)]
    pixels = builder.transpose(pixels, (0, 1, *chain.from_iterable(pairs)))
    extents = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    return builder.reshape(pixels, (*outer, *extents))


def dilated(
    builder: NodeBuilder, weights: SSAValue, dilations: Sequence[int]
) -> SSAValue:
    """A kernel with zeros between its taps."""
    for axis, dilation in enumerate(dilations, 2):
        shape = list(shape_of(weights))
        if dilation == 1 or shape[axis] == 1:
            continue
        spread = builder.reshape(weights, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        pads = [0] * (2 * len(shape_of(spread)))
        pads[len(shape_of(spread)) + axis + 1] = dilation - 1
        spread = builder.node(glow.PadOp, spread, pads=pads)
        shape[axis] *= dilation
        spread = builder.reshape(spread, shape)
        shape[axis] -= dilation - 1
        weights = builder.node(
            glow.SliceOp,
            spread,
            starts=[0] * len(shape),
            sizes=shape,
            steps=[1] * len(shape),
        )
    return weights


def phase_weights(
    builder: NodeBuilder,
    kernel: SSAValue,
    strides: Sequence[int],
    taps: Sequence[int],
    group: int,
) -> SSAValue:
    """[C, O, kernel...] as [groups * O * phases, C / groups, taps...].

    Tap t of phase p is tap `t * s + p` of the kernel, which meets the input t pixels
    before: the taps of a phase are in reverse order.
    """
    inputs, outputs, *sizes = shape_of(kernel)
    axes = range(len(sizes))
    ends = [t * s - k for t, s, k in zip(taps, strides, sizes, strict=True)]
    if any(ends):
        pads = [0] * (len(sizes) + 4) + ends
        kernel = builder.node(glow.PadOp, kernel, pads=pads)
    pairs = list(chain.from_iterable(zip(taps, strides, strict=True)))
    shape = (group, inputs // group, outputs, *pairs)
    split = builder.reshape(kernel, shape)
    if any(count > 1 for count in taps):
        split = builder.node(
            glow.SliceOp,
            split,
            starts=[0, 0, 0, *chain.from_iterable((count - 1, 0) for count in taps)],
            sizes=shape,
            steps=[1, 1, 1] + [-1, 1] * len(taps),
        )
    phases, places = ([3 + 2 * axis + k for axis in axes] for k in (1, 0))
    turned = builder.transpose(split, (0, 2, *phases, 1, *places))
    rows = group * outputs * prod(strides)
    return builder.reshape(turned, (rows, inputs // group, *taps))


def _repeated(builder: NodeBuilder, bias: SSAValue, count: int) -> SSAValue:
    """Each number of a bias for all phases of its channel."""
    (outputs,) = shape_of(bias)
    column = builder.reshape(bias, (outputs, 1))
    types = [like(bias, (outputs, count))]
    repeated = builder.create(glow.BroadcastOp, [column], {}, types=types)
    return builder.reshape(repeated, (outputs * count,))


LOWERINGS = {
    glow.Conv3dOp: conv3d,
    glow.ConvTranspose2dOp: conv_transpose,
    glow.ConvTranspose3dOp: conv_transpose,
}
