"""Volumes between convolutions, which are planes in blocks.

Convolutions over volumes [N, C, D, H, W] are those of planes, of one of two forms:

| form    | the planes        | in blocks                       | whose windows slide            |
|---------|-------------------|---------------------------------|--------------------------------|
| images  | [N * D, C, H, W]  | [N * D, C / lanes, H, W, lanes] | over images; single pixels     |
| columns | [N, C, D, H * W]  | [N, C / lanes, D, H * W, lanes] | along the depth; single pixels |

What is between them goes on in the form that there is:

    %0 = cpu.unpack %conv channels 64 : tensor<8x64x14x14xf32>
    %1 = glow.reshape %0 : tensor<1x8x64x14x14xf32>
    %2 = glow.transpose %1 permutation [0, 2, 1, 3, 4] : tensor<1x64x8x14x14xf32>
    %3 = glow.relu %2 : tensor<1x64x8x14x14xf32>
  becomes
    %0 = cpu.unpack %conv channels 64 : tensor<8x64x14x14xf32>
    %1 = glow.relu %0 : tensor<8x64x14x14xf32>
    %2 = glow.reshape %1 : tensor<1x8x64x14x14xf32>
    %3 = glow.transpose %2 permutation [0, 2, 1, 3, 4] : tensor<1x64x8x14x14xf32>

and for a reader of the other form whole blocks of pixels are moved. A pool over the images of
columns moves none: to it, depths are channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.layout import VOLUME_AXES, blocked_source, remade
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.scalar_bodies import has_scalar_body
from glow.passes.rewriting.volume_convolution import DEPTH_FIRST

INSIDE = (2, 3, 4)
"""All axes that a window slides along."""


@dataclass(frozen=True)
class BlockedVolume:
    """A volume whose planes exist in blocks."""

    shape: tuple[int, ...]
    planes: SSAValue
    """The plain form of these: the result of a `cpu.unpack`."""
    is_columns: bool

    @property
    def blocks(self) -> SSAValue:
        """The planes in blocks."""
        source = blocked_source(self.planes)
        assert source is not None
        return source

    def as_images(self, builder: NodeBuilder) -> SSAValue:
        """The planes [N * D, C, H, W]."""
        if not self.is_columns:
            return self.planes
        batch, channels, depth, height, width = self.shape
        moved = builder.transpose(self.blocks, DEPTH_FIRST)
        _, _, blocks, _, lanes = shape_of(moved)
        images = builder.reshape(moved, (batch * depth, blocks, height, width, lanes))
        return builder.node(cpu.UnpackOp, images, channels=channels)

    def as_columns(self, builder: NodeBuilder) -> SSAValue:
        """The planes [N, C, D, H * W]."""
        if self.is_columns:
            return self.planes
        batch, channels, depth, height, width = self.shape
        _, blocks, *_, lanes = shape_of(self.blocks)
        split = (batch, depth, blocks, height * width, lanes)
        columns = builder.transpose(builder.reshape(self.blocks, split), DEPTH_FIRST)
        return builder.node(cpu.UnpackOp, columns, channels=channels)


def find_volume(value: SSAValue) -> BlockedVolume | None:
    """The planes in blocks that a volume was, if it was."""
    shape, owner = shape_of(value), value.owner
    if len(shape) != VOLUME_AXES:
        return None
    batch, channels, depth, height, width = shape
    planes, is_columns = (batch * depth, channels, height, width), False
    if isinstance(owner, glow.ReshapeOp):
        planes, is_columns = (batch, channels, depth, height * width), True
    elif isinstance(owner, glow.TransposeOp) and _turns_depth(owner):
        owner = owner.input.owner
    if not isinstance(owner, glow.ReshapeOp) or shape_of(owner.input) != planes:
        return None
    if blocked_source(owner.input) is None:
        return None
    return BlockedVolume(shape, owner.input, is_columns)


def _turns_depth(op: glow.TransposeOp) -> bool:
    """Whether it makes planes of a volume, or a volume of planes."""
    return op.attributes_view().ints("permutation") == DEPTH_FIRST


def volume_of(
    builder: NodeBuilder, planes: SSAValue, shape: tuple[int, ...], is_columns: bool
) -> SSAValue:
    """The volume of planes in one of the forms."""
    if is_columns:
        return builder.reshape(planes, shape)
    batch, channels, depth, *plane = shape
    images = builder.reshape(planes, (batch, depth, channels, *plane))
    return builder.transpose(images, DEPTH_FIRST)


def _volume_of_columns(op: glow.ReshapeOp) -> BlockedVolume | None:
    """The volume that a node reshapes to columns, or that one before it reshapes."""
    before = op.input.owner
    volume = find_volume(op.input)
    if volume is None and isinstance(before, glow.ReshapeOp):
        volume = find_volume(before.input)
    if volume is None:
        return None
    *front, height, width = volume.shape
    is_columns = shape_of(op.result) == (*front, height * width)
    return volume if is_columns else None


def _is_pointwise(op: Operation) -> bool:
    """Whether a node is a convolution whose windows are single pixels, all of them."""
    if not isinstance(op, glow.Conv2dOp) or shape_of(op.weights)[2:] != (1, 1):
        return False
    view = op.attributes_view()
    return view.ints("strides") == (1, 1) and not any(view.ints("pads"))


def convolution_on_images(op: glow.Conv2dOp) -> glow.Conv2dOp | None:
    """A convolution of single pixels of columns as one of images, if they are there."""
    owner = op.input.owner
    if not isinstance(owner, glow.ReshapeOp) or not _is_pointwise(op):
        return None
    volume = _volume_of_columns(owner)
    if volume is None or volume.is_columns:
        return None
    builder = NodeBuilder(op)
    batch, _, depth, *plane = volume.shape
    operands = [volume.planes, *op.operands[1:]]
    result = builder.create(glow.Conv2dOp, operands, attributes_of(op))
    shape = (batch, shape_of(op.result)[1], depth, *plane)
    columns = volume_of(builder, result, shape, is_columns=False)
    builder.replace(builder.reshape(columns, shape_of(op.result)))
    assert isinstance(result.owner, glow.Conv2dOp)
    return result.owner


def as_planes(op: NodeOp) -> NodeOp:
    """A node on volumes in blocks as one on their planes, if it can be; else itself."""
    if len(op.results) != 1:
        return op
    rule = _elementwise if has_scalar_body(op) else RULES.get(type(op))
    return (rule(op) if rule is not None else None) or op


def _turn(op: NodeOp) -> None:
    """Make images of a volume that is in blocks."""
    assert isinstance(op, glow.TransposeOp)
    volume = find_volume(op.input) if _turns_depth(op) else None
    if volume is not None:
        builder = NodeBuilder(op)
        images = volume.as_images(builder)
        builder.replace(builder.reshape(images, shape_of(op.result)))


def _reshape(op: NodeOp) -> None:
    """Make columns of a volume that is in blocks, unless all readers take images, too."""
    assert isinstance(op, glow.ReshapeOp)
    volume = _volume_of_columns(op)
    readers = [use.operation for use in op.result.uses]
    if volume is None or (
        not volume.is_columns and readers and all(map(_is_pointwise, readers))
    ):
        return
    builder = NodeBuilder(op)
    builder.replace(volume.as_columns(builder))


def _elementwise(op: NodeOp) -> NodeOp | None:
    """Element by element, where all volumes are in blocks and others repeated by channel."""
    shape = shape_of(op.results[0])
    volumes = [v for v in map(find_volume, op.operands) if v and v.shape == shape]
    if not volumes:
        return None
    is_columns = volumes[0].is_columns
    if not all(_has_planes(value, shape, is_columns) for value in op.operands):
        return None
    builder = NodeBuilder(op)
    operands = [_planes_of(builder, value, shape, is_columns) for value in op.operands]
    return _replaced(builder, op, operands, shape, is_columns)


def _has_planes(value: SSAValue, shape: tuple[int, ...], is_columns: bool) -> bool:
    """Whether an operand is a volume in blocks, or repeated along depth, height and width."""
    own = shape_of(value)
    if own == shape and prod(shape) > 1:
        return find_volume(value) is not None
    images, *_ = own = (1,) * (VOLUME_AXES - len(own)) + own
    is_repeated = len(own) == VOLUME_AXES and prod(own[2:]) == 1
    return is_repeated and (images == 1 or is_columns)


def _planes_of(
    builder: NodeBuilder, value: SSAValue, shape: tuple[int, ...], is_columns: bool
) -> SSAValue:
    """A volume, or what is repeated along its depth, height and width, as planes."""
    if shape_of(value) != shape:
        return _repeated(builder, value)
    volume = find_volume(value)
    if volume is not None:
        make = volume.as_columns if is_columns else volume.as_images
        return make(builder)
    batch, channels, depth, height, width = shape
    if is_columns:
        return builder.reshape(value, (batch, channels, depth, height * width))
    images = builder.transpose(value, DEPTH_FIRST)
    return builder.reshape(images, (batch * depth, channels, height, width))


def _repeated(builder: NodeBuilder, value: SSAValue) -> SSAValue:
    """What is repeated along depth, height and width as what is along those of planes."""
    shape = shape_of(value)
    if len(shape) < VOLUME_AXES and prod(shape) == 1:
        return value
    images, channels, *_ = (1,) * (VOLUME_AXES - len(shape)) + shape
    plane = (images, channels, 1, 1)
    array = constant_value(value)
    if array is None:
        return builder.reshape(value, plane)
    return builder.constant(array.reshape(plane), f"{name_of(value)}.plane")


def _replaced(
    builder: NodeBuilder,
    op: NodeOp,
    operands: list[SSAValue],
    shape: tuple[int, ...],
    is_columns: bool,
) -> NodeOp:
    """The node on planes, whose result has the place of that on volumes."""
    batch, channels, depth, height, width = shape
    images = (batch * depth, channels, height, width)
    planes = (batch, channels, depth, height * width) if is_columns else images
    made = remade(builder, op, operands, attributes_of(op), planes)
    builder.replace(volume_of(builder, made.results[0], shape, is_columns))
    return made


def _concat(op: NodeOp) -> NodeOp | None:
    """Volumes of which one is in blocks, joined along their channels."""
    shape = shape_of(op.results[0])
    volumes = list(filter(None, map(find_volume, op.operands)))
    if not volumes or op.attributes_view().int("axis") != 1:
        return None
    builder, is_columns = NodeBuilder(op), volumes[0].is_columns
    operands = [
        _planes_of(builder, value, shape_of(value), is_columns) for value in op.operands
    ]
    return _replaced(builder, op, operands, shape, is_columns)


def _pad(op: NodeOp) -> NodeOp | None:
    """Padding along the axes that planes have."""
    volume = find_volume(op.operands[0])
    if volume is None:
        return None
    pads = op.attributes_view().ints("pads")
    ends = pads[:VOLUME_AXES], pads[VOLUME_AXES:]
    if volume.is_columns:
        if any((*ends[0][3:], *ends[1][3:])):
            return None
        planes = [(*end[:3], 0) for end in ends]
    elif any(end[0] or (end[2] and volume.shape[0] > 1) for end in ends):
        return None
    else:
        planes = [(end[2], end[1], *end[3:]) for end in ends]
    builder, shape = NodeBuilder(op), shape_of(op.results[0])
    attributes = {**attributes_of(op), "pads": [*planes[0], *planes[1]]}
    padded = result = builder.create(type(op), [volume.planes], attributes)
    *_, lanes = shape_of(volume.blocks)
    if any(end[1] % lanes for end in planes):  # What follows goes on in blocks.
        packed = builder.node(cpu.PackOp, padded, lanes=lanes)
        result = builder.node(cpu.UnpackOp, packed, channels=shape[1])
    builder.replace(volume_of(builder, result, shape, volume.is_columns))
    assert isinstance(padded.owner, NodeOp)
    return padded.owner


def _looked_up(op: NodeOp) -> NodeOp | None:
    """What a table has for each element of a volume in blocks."""
    table, indices = op.operands
    volume = find_volume(indices)
    if volume is None or len(shape_of(table)) != 1:
        return None
    operands = [table, volume.planes]
    return _replaced(NodeBuilder(op), op, operands, volume.shape, volume.is_columns)


def _mean(op: NodeOp) -> NodeOp | None:
    """A mean over all depths and pixels of volumes."""
    volume = find_volume(op.operands[0])
    if volume is None or set(op.attributes_view().ints("axes")) != set(INSIDE):
        return None
    builder, shape = NodeBuilder(op), shape_of(op.results[0])
    kept = {**attributes_of(op), "axes": [2, 3], "keepdims": True}
    if not volume.is_columns and volume.shape[0] == 1:
        kept["axes"], planes = [0, 2, 3], volume.planes
    else:
        planes = volume.as_columns(builder)
    mean = builder.create(type(op), [planes], kept)
    builder.replace(builder.reshape(mean, shape))
    assert isinstance(mean.owner, NodeOp)
    return mean.owner


def _pool(op: NodeOp) -> None:
    """A pool over the images of volumes, whose depths are channels to it."""
    owner = op.operands[0].owner
    volume = find_volume(owner.input) if isinstance(owner, glow.ReshapeOp) else None
    if volume is None:
        return
    batch, channels, depth, *plane = volume.shape
    if shape_of(op.operands[0]) != (batch, channels * depth, *plane):
        return
    builder, source = NodeBuilder(op), volume.blocks
    *_, lanes = shape_of(source)
    blocks = cpu.blocks(channels, lanes)
    if volume.is_columns:
        source = builder.reshape(source, (batch, blocks * depth, *plane, lanes))
    result = builder.create(type(op), [source], attributes_of(op))
    _, _, height, width, _ = shape_of(result)
    if volume.is_columns:
        split = (batch, blocks, depth, height * width, lanes)
        result = builder.reshape(result, split)
    planes = builder.node(cpu.UnpackOp, result, channels=channels)
    shape = (batch, channels, depth, height, width)
    pooled = volume_of(builder, planes, shape, volume.is_columns)
    builder.replace(builder.reshape(pooled, shape_of(op.results[0])))


Rule: TypeAlias = Callable[[NodeOp], NodeOp | None]

RULES: dict[type[NodeOp], Rule] = {
    glow.TransposeOp: _turn,
    glow.ReshapeOp: _reshape,
    glow.ConcatOp: _concat,
    glow.PadOp: _pad,
    glow.GatherOp: _looked_up,
    glow.ReduceMeanOp: _mean,
    glow.MaxPool2dOp: _pool,
    glow.AvgPool2dOp: _pool,
}
