"""Int8 products become kernels on blocks, weights packed and zero points folded.

    %0 = glow.conv2d_integer %x, %w, %x_zero_point, %w_zero_point : tensor<...xi32>
    %1 = glow.add %0, %b : tensor<...xi32>
  becomes
    %1 = cpu.int8_conv2d %x.packed, %w.packed, %b.packed zero_point 3 ... : tensor<...xi32>

whose bias has what the zero point adds to each sum. Shapes that no kernel takes become
products of 32-bit integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config_attributes import config_attributes
from glow.backends.cpu.layout.conv_shape import (
    ConvShape,
    WinogradChoice,
    has_whole_blocks,
    is_depthwise,
)
from glow.backends.cpu.layout.convolution import conv_shape
from glow.backends.cpu.layout.integers.int8_products import convert, int8_matmul
from glow.backends.cpu.layout.layout import (
    Layout,
    blocked_source,
    constant_key,
    pack_channels,
)
from glow.backends.cpu.tiling.int8_tile import SIGN, WORD
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.dialects.weights import Array, constant_value
from glow.lowering.loop_builder.border import BorderClasses
from glow.lowering.lower_quantized.integer_products import (
    IntegerProduct,
    has_byte_kernel,
    int8_factors,
)
from glow.passes.graph.fold_channel_shuffle import MAX_DENSE_GROUPS, dense_weights
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase,
    name_of,
)

FEW_COLUMNS, MANY_WEIGHTS = 3, 1 << 18
"""Tiles of so few pixels read so many bytes of weights, one after the other, for each border and
for what is between: a padded copy of a small image is cut into fewer tiles."""


@dataclass(frozen=True)
class Product:
    """An int8 product with its constants, and the node that adds a bias to it."""

    op: NodeOp
    weights: Array
    zero_point: int
    bias: Array
    """What is added to each sum, one number a channel; zeros without a bias."""
    replaced: NodeOp
    """The last node that the product stands for."""

    @property
    def builder(self) -> NodeBuilder:
        """Builds in the place of the product."""
        return NodeBuilder(self.op)

    def finish(self) -> None:
        """Remove the product, which has been replaced."""
        if self.replaced is not self.op:
            erase(self.op)


def product_of(op: IntegerProduct, channel_axis: int, channels: int) -> Product | None:
    """The product if its weights and zero points are constants it can be made of."""
    factors = int8_factors(op)
    if factors is None:
        return None
    bias, replaced = following_bias(op, channel_axis, channels)
    return Product(op, factors.weights, factors.zero_point, bias, replaced)


def following_bias(op: NodeOp, axis: int, channels: int) -> tuple[Array, NodeOp]:
    """What the only reader of a product adds to each channel, and that reader."""
    (result,) = op.results
    rank, user = len(shape_of(result)), result.get_user_of_unique_use()
    nothing = np.zeros(channels, np.int32), op
    if not isinstance(user, glow.AddOp) or user.results[0].type != result.type:
        return nothing
    addend = user.operands[1 if user.operands[0] is result else 0]
    array, extents = constant_value(addend), [1] * rank
    extents[axis] = channels
    if array is None or list(array.shape) != extents:
        return nothing
    return array.reshape(-1), user


def folded_bias(product: Product, axes: tuple[int, ...], lower: int = 0) -> Array:
    """The bias less what the zero point adds to each sum, modulo 2^32; bytes are read so much
    lower than they are.
    """
    sums = product.weights.sum(axis=axes, dtype=np.int64)
    return (product.bias + (lower - product.zero_point) * sums).astype(np.int32)


def lowered_by(layout: Layout) -> int:
    """How much lower than they are products of constant bytes read their inputs."""
    return SIGN if layout.packer.reads_signed_bytes else 0


def conv2d_integer(layout: Layout, op: Operation) -> None:
    """Replace an int8 convolution by the node of its kind."""
    assert isinstance(op, glow.Conv2dIntegerOp)
    shape = conv_shape(op)
    product = product_of(op, 1, shape.output_channels)
    if product is None:
        return
    if (choice := layout.winograd.get(op)) is not None:
        result = _winograd(layout, product, shape, choice)
    elif is_depthwise(shape):
        result = _depthwise(layout, product, shape)
    elif (dense := _blockable(product, shape, layout.lanes)) is not None:
        result = _blocked(layout, *dense)
    else:
        _plain(product, glow.Conv2dOp)
        return
    layout.replace(NodeBuilder(product.replaced), result)
    product.finish()


def _blockable(
    product: Product, shape: ConvShape, lanes: int
) -> tuple[Product, ConvShape] | None:
    """The convolution with groups of whole blocks, or as one group; None where many groups
    would be mostly zeros.
    """
    if has_whole_blocks(shape, lanes):
        return product, shape
    if shape.group > MAX_DENSE_GROUPS:
        return None
    dense = dense_weights(product.weights, shape.group)
    return replace(product, weights=dense), replace(shape, group=1)


def _winograd(
    layout: Layout, product: Product, shape: ConvShape, choice: WinogradChoice
) -> SSAValue:
    """`cpu.int8_winograd_conv2d` with transformed weights."""
    # Other targets have no use for these kernels.
    from glow.backends.cpu.layout.winograd.dense_windows import (
        dense_image,
        dilated_result,
        without_dilation,
    )

    op, builder, dense = product.op, product.builder, without_dilation(shape)
    weights = layout.constant(
        op,
        ("int8_winograd", constant_key(op.inputs[1]), dense, choice.tile),
        f"{name_of(op.inputs[1])}.transformed",
        lambda: layout.packer.int8_winograd(
            product.weights, dense, choice.tile, choice.config
        ),
    )
    image = layout.blocked(builder, op.inputs[0])
    result = builder.node(
        cpu.Int8WinogradConv2dOp,
        dense_image(builder, image, shape, product.zero_point),
        weights,
        _blocked_bias(layout, product, shape),
        input_channels=shape.input_channels,
        output_channels=shape.output_channels,
        group=shape.group,
        zero_point=product.zero_point,
        pads=dense.pads,
        tile=choice.tile,
        scratch=choice.scratch,
        **config_attributes(choice.config, layout.lanes),
    )
    return dilated_result(builder, result, shape)


def _blocked(layout: Layout, product: Product, shape: ConvShape) -> SSAValue:
    """`cpu.int8_conv2d`."""
    op, builder = product.op, product.builder
    image, name = op.inputs[0], name_of(op.inputs[1])
    key = (constant_key(op.inputs[1]), shape)
    word = layout.packer.dot_bytes
    if _merges_columns(layout, image, shape):
        from glow.backends.cpu.layout import merged_columns as merged

        image = merged.merged_image(builder, image, shape, product.zero_point)
        product = replace(product, weights=merged.merged_weights(product.weights))
        shape = merged.merged_shape(shape)
    if shape.input_channels <= word and blocked_source(image) is None:
        blocks = builder.node(cpu.PackOp, image, lanes=word)
    else:
        blocks = layout.blocked(builder, image)
    if _is_all_border(shape, product.weights):
        top, left, bottom, right = shape.pads
        pads = [0, 0, top, left, 0, 0, 0, bottom, right, 0]
        value = float(product.zero_point)
        blocks = builder.node(glow.PadOp, blocks, pads=pads, value=value)
        shape = replace(shape, plane=shape_of(blocks)[2:4], pads=(0, 0, 0, 0))
    if layout.packer.widens_bytes:
        blocks = convert(builder, blocks, i16)
        shape = replace(shape, wide_input=True)
    block_lanes = shape_of(blocks)[-1]
    config = layout.packer.int8_conv2d_config(shape, block_lanes)
    packed = layout.constant(
        op,
        ("int8_conv2d", *key, block_lanes),
        f"{name}.packed",
        lambda: layout.packer.int8_conv2d(product.weights, shape, block_lanes, config),
    )
    return builder.node(
        cpu.Int8Conv2dOp,
        blocks,
        packed,
        _border_bias(layout, product, shape),
        input_channels=shape.input_channels,
        output_channels=shape.output_channels,
        group=shape.group,
        zero_point=product.zero_point,
        signed_input=layout.packer.reads_signed_bytes,
        kernel=shape.kernel,
        strides=shape.strides,
        pads=shape.pads,
        dilations=shape.dilations,
        **config_attributes(config, layout.lanes),
    )


def _is_all_border(shape: ConvShape, weights: Array) -> bool:
    """Whether the windows of few columns, if any, meet no padding, and weights are many."""
    low, high = shape.window.interior(1)
    has_sides = high - low < shape.window.output[1]
    return has_sides and high - low <= FEW_COLUMNS and weights.nbytes >= MANY_WEIGHTS


def _merges_columns(layout: Layout, image: SSAValue, shape: ConvShape) -> bool:
    """Whether the columns of a kernel become channels of a plain image."""
    if not layout.packer.merges_columns or blocked_source(image) is not None:
        return False
    from glow.backends.cpu.layout.merged_columns import saves_steps

    return saves_steps(shape, layout.packer.dot_bytes)


def _border_bias(layout: Layout, product: Product, shape: ConvShape) -> SSAValue:
    """[classes * O / lanes, lanes]: one for each class of places, where padding counts."""
    lower, lanes = lowered_by(layout), layout.lanes
    classes = BorderClasses(shape.window)
    is_small = classes.count * product.bias.nbytes <= product.weights.nbytes
    counts = product.zero_point != lower and layout.packer.tabulates_borders
    if classes.count == 1 or not (is_small and counts):
        return _blocked_bias(layout, product, shape, lower)
    taps = product.weights.sum(axis=1, dtype=np.int64)
    sums = np.tensordot(classes.taps(), taps, ([1, 2], [1, 2]))
    array = (product.bias + (lower - product.zero_point) * sums).astype(np.int32)

    def make() -> Array:
        blocks = pack_channels(array[:, :, None, None], lanes)
        return blocks.reshape(-1, lanes)

    name = f"{name_of(product.op.inputs[1])}.bias"
    return layout.constant(product.op, ("int8_borders", product.op), name, make)


def _blocked_bias(
    layout: Layout, product: Product, shape: ConvShape, lower: int = 0
) -> SSAValue:
    """[O / lanes, lanes]."""
    lanes, array = layout.lanes, folded_bias(product, (1, 2, 3), lower)

    def make() -> Array:
        return pack_channels(array.reshape(1, -1, 1, 1), lanes).reshape(-1, lanes)

    name = f"{name_of(product.op.inputs[1])}.bias"
    return layout.constant(product.op, ("int8_bias", product.op), name, make)


def _depthwise(layout: Layout, product: Product, shape: ConvShape) -> SSAValue:
    """`cpu.int8_depthwise_conv2d`; weights [C / lanes, kh, kw, lanes]."""
    op, builder, lanes = product.op, product.builder, layout.lanes
    packed = layout.constant(
        op,
        ("int8_depthwise", constant_key(op.inputs[1]), lanes),
        f"{name_of(op.inputs[1])}.packed",
        lambda: pack_channels(np.swapaxes(product.weights, 0, 1), lanes)[0],
    )
    return builder.node(
        cpu.Int8DepthwiseConv2dOp,
        layout.blocked(builder, op.inputs[0]),
        packed,
        _blocked_bias(layout, product, shape),
        zero_point=product.zero_point,
        kernel=shape.kernel,
        strides=shape.strides,
        pads=shape.pads,
        dilations=shape.dilations,
    )


def _plain(product: Product, node: type[NodeOp]) -> None:
    """A product of 32-bit integers, then the bias as it was."""
    op, builder = product.op, product.builder
    image = op.inputs[0]
    wide = builder.create(
        glow.ConvertOp, [image], {}, types=[tensor_type(shape_of(image), i32)]
    )
    point = builder.splat(product.zero_point, i32)
    centred = builder.node(glow.SubOp, wide, point)
    weights = builder.constant(
        product.weights.astype(np.int32), f"{name_of(op.inputs[1])}.i32"
    )
    builder.replace(builder.create(node, [centred, weights], attributes_of(op)))


def matmul_integer(layout: Layout, op: Operation) -> None:
    """Replace an int8 product, which is packed now if it is a constant matrix."""
    assert isinstance(op, glow.MatmulIntegerOp)
    rank = len(shape_of(op.result))
    product = product_of(op, rank - 1, shape_of(op.result)[-1])
    if product is None or product.weights.ndim != 2:
        if has_byte_kernel(op):
            int8_matmul(op)
        return
    lhs, weights = _whole_words(product)
    wide = layout.packer.widens_bytes
    if wide:
        lhs = convert(product.builder, lhs, i16)
    rows = int(np.prod(shape_of(lhs)[:-1]))
    name = name_of(op.rhs)
    packed = layout.constant(
        op,
        ("int8_matmul", constant_key(op.rhs), rows),
        f"{name}.packed",
        lambda: layout.packer.matmul(weights, rows, wide=wide),
    )
    bias = layout.constant(
        op,
        ("int8_bias", op),
        f"{name}.bias",
        lambda: folded_bias(product, (0,), lowered_by(layout)),
    )
    tile = layout.packer.matmul_config(weights, rows, wide=wide)
    config = config_attributes(tile, layout.lanes)
    signed = layout.packer.reads_signed_bytes
    result = product.builder.node(
        cpu.Int8MatmulOp, lhs, packed, bias, signed_input=signed, **config
    )
    NodeBuilder(product.replaced).replace(result)
    product.finish()


def _whole_words(product: Product) -> tuple[SSAValue, Array]:
    """The rows and the weights with a depth of whole words, of which more is zeros."""
    lhs, weights = product.op.inputs[0], product.weights
    missing = -len(weights) % WORD
    if not missing:
        return lhs, weights
    pads = [0] * (2 * len(shape_of(lhs)) - 1) + [missing]
    padded = np.pad(weights, ((0, missing), (0, 0)))
    return product.builder.node(glow.PadOp, lhs, pads=pads), padded
