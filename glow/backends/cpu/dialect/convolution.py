"""Convolutions: blocked, sparse, transformed (Winograd), of each channel alone, plain."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from glow.backends.cpu.dialect.blocked import blocks, check_channels, check_groups
from glow.backends.cpu.dialect.config_attributes import (
    ConvConfigAttr,
    DepthwiseConfigAttr,
    PanelsAttr,
    PlainConvConfigAttr,
    WinogradConfigAttr,
    check_panels,
)
from glow.backends.cpu.dialect.epilogue import WeightedOp
from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.glow.convolution import check_rank, check_window, window_shape
from glow.dialects.node import Types, fail_unless, public_nodes, tensor_type


class BlockedWindowOp(WeightedOp):
    """A convolution with a blocked result."""

    kernel = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))


@irdl_op_definition
class Conv2dOp(BlockedWindowOp):
    """Direct convolution into a blocked result.

    input [N, IC / lanes, H, W, lanes], or [N, IC, H, W] for a network's few-channel
    first layer; packed weights; bias [OC / lanes, lanes].
    """

    name = "cpu.conv2d"
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    config = opt_prop_def(ConvConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result; the bias says how many lanes."""
        image, weights, bias = operands[:3]
        check_window(attributes)
        check_panels(attributes)
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 2, "the blocked bias")
        lanes = bias.get_shape()[1]
        is_plain = image.get_num_dims() == 4
        check_rank(image, 4 if is_plain else 5, "the input")
        batch, _, *plane = image.get_shape()
        channels = attributes.int("input_channels")
        check_channels(image, channels, 1 if is_plain else lanes)
        outputs = blocks(attributes.int("output_channels"), lanes)
        fail_unless(
            bias.get_shape()[0] == outputs, f"the bias must have {outputs} blocks"
        )
        height, width = window_shape(plane[:2], attributes.ints("kernel"), attributes)
        shape = (batch, outputs, height, width, lanes)
        return [tensor_type(shape, image.element_type)]


@irdl_op_definition
class SparseConv2dOp(BlockedWindowOp):
    """Direct convolution that skips the input channels without weights.

    Each tile of `tile_blocks` output blocks has a list of the input channels that it
    reads: table [tiles + 1 starts, channels of all tiles], `entries` of them in the full
    tiles and in a smaller last one. input [N, IC / lanes, H, W, lanes]; packed weights;
    bias [OC / lanes, lanes].
    """

    name = "cpu.sparse_conv2d"
    table = operand_def(TensorType)
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    tile_blocks = prop_def(IntegerAttr.constr(i64))
    entries = prop_def(DenseArrayBase)
    config = opt_prop_def(ConvConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result; the bias says how many lanes."""
        table, image, weights, bias = operands[:4]
        check_window(attributes)
        check_panels(attributes)
        check_rank(image, 5, "the input")
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 2, "the blocked bias")
        batch, _, *plane, lanes = image.get_shape()
        outputs = blocks(attributes.int("output_channels"), lanes)
        check_channels(image, attributes.int("input_channels"), lanes)
        fail_unless(
            bias.get_shape() == (outputs, lanes),
            f"the bias must have {outputs} blocks of {lanes}",
        )
        tiles = blocks(outputs, attributes.int("tile_blocks"))
        size = tiles + 1 + sum(attributes.ints("entries"))
        fail_unless(table.get_shape() == (size,), f"the table must have {size} numbers")
        height, width = window_shape(plane, attributes.ints("kernel"), attributes)
        return [tensor_type((batch, outputs, height, width, lanes), image.element_type)]


@irdl_op_definition
class WinogradConv2dOp(WeightedOp):
    """Convolution of stride one, computed as `tile` x `tile` outputs at a time.

    Of the two `axes`, or of one of them: then kernels are `kernel` x 1 or 1 x `kernel`, and so are
    tiles.
    input [N, IC / lanes, H, W, lanes]; transformed weights, tile + kernel - 1 along each axis for
    each pair of channels, packed; bias [OC / lanes, lanes]. `scratch` says how many elements of
    memory the transformed inputs, their products and the sizes of pixels take. The result has the
    largest sum of each `pool` x `pool` square, to which the epilogue applies. Channels in each
    `group` fill their blocks.

    A pixel's size is the largest of its channels, each times one of the factors [IC / lanes,
    lanes]. Tiles with pixels of very uneven sizes, with an infinity or NaN have direct sums.
    With `zero_taps` the last row and column of taps are zeros for some channels, which count as
    no taps: an infinity there reaches nothing.
    """

    name = "cpu.winograd_conv2d"
    factors = operand_def(TensorType)
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    kernel = prop_def(IntegerAttr.constr(i64), default_value=int_attr(3))
    axes = prop_def(DenseArrayBase, default_value=ints_attr(0, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    tile = prop_def(IntegerAttr.constr(i64))
    pool = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    zero_taps = opt_prop_def(UnitAttr)
    scratch = prop_def(DenseArrayBase)
    config = opt_prop_def(WinogradConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result; the bias says how many lanes."""
        check_panels(attributes)
        factors, image, weights, bias = operands[:4]
        check_rank(image, 5, "the input")
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 2, "the blocked bias")
        batch, block, height, width, lanes = image.get_shape()
        inputs, tile = attributes.int("input_channels"), attributes.int("tile")
        outputs = blocks(attributes.int("output_channels"), lanes)
        fail_unless(tile > 0, f"the tile must be positive, not {tile}")
        check_channels(image, inputs, lanes)
        fail_unless(
            bias.get_shape() == (outputs, lanes),
            f"the bias must have {outputs} blocks of {lanes}",
        )
        fail_unless(
            factors.get_shape() == (block, lanes),
            f"there must be factors for {block} blocks of {lanes}",
        )
        axes, kernel = _winograd_axes(attributes), attributes.int("kernel")
        patch = (tile + kernel - 1) ** len(axes)
        group = check_groups(attributes, lanes)
        count = patch * inputs // group * outputs * lanes
        fail_unless(
            weights.get_shape() == (count,), f"there must be {count} packed weights"
        )
        top, left, bottom, right = _winograd_pads(attributes)
        down, across = (kernel - 1 if axis in axes else 0 for axis in (0, 1))
        tiles = [tile if axis in axes else 1 for axis in (0, 1)]
        plane = (height + top + bottom - down, width + left + right - across)
        fail_unless(min(plane) > 0, f"the input {image} is too small")
        pool = attributes.int("pool")
        fail_unless(
            pool > 0 and not any(size % pool for size in (*tiles, *plane)),
            f"squares of {pool} must divide tiles of {tiles[0]} x {tiles[1]} and the plane "
            f"{plane[0]} x {plane[1]}",
        )
        pooled = [size // pool for size in plane]
        return [tensor_type((batch, outputs, *pooled, lanes), image.element_type)]

    @classmethod
    def scratch_types(cls, operands: Types, attributes: Attributes) -> Types:
        """Transformed inputs, products and sizes of pixels."""
        element = operands[1].element_type
        return [tensor_type((size,), element) for size in attributes.ints("scratch")]

    def verify_(self) -> None:
        """There are three scratch buffers."""
        super().verify_()
        sizes = self.attributes_view().ints("scratch")
        fail_unless(
            len(sizes) == 3 and min(sizes) > 0,
            f"scratch must be three positive sizes, not {list(sizes)}",
        )


def _winograd_axes(attributes: Attributes) -> tuple[int, ...]:
    axes = attributes.ints("axes")
    fail_unless(
        axes in ((0, 1), (0,), (1,)), f"axes must be 0, 1 or both, not {list(axes)}"
    )
    return axes


def _winograd_pads(attributes: Attributes) -> tuple[int, ...]:
    """At most half of a square kernel; of a line all of it but a tap."""
    pads, axes = attributes.ints("pads"), _winograd_axes(attributes)
    kernel = attributes.int("kernel")
    most = kernel // 2 if len(axes) == 2 else kernel - 1
    allowed = [most if axis in axes else 0 for axis in (0, 1, 0, 1)]
    where = "" if len(axes) == 2 else f" along axis {axes[0]}"
    fail_unless(
        len(pads) == 4
        and all(0 <= pad <= m for pad, m in zip(pads, allowed, strict=True)),
        f"pads must be four numbers from 0 to {most}{where}, not {list(pads)}",
    )
    return pads


@irdl_op_definition
class DepthwiseConv2dOp(BlockedWindowOp):
    """Convolution of each channel with its own filter, on blocked tensors.

    input [N, C / lanes, H, W, lanes], weights [C / lanes, kh, kw, lanes], bias
    [C / lanes, lanes].
    """

    name = "cpu.depthwise_conv2d"
    config = opt_prop_def(DepthwiseConfigAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result of as many channels."""
        image, weights = operands[:2]
        check_window(attributes)
        check_rank(image, 5, "the input")
        _, block, *_, lanes = image.get_shape()
        expected = (block, *attributes.ints("kernel"), lanes)
        fail_unless(
            weights.get_shape() == expected,
            f"the weights must have shape {expected}, not {weights}",
        )
        return [_of_each_block(image, attributes)]


@irdl_op_definition
class GroupedConv2dOp(BlockedWindowOp):
    """Convolution in groups of which each block holds several, on blocked tensors.

    input [N, C / lanes, H, W, lanes], weights [C / lanes, kh, kw, C / group, lanes], bias
    [C / lanes, lanes]; as many output channels. Lane l reads the channels of its group, from
    l rounded down to a multiple of C / group on.
    """

    name = "cpu.grouped_conv2d"
    config = opt_prop_def(DepthwiseConfigAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result of as many channels."""
        image, weights = operands[:2]
        check_window(attributes)
        check_rank(image, 5, "the input")
        check_rank(weights, 5, "the weights")
        _, block, *_, lanes = image.get_shape()
        size = weights.get_shape()[3]
        expected = (block, *attributes.ints("kernel"), size, lanes)
        fail_unless(
            weights.get_shape() == expected and size > 1 and lanes % size == 0,
            f"the weights must have shape {(*expected[:3], 'C / group', lanes)}, with a part "
            f"of the lanes a group, not {weights}",
        )
        return [_of_each_block(image, attributes)]


def _of_each_block(
    image: TensorType[Attribute], attributes: Attributes
) -> TensorType[Attribute]:
    """The result of windows over each block of channels."""
    batch, block, *plane, lanes = image.get_shape()
    height, width = window_shape(plane, attributes.ints("kernel"), attributes)
    return tensor_type((batch, block, height, width, lanes), image.element_type)


@irdl_op_definition
class PlainConv2dOp(WeightedOp):
    """Convolution on plain [N, C, H, W] tensors, for channel counts that do not block.

    weights [O, C / group, kh, kw] as they are, bias [O].
    """

    name = "cpu.plain_conv2d"
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    config = opt_prop_def(PlainConvConfigAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The plain result [N, O, OH, OW]."""
        from glow.dialects.glow.convolution import Conv2dOp as GlowConv2dOp

        return GlowConv2dOp.infer(operands[:3], attributes)


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
