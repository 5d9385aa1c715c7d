"""Nodes that work on blocked tensors as they are.

A rule returns the blocked result when an operand exists in blocks and the node's meaning
carries over, else None, and the node stays plain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.layout import Layout, blocked_source, has_volume, remade
from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import constant_value
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    name_of,
)
from glow.passes.rewriting.scalar_bodies import has_scalar_body

Rule = Callable[[Layout, NodeOp], SSAValue | None]


def elementwise(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Element by element, when an operand of the result's shape is in blocks.

    A single number is not kept in one.
    """
    if len(op.results) != 1 or len(shape_of(op.results[0])) != 4:
        return None
    shape = shape_of(op.results[0])
    if prod(shape) == 1 or not any(
        blocked_source(value) is not None and shape_of(value) == shape
        for value in op.inputs
    ):
        return None
    builder = NodeBuilder(op)
    operands = [layout.blocked_operand(builder, v, shape[1]) for v in op.inputs]
    blocked = (shape[0], cpu.blocks(shape[1], layout.lanes), *shape[2:], layout.lanes)
    pairs = zip(op.inputs, operands, strict=True)
    if any(_is_turned(new) and old.has_one_use() for old, new in pairs):
        # Loaded by networks with dilations, and by some with tokens.
        from glow.backends.cpu.layout.winograd.dense_windows import (
            elementwise_in_phases,
        )

        result = elementwise_in_phases(builder, op, operands, blocked)
        if result is not None:
            return result
    return remade(builder, op, operands, attributes_of(op), blocked).results[0]


def _is_turned(value: SSAValue) -> bool:
    """Whether a value is a reshaped transposition."""
    owner = value.owner
    return isinstance(owner, glow.ReshapeOp) and isinstance(
        owner.input.owner, glow.TransposeOp
    )


def pool(layout: Layout, op: NodeOp) -> SSAValue | None:
    """A pool over the plane: in the plain layout each number is computed by itself."""
    builder, source = NodeBuilder(op), blocked_source(op.operands[0])
    if source is None and _is_packed_for_pool(layout, op):
        source = layout.blocked(builder, op.operands[0])
    if source is None:
        return None
    return builder.create(type(op), [source], attributes_of(op))


def _is_packed_for_pool(layout: Layout, op: NodeOp) -> bool:
    """Whether it takes less time to pack an image of floats than to pool it as it is.

    Whole planes are rows; few channels leave most of their blocks empty.
    """
    image, result = op.operands[0], op.results[0]
    is_plane = prod(shape_of(result)[PLANE[0] :]) <= 1
    fills = layout.lanes > 1 and 2 * shape_of(image)[1] >= layout.lanes
    is_wanted = layout.packer.blocks_are_registers and element_type(image) == f32
    return is_wanted and fills and not is_plane


def reduction(layout: Layout, op: NodeOp) -> SSAValue | None:
    """A reduction over the plane, over images or both: channels stay apart; or over channels.

    Rows that are planes one high in blocks are reduced as these.
    """
    image, axes = _image_and_axes(op)
    source = blocked_source(image)
    if source is None or not axes:
        return None
    builder = NodeBuilder(op)
    kept = {**attributes_of(op), "keepdims": True}
    if axes == CHANNELS and shape_of(image)[1] % layout.lanes == 0:
        _over_channels(builder, op, source, kept)
        return None
    if not set(axes) <= {0, *PLANE}:
        return None
    blocked = source
    for part in _parts_of_reduction(source, axes):
        blocked = builder.create(type(op), [blocked], {**kept, "axes": part})
    if image is op.operands[0] and op.attributes_view().has("keepdims"):
        return blocked
    channels, shape = shape_of(image)[1], shape_of(op.results[0])
    plain = builder.node(cpu.UnpackOp, blocked, channels=channels)
    builder.replace(builder.reshape(plain, shape))
    return None


def _over_channels(
    builder: NodeBuilder,
    op: NodeOp,
    source: SSAValue,
    kept: Mapping[str, AttributeValue],
) -> None:
    """Replace a reduction over channels that fill their blocks: blocks first, then lanes."""
    value = source
    for axis in (1, len(shape_of(source)) - 1):
        value = builder.create(type(op), [value], {**kept, "axes": [axis]})
    builder.replace(builder.reshape(value, shape_of(op.results[0])))


def _parts_of_reduction(source: SSAValue, axes: Sequence[int]) -> list[list[int]]:
    """The axes that are reduced at a time: lines of large planes first, which threads share."""
    height, width = (shape_of(source)[axis] for axis in PLANE)
    is_large = height * width >= LARGE_PLANE and set(PLANE) <= set(axes)
    inner = [PLANE[1]] if is_large else list(axes)
    outer = [axis for axis in axes if axis not in inner]
    return [inner, outer] if outer else [inner]


def _image_and_axes(op: NodeOp) -> tuple[SSAValue, tuple[int, ...]]:
    """The image that is reduced, and along which axes."""
    value, axes = op.operands[0], op.attributes_view().ints("axes")
    if not isinstance(value.owner, glow.ReshapeOp) or not _is_blocked_plane(value):
        return value, axes
    return value.owner.input, tuple(axis + (axis >= PLANE[0]) for axis in axes)


def local_response_norm(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Its neighbours are in the same or the next block."""
    source = blocked_source(op.operands[0])
    if source is None:
        return None
    channels = shape_of(op.operands[0])[1]
    return NodeBuilder(op).create(
        cpu.LocalResponseNormOp, [source], {**attributes_of(op), "channels": channels}
    )


def concat(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Along channels when every piece but the last fills its blocks, or on the plane."""
    if len(shape_of(op.results[0])) != 4:
        return None
    axis = op.attributes_view().int("axis")
    if all(blocked_source(value) is None for value in op.inputs):
        return None
    if axis == 1 and any(shape_of(value)[1] % layout.lanes for value in op.inputs[:-1]):
        return None
    builder = NodeBuilder(op)
    pieces = [layout.blocked(builder, value) for value in op.inputs]
    return builder.node(glow.ConcatOp, *pieces, axis=axis)


def slice_(layout: Layout, op: NodeOp) -> SSAValue | None:
    """A slice whose channels begin and end at borders of blocks."""
    source, attributes = blocked_source(op.operands[0]), op.attributes_view()
    if source is None:
        return None
    starts, sizes = attributes.ints("starts"), attributes.ints("sizes")
    steps, lanes = attributes.ints("steps"), layout.lanes
    channels = shape_of(op.operands[0])[1]
    ends = starts[1] + sizes[1]
    if steps[1] != 1 or starts[1] % lanes or (ends % lanes and ends != channels):
        return None
    return NodeBuilder(op).node(
        glow.SliceOp,
        source,
        starts=_blocked_axes(starts, starts[1] // lanes, 0),
        sizes=_blocked_axes(sizes, cpu.blocks(sizes[1], lanes), lanes),
        steps=_blocked_axes(steps, 1, 1),
    )


def _blocked_axes(numbers: Sequence[int], block: int, lane: int) -> list[int]:
    """One number for each axis of a blocked tensor."""
    return [numbers[0], block, *numbers[2:], lane]


def pad(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Padding of the plane, or by whole blocks of channels."""
    source, pads = blocked_source(op.operands[0]), op.attributes_view().ints("pads")
    if source is None:
        return None
    lanes, channels = layout.lanes, shape_of(op.operands[0])[1]
    before, after = pads[1], pads[5]
    if before % lanes or after % lanes or (after and channels % lanes):
        return None
    blocked = [
        pads[0], before // lanes, *pads[2:4], 0,
        pads[4], after // lanes, *pads[6:], 0,
    ]  # fmt: skip
    return NodeBuilder(op).create(
        glow.PadOp, [source], {**attributes_of(op), "pads": blocked}
    )


def gather(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Lines of the plane, or what a table has for each value of an element.

    The table has an entry for each value, those in padding lanes too.
    """
    table, indices = op.inputs
    plane, axis = blocked_source(table), op.attributes_view().int("axis")
    if plane is not None and axis in PLANE and len(shape_of(indices)) == 1:
        return NodeBuilder(op).node(glow.GatherOp, plane, indices, axis=axis)
    source, extents = blocked_source(indices), shape_of(table)
    values = 1 << (8 * dtype_of(element_type(indices)).itemsize)
    if source is None or extents != (values,):
        return None
    return NodeBuilder(op).node(glow.GatherOp, table, source, axis=0)


def sample(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Sums of lines of the plane, with one table for all channels."""
    source, places, weights = op.inputs
    blocked = blocked_source(source)
    if blocked is None or op.attributes_view().int("axis") not in PLANE:
        return None
    if len(shape_of(places)) != len(PLANE):
        return None
    operands = [blocked, places, weights]
    return NodeBuilder(op).create(glow.SampleOp, operands, attributes_of(op))


def transpose(layout: Layout, op: NodeOp) -> SSAValue | None:
    """Channels that become the last axis."""
    rows = op.inputs[0]
    image = rows.owner.input if isinstance(rows.owner, glow.ReshapeOp) else rows
    if blocked_source(image) is not None and layout.packer.blocks_are_registers:
        # Loaded by networks with images that become rows.
        from glow.backends.cpu.layout.tokens import channels_last

        channels_last(op)
    return None


CHANNELS = (1,)
"""The axes of a reduction over channels."""

LARGE_PLANE = 1024
"""The pixels of a plane whose lines are work enough for a thread."""

PLANE = (2, 3)
"""The axes of a plane, in blocks and without."""

RULES: dict[type[NodeOp], Rule] = {
    glow.MaxPool2dOp: pool,
    glow.AvgPool2dOp: pool,
    glow.ReduceMeanOp: reduction,
    glow.ReduceSumOp: reduction,
    glow.ReduceMaxOp: reduction,
    glow.ReduceMinOp: reduction,
    glow.LocalResponseNormOp: local_response_norm,
    glow.ConcatOp: concat,
    glow.SliceOp: slice_,
    glow.PadOp: pad,
    glow.GatherOp: gather,
    glow.SampleOp: sample,
    glow.TransposeOp: transpose,
}


def propagate(layout: Layout, op: Operation) -> None:
    """Make a node work on blocks if its operands are in blocks."""
    if not isinstance(op, NodeOp):
        return
    if isinstance(op, glow.ReshapeOp):
        _cancel_reshape(op)
        if op.parent is not None and _joins_axes(op):
            # Loaded by networks whose planes grow.
            from glow.backends.cpu.layout.pixel_shuffle import shuffle_pixels

            shuffle_pixels(op)
    if op.parent is not None and has_volume(op):
        # Loaded by networks with volumes.
        from glow.backends.cpu.layout.volumes import as_planes

        op = as_planes(op)
    if op.parent is None or isinstance(op, glow.ReshapeOp):
        return
    op = _as_planes(op) or op
    rule = elementwise if has_scalar_body(op) else RULES.get(type(op))
    result = None if rule is None else rule(layout, op)
    if result is not None:
        layout.replace(NodeBuilder(op), result)


def _joins_axes(op: glow.ReshapeOp) -> bool:
    """Whether a node joins axes of what was split and transposed."""
    return len(shape_of(op.input)) > len(shape_of(op.result)) >= len(PLANE) + 2


def _cancel_reshape(op: glow.ReshapeOp) -> None:
    """Rows that were planes and are planes again."""
    before = op.input.owner
    if isinstance(before, glow.ReshapeOp) and before.input.type == op.result.type:
        NodeBuilder(op).replace(before.input)


def _as_planes(op: NodeOp) -> NodeOp | None:
    """A node on rows [N, C, L] that are planes [N, C, 1, L] in blocks as one on the planes.

    Convolutions of one axis are those of planes one high, and what is between them is not:

        %0 = cpu.unpack %conv channels 64 : tensor<1x64x1x2048xf32>
        %1 = glow.reshape %0 : tensor<1x64x2048xf32>
        %2 = glow.tanh %1 : tensor<1x64x2048xf32>
      becomes
        %0 = cpu.unpack %conv channels 64 : tensor<1x64x1x2048xf32>
        %1 = glow.tanh %0 : tensor<1x64x1x2048xf32>
        %2 = glow.reshape %1 : tensor<1x64x2048xf32>
    """
    knows = has_scalar_body(op) or isinstance(op, glow.SliceOp)
    if not knows or len(op.results) != 1 or len(shape_of(op.results[0])) != ROWS:
        return None
    if not any(map(_is_blocked_plane, op.operands)):
        return None
    builder, shape = NodeBuilder(op), shape_of(op.results[0])
    attributes = attributes_of(op)
    for name, unit in AXES_OF_SLICES.items() if isinstance(op, glow.SliceOp) else ():
        attributes[name] = _with_height(op.attributes_view().ints(name), unit)
    operands = [_plane(builder, value) for value in op.operands]
    plane = remade(builder, op, operands, attributes, _with_height(shape, 1))
    builder.replace(builder.reshape(plane.results[0], shape))
    return plane


ROWS = 3
"""The axes of rows: images, channels, pixels."""

AXES_OF_SLICES = {"starts": 0, "sizes": 1, "steps": 1}
"""What a slice says for each axis, and what of a plane's height of one."""


def _with_height(numbers: Sequence[int], unit: int) -> tuple[int, ...]:
    """One number for each axis of planes that are one high."""
    return (*numbers[: PLANE[0]], unit, *numbers[PLANE[0] :])


def _is_blocked_plane(value: SSAValue) -> bool:
    """Whether rows are planes in blocks."""
    before = value.owner
    if len(shape_of(value)) != ROWS or not isinstance(before, glow.ReshapeOp):
        return False
    is_plane = shape_of(before.input) == _with_height(shape_of(value), 1)
    return is_plane and blocked_source(before.input) is not None


def _plane(builder: NodeBuilder, value: SSAValue) -> SSAValue:
    """Rows, or what is repeated along some axes of rows, as planes."""
    shape, before = shape_of(value), value.owner
    if all(size == 1 for size in shape):
        return value
    plane = _with_height((1,) * (ROWS - len(shape)) + shape, 1)
    if isinstance(before, glow.ReshapeOp) and shape_of(before.input) == plane:
        return before.input
    array = constant_value(value)
    if array is None:
        return builder.reshape(value, plane)
    return builder.constant(array.reshape(plane), f"{name_of(value)}.plane")
