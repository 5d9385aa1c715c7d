"""Convolutions whose windows have a dilation, as ones whose windows have none.

A window with a dilation of d reads every d-th pixel. Of a row, these are columns of a plane that
is d wide: the same memory. Of a plane, they are planes of their own, its d x d phases, to which
pixels have to be moved, and from which results have to be moved back:

    %y = glow.conv2d %x, %w dilations [2, 2] pads [2, 2, 2, 2] : tensor<1x64x28x28xf32>
  becomes, in blocks,
    %0 = glow.reshape %x : tensor<1x4x14x2x14x2x16xf32>
    %1 = glow.transpose %0 permutation [0, 3, 5, 1, 2, 4, 6]
    %2 = glow.reshape %1 : tensor<4x4x14x14x16xf32>
    %3 = cpu.winograd_conv2d ... %2 ... pads [1, 1, 1, 1] : tensor<4x4x14x14x16xf32>
    %4 = glow.reshape %3 : tensor<1x2x2x4x14x14x16xf32>
    %5 = glow.transpose %4 permutation [0, 3, 4, 1, 5, 2, 6]
    %y = glow.reshape %5 : tensor<1x4x28x28x16xf32>

Padding makes phases of one size where d does not divide that of the plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.conv_shape import ConvShape, Pair
from glow.backends.cpu.layout.layout import remade
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
)

INTO_PHASES = (0, 3, 5, 1, 2, 4, 6)
"""[N, blocks, H, d, W, d, lanes] as [N, d, d, blocks, H, W, lanes]."""

OUT_OF_PHASES = (0, 3, 4, 1, 5, 2, 6)
"""The same, back."""


def without_dilation(shape: ConvShape) -> ConvShape:
    """A convolution of columns or of phases, where there is one; others as they are."""
    columns = as_columns(shape)
    return columns if columns.dilations == (1, 1) else _as_phases(columns)


def as_columns(shape: ConvShape) -> ConvShape:
    """A convolution of one row as one of columns, where they hold whole steps.

    Without a dilation, pixels are rows of a plane that is one wide: blocks of tiles, which
    threads share, are rows of them.

        plane (1, 512), kernel (1, 3), dilations (1, 16), pads (0, 32, 0, 0)
      becomes
        plane (32, 16), kernel (3, 1), dilations (1, 1), pads (2, 0, 0, 0)
    """
    (height, width), (down, across), step = (
        shape.plane,
        shape.kernel,
        shape.dilations[1],
    )
    top, left, bottom, right = shape.pads
    is_row = (height, down, top, bottom) == (1, 1, 0, 0) and shape.strides == (1, 1)
    if not is_row or across == 1 or any(size % step for size in (width, left, right)):
        return shape
    return replace(
        shape,
        plane=(width // step, step),
        kernel=(across, 1),
        dilations=(1, 1),
        pads=(left // step, 0, right // step, 0),
    )


def _as_phases(shape: ConvShape) -> ConvShape:
    """A convolution of the phases of a plane, if each of their outputs is of one phase of inputs.

    Pads are whole steps then. Phases of the outputs are as long as those of the longest, and what
    is behind the plane is padding for them.

        plane (28, 28), batch 1, dilations (2, 2), pads (2, 2, 2, 2)
      becomes
        plane (14, 14), batch 4, dilations (1, 1), pads (1, 1, 1, 1)
    """
    (top, left, *_), steps = shape.pads, shape.dilations
    if shape.strides != (1, 1) or top % steps[0] or left % steps[1]:
        return shape
    plane, outputs = (
        tuple(-(-size // step) for size, step in zip(sizes, steps, strict=True))
        for sizes in (shape.plane, shape.window.output)
    )
    before = (top // steps[0], left // steps[1])
    after = tuple(
        outputs[axis] + shape.kernel[axis] - 1 - plane[axis] - before[axis]
        for axis in (0, 1)
    )
    return replace(
        shape,
        batch=shape.batch * prod(steps),
        plane=(plane[0], plane[1]),
        dilations=(1, 1),
        pads=(*before, after[0], after[1]),
    )


def has_phases(shape: ConvShape) -> bool:
    """Whether a convolution is one of phases."""
    return without_dilation(shape).batch != shape.batch


def moved_vectors(shape: ConvShape, lanes: int) -> int:
    """The registers that are moved to phases and back, each as often as it is."""
    if not has_phases(shape):
        return 0
    dense = without_dilation(shape)
    inputs = cpu.blocks(shape.input_channels, lanes) * prod(dense.plane)
    outputs = cpu.blocks(shape.output_channels, lanes) * prod(dense.window.output)
    inputs *= 1 + (_whole(dense.plane, shape) != shape.plane)
    outputs *= 1 + (_whole(dense.window.output, shape) != shape.window.output)
    return dense.batch * (inputs + outputs)


def dense_image(
    builder: NodeBuilder, image: SSAValue, shape: ConvShape, padding: int = 0
) -> SSAValue:
    """An image in blocks as the convolution without a dilation reads it, with such padding."""
    dense = without_dilation(shape)
    if not has_phases(shape):
        return _with_plane(builder, image, dense.plane)
    batch, blocks, *plane, lanes = shape_of(image)
    whole = _whole(dense.plane, shape)
    after = [size - had for size, had in zip(whole, plane, strict=True)]
    if any(after):
        pads = [0] * 7 + [*after, 0]
        image = builder.node(glow.PadOp, image, pads=pads, value=float(padding))
    (down, across), (height, width) = shape.dilations, dense.plane
    split = (batch, blocks, height, down, width, across, lanes)
    moved = builder.transpose(builder.reshape(image, split), INTO_PHASES)
    return builder.reshape(moved, (dense.batch, blocks, height, width, lanes))


def dilated_result(
    builder: NodeBuilder, result: SSAValue, shape: ConvShape
) -> SSAValue:
    """The result in blocks of a convolution, of that of the one without a dilation."""
    plane = shape.window.output
    if not has_phases(shape):
        return _with_plane(builder, result, plane)
    _, blocks, height, width, lanes = shape_of(result)
    split = (shape.batch, *shape.dilations, blocks, height, width, lanes)
    moved = builder.transpose(builder.reshape(result, split), OUT_OF_PHASES)
    whole = _whole((height, width), shape)
    image = builder.reshape(moved, (shape.batch, blocks, *whole, lanes))
    if whole == plane:
        return image
    return builder.node(
        glow.SliceOp,
        image,
        starts=[0] * 5,
        sizes=[shape.batch, blocks, *plane, lanes],
        steps=[1] * 5,
    )


def elementwise_in_phases(
    builder: NodeBuilder,
    op: NodeOp,
    operands: Sequence[SSAValue],
    shape: Sequence[int],
) -> SSAValue | None:
    """The result, of a shape in blocks, of a node that alone reads what was moved out of phases.

    It is computed in phases, behind the convolution, and moved instead, where other operands are
    repeated over the plane and the result takes no more bytes than what was moved.
    """
    images = [value for value in operands if shape_of(value) == shape]
    others = [value for value in operands if shape_of(value) != shape]
    moved = _moved_out(images[0]) if len(images) == 1 else None
    if moved is None or not all(map(_is_repeated, others)):
        return None
    if _bytes_of(op.results[0]) > _bytes_of(images[0]):
        return None
    phases, split = moved
    taken = [phases if value is images[0] else value for value in operands]
    made = remade(builder, op, taken, attributes_of(op), shape_of(phases))
    result = builder.transpose(builder.reshape(made.results[0], split), OUT_OF_PHASES)
    return builder.reshape(result, shape)


def _moved_out(image: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """The phases that an image was and their axes apart, if nothing else reads the steps."""
    value, owners = image, list[Operation]()
    for kind in (glow.ReshapeOp, glow.TransposeOp, glow.ReshapeOp):
        if not isinstance(value.owner, kind) or not value.has_one_use():
            return None
        owners.append(value.owner)
        value = value.owner.inputs[0]
    turned = owners[1]
    assert isinstance(turned, glow.TransposeOp)
    if turned.attributes_view().ints("permutation") != OUT_OF_PHASES:
        return None
    return (value, shape_of(turned.input)) if value.has_one_use() else None


def _is_repeated(value: SSAValue) -> bool:
    shape = shape_of(value)
    return prod(shape) == prod(shape[1:2]) * prod(shape[4:])


def _bytes_of(value: SSAValue) -> int:
    return dtype_of(element_type(value)).itemsize


def _whole(phase: Pair, shape: ConvShape) -> Pair:
    """The plane of which there are such phases."""
    return phase[0] * shape.dilations[0], phase[1] * shape.dilations[1]


def _with_plane(builder: NodeBuilder, blocked: SSAValue, plane: Pair) -> SSAValue:
    """A tensor in blocks with its pixels as another plane."""
    batch, blocks, *now, lanes = shape_of(blocked)
    if tuple(now) == plane:
        return blocked
    return builder.reshape(blocked, (batch, blocks, *plane, lanes))
