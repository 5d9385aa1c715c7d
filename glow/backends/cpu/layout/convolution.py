"""Which convolution becomes which `cpu` node.

| convolution                                   | node                                |
|-----------------------------------------------|-------------------------------------|
| one filter for each channel                   | `cpu.depthwise_conv2d`              |
| groups that fill whole blocks, or one group   | `cpu.conv2d`                        |
| of these, 3 x 3 to 5 x 5, 1 x 2 to 7, chosen  | `cpu.winograd_conv2d`               |
| groups of which a block holds several         | `cpu.grouped_conv2d`                |
| few other groups: dense, zeros between groups | `cpu.conv2d`                        |
| many other groups, where it is faster         | `cpu.sparse_conv2d`                 |
| one group, most weights zero                  | `cpu.sparse_conv2d`                 |
| one group, few input channels (a first layer) | `cpu.conv2d` reading plain [N,C,H,W]|
| everything else                               | `cpu.plain_conv2d`                  |

Weights that are computed are packed at run time (`cpu.pack_weights`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import ChannelLists
from glow.backends.cpu.layout.conv_shape import (
    ConvShape,
    Pair,
    has_whole_blocks,
    is_depthwise,
)
from glow.backends.cpu.layout.layout import (
    Layout,
    blocked_source,
    constant_key,
    has_volume,
    is_f32,
    pack_channels,
)
from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weights import Array, constant_value
from glow.lowering.lower_nodes.products import activated
from glow.passes.graph.fold_channel_shuffle import (
    MAX_DENSE_GROUPS,
    dense_weights,
)
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, name_of


def conv_shape(op: glow.Conv2dOp | glow.Conv2dIntegerOp) -> ConvShape:
    """The shapes of a convolution that reads blocks."""
    batch, channels, *plane = shape_of(op.input)
    outputs, _, *kernel = shape_of(op.weights)
    attributes = op.attributes_view()
    return ConvShape(
        batch,
        channels,
        outputs,
        attributes.int("group"),
        False,
        cast(Pair, tuple(plane)),
        cast(Pair, tuple(kernel)),
        cast(Pair, attributes.ints("strides")),
        cast(Pair, attributes.ints("dilations")),
        cast(tuple[int, int, int, int], attributes.ints("pads")),
    )


def is_blocked(shape: ConvShape, lanes: int) -> bool:
    """Whether the blocked kernel applies and wastes at most half of its lanes."""
    if shape.group == 1:
        return 2 * shape.output_channels >= lanes
    return has_whole_blocks(shape, lanes)


def _takes_blocks(layout: Layout, op: glow.Conv2dOp, shape: ConvShape) -> bool:
    """Whether a convolution is computed on blocks; of one that fills no more than one block with
    its results tuning may say so, too.
    """
    usual, lanes = is_blocked(shape, layout.lanes), layout.lanes
    is_narrow = shape.group == 1 < lanes and shape.output_channels <= lanes
    if not is_narrow or not is_f32(op.input, op.weights, op.bias):
        return usual
    return layout.packer.choose_level("blocks", shape, usual=usual)


def shares_blocks(shape: ConvShape, lanes: int) -> bool:
    """Whether blocks hold whole groups, of as many outputs as inputs."""
    size = shape.input_channels // shape.group
    same = shape.input_channels == shape.output_channels
    return same and 1 < size < lanes and shape.group > 1 and lanes % size == 0


def _weight_gradient(layout: Layout, op: glow.Conv2dOp) -> bool:
    """Replace the gradient of another convolution's weights; whether it was one."""
    from glow.backends.cpu.layout import weight_gradient as gradient

    found = gradient.find_weight_gradient(op)
    if found is None or not is_f32(op.input, op.weights):
        return False
    shape = gradient.weight_gradient_shape(op, found)
    if is_known := is_depthwise(shape) or is_blocked(shape, layout.lanes):
        gradient.weight_gradient(layout, op, found, shape)
    return is_known


def _on_images(op: glow.Conv2dOp) -> glow.Conv2dOp:
    """Itself, or a convolution of single pixels on the images of a volume that is in blocks."""
    if not has_volume(op):
        return op
    from glow.backends.cpu.layout.volumes import convolution_on_images

    return convolution_on_images(op) or op


def conv2d(layout: Layout, op: Operation) -> None:
    """Replace a convolution by the node of its kind."""
    assert isinstance(op, glow.Conv2dOp)
    if isinstance(element_type(op.input), IntegerType):
        return  # the plain loops take it as it is
    op = _on_images(op)
    shape = conv_shape(op)
    weights = constant_value(op.weights)
    half = is_half(element_type(op.input))
    computed = weights is None
    if computed and _weight_gradient(layout, op):
        return
    if not (is_f32(op.input, op.weights, op.bias) or (half and not computed)):
        _plain(layout, op)
    elif weights is not None and (choice := layout.winograd.get(op)) is not None:
        from glow.backends.cpu.layout.winograd.convolution import winograd_convolution

        winograd_convolution(layout, op, weights, shape, choice)
    elif is_depthwise(shape):
        _depthwise(layout, op, weights, shape)
    elif _takes_blocks(layout, op, shape):
        _direct(layout, op, weights, shape)
    elif (
        weights is not None
        and is_f32(op.input, op.weights)
        and shares_blocks(shape, layout.lanes)
    ):
        _grouped(layout, op, weights, shape)
    elif weights is None or not _join_groups(layout, op, weights, shape):
        _plain(layout, op)


def _join_groups(
    layout: Layout, op: glow.Conv2dOp, weights: Array, shape: ConvShape
) -> bool:
    """Replace groups that fit no blocks by one with zeros between them, if that is faster."""
    whole = replace(shape, group=1)
    # Zeros between groups carry infinities of one into others as NaN.
    may_join = shape.group > 1 and layout.numerics != "exact"
    if not may_join or not is_blocked(whole, layout.lanes):
        return False
    has_few = shape.group <= MAX_DENSE_GROUPS
    if not has_few and not is_f32(op.input, op.weights, op.bias):
        return False
    dense = dense_weights(weights, shape.group)
    if has_few:
        _direct(layout, op, dense, whole)
        return True
    lists = layout.packer.choose_channel_lists(dense, whole)
    usual = layout.packer.plain_cycles(shape)
    if lists is None or shape.batch * lists.cycles >= usual:
        return False
    _sparse(layout, op, dense, whole, lists)
    return True


def _finish(layout: Layout, op: NodeOp, blocked: SSAValue) -> None:
    builder = NodeBuilder(op)
    layout.replace(builder, activated(builder, op, blocked))


def _direct(
    layout: Layout, op: glow.Conv2dOp, weights: Array | None, shape: ConvShape
) -> None:
    """`cpu.conv2d`, or `cpu.sparse_conv2d` where that is faster.

    Few channels that are not in blocks yet are read as they are, unless tuning says otherwise.
    """
    plain = shape.input_channels < layout.lanes and blocked_source(op.input) is None
    if plain and shape.group == 1 and is_f32(op.input, op.weights, op.bias):
        plain = layout.packer.choose_level("plain_input", shape, usual=True)
    shape = replace(shape, plain_input=plain)
    lists = None
    may_skip = shape.group == 1 and not shape.plain_input and is_f32(op.weights)
    if may_skip and weights is not None:
        lists = layout.packer.choose_channel_lists(weights, shape)
    if lists is None or weights is None:
        _blocked(layout, op, weights, shape)
    else:
        _sparse(layout, op, weights, shape, lists)


def _sparse(
    layout: Layout,
    op: glow.Conv2dOp,
    weights: Array,
    shape: ConvShape,
    lists: ChannelLists,
) -> None:
    """`cpu.sparse_conv2d` with the table of its channels."""
    builder, name = NodeBuilder(op), name_of(op.weights)
    key = (constant_key(op.weights), shape)
    result = builder.node(
        cpu.SparseConv2dOp,
        layout.constant(op, ("table", *key), f"{name}.table", lists.table),
        layout.blocked(builder, op.input),
        layout.constant(
            op,
            ("sparse", *key),
            f"{name}.packed",
            lambda: lists.pack(cast("NDArray[np.float32]", weights), layout.lanes),
        ),
        layout.blocked_bias(op),
        input_channels=shape.input_channels,
        output_channels=shape.output_channels,
        tile_blocks=lists.blocks,
        entries=lists.entries,
        kernel=shape.kernel,
        strides=shape.strides,
        pads=shape.pads,
        dilations=shape.dilations,
        **config_attributes(layout.packer.sparse_config(shape, lists), layout.lanes),
    )
    _finish(layout, op, result)


def _packed_weights(
    layout: Layout,
    op: glow.Conv2dOp,
    weights: Array | None,
    shape: ConvShape,
    config: ConvConfig | None,
) -> SSAValue:
    """The weights in the order of a configuration; computed ones are packed at run time."""
    if weights is None:
        return pack_at_run_time(layout, NodeBuilder(op), op.weights, shape, config)
    return layout.constant(
        op,
        ("conv2d", constant_key(op.weights), shape),
        f"{name_of(op.weights)}.packed",
        lambda: layout.packer.conv2d(weights, shape, config),
    )


def pack_at_run_time(
    layout: Layout,
    builder: NodeBuilder,
    weights: SSAValue,
    shape: ConvShape,
    config: ConvConfig | None,
) -> SSAValue:
    """`cpu.pack_weights` for a convolution that is configured."""
    panels = config_attributes(config, layout.lanes)["panels"]
    inside = 1 if shape.plain_input else layout.lanes
    return builder.node(
        cpu.PackWeightsOp, weights, group=shape.group, input_lanes=inside, panels=panels
    )


def _blocked(
    layout: Layout, op: glow.Conv2dOp, weights: Array | None, shape: ConvShape
) -> None:
    """`cpu.conv2d`."""
    builder, element = NodeBuilder(op), element_type(op.weights)
    config = layout.packer.conv2d_config(shape, element, computed=weights is None)
    packed = _packed_weights(layout, op, weights, shape, config)
    image = op.input if shape.plain_input else layout.blocked(builder, op.input)
    batch, channels, *plane = shape_of(op.result)
    blocks = (batch, cpu.blocks(channels, layout.lanes), *plane, layout.lanes)
    result = builder.create(
        cpu.Conv2dOp,
        [image, packed, layout.blocked_bias(op)],
        {
            "input_channels": shape.input_channels,
            "output_channels": shape.output_channels,
            "group": shape.group,
            "kernel": shape.kernel,
            "strides": shape.strides,
            "pads": shape.pads,
            "dilations": shape.dilations,
            **config_attributes(config, layout.lanes),
        },
        types=[tensor_type(blocks, element_type(op.result))],
    )
    _finish(layout, op, result)


def _depthwise_weights(
    layout: Layout, op: glow.Conv2dOp, weights: Array | None
) -> SSAValue:
    """[C, 1, kh, kw] as [C / lanes, kh, kw, lanes]."""
    lanes = layout.lanes
    if weights is None:
        builder, (channels, _, *kernel) = NodeBuilder(op), shape_of(op.weights)
        planes = builder.reshape(op.weights, (1, channels, *kernel))
        blocked = layout.blocked(builder, planes)
        return builder.reshape(blocked, shape_of(blocked)[1:])

    def make() -> Array:
        return pack_channels(np.swapaxes(weights, 0, 1), lanes)[0]

    return layout.constant(
        op,
        ("depthwise", constant_key(op.weights), lanes),
        f"{name_of(op.weights)}.packed",
        make,
    )


def _depthwise(
    layout: Layout, op: glow.Conv2dOp, weights: Array | None, shape: ConvShape
) -> None:
    """`cpu.depthwise_conv2d`."""
    packed = _depthwise_weights(layout, op, weights)
    _channelwise(layout, op, cpu.DepthwiseConv2dOp, packed, shape)


def _grouped(
    layout: Layout, op: glow.Conv2dOp, weights: Array, shape: ConvShape
) -> None:
    """`cpu.grouped_conv2d`; [C, C / group, kh, kw] as [C / lanes, kh, kw, C / group, lanes]."""
    lanes, (channels, size, *kernel) = layout.lanes, weights.shape

    def make() -> Array:
        planes = pack_channels(weights.reshape(1, channels, -1, 1), lanes)[0]
        split = planes.reshape(-1, size, *kernel, lanes)
        return np.ascontiguousarray(split.transpose(0, 2, 3, 1, 4))

    key = ("grouped", constant_key(op.weights), lanes)
    packed = layout.constant(op, key, f"{name_of(op.weights)}.packed", make)
    _channelwise(layout, op, cpu.GroupedConv2dOp, packed, shape)


def _channelwise(
    layout: Layout,
    op: glow.Conv2dOp,
    kind: type[NodeOp],
    packed: SSAValue,
    shape: ConvShape,
) -> None:
    """A convolution of each block of channels by itself."""
    builder = NodeBuilder(op)
    result = builder.node(
        kind,
        layout.blocked(builder, op.input),
        packed,
        layout.blocked_bias(op),
        kernel=shape.kernel,
        strides=shape.strides,
        pads=shape.pads,
        dilations=shape.dilations,
    )
    _finish(layout, op, result)


def _plain(layout: Layout, op: glow.Conv2dOp) -> None:
    """`cpu.plain_conv2d` on [N, C, H, W]."""
    outputs, bias = shape_of(op.result)[1], op.bias
    if bias is None:
        bias = layout.zeros(op, (outputs,), element_type(op.result))
    builder, attributes = NodeBuilder(op), op.attributes_view()
    image, pads = op.input, attributes.ints("pads")
    floats = is_f32(op.input, op.weights, op.bias)
    if floats and layout.packer.pads_columns(conv_shape(op)):
        top, left, bottom, right = pads
        columns = [0, 0, 0, left, 0, 0, 0, right]
        image, pads = builder.node(glow.PadOp, image, pads=columns), (top, 0, bottom, 0)
    result = builder.node(
        cpu.PlainConv2dOp,
        image,
        layout.stored(op, op.weights),
        layout.stored(op, bias),
        strides=attributes.ints("strides"),
        pads=pads,
        dilations=attributes.ints("dilations"),
        group=attributes.int("group"),
    )
    builder.replace(activated(builder, op, result))
