"""The `cpu` dialect: nodes that only the CPU backend has (Glow's backend-specific nodes).

Blocked tensors are [N, C / lanes, H, W, lanes]: a pixel's `lanes` channels are one
vector. Lanes beyond the last channel are padding: written by nobody, read as nothing.
Weights are packed at compile time into the order in which the kernel reads them, so
they are one-dimensional here; shape facts that packing hides are attributes.

The `epilogue` region computes one result element from the accumulated one and one
element of each extra operand (residuals, scales), so activation and residual additions
cost no pass over memory:

    %y = cpu.conv2d %x, %w, %b, %residual input_channels 64 output_channels 64
        kernel [3, 3] pads [1, 1, 1, 1] {
    ^bb0(%sum: f32, %r: f32):
      %s = arith.addf %sum, %r : f32
      %zero = arith.constant 0.0 : f32
      %m = arith.maximumf %s, %zero : f32
      glow.yield %m
    } : tensor<1x4x56x56x16xf32>
"""

from __future__ import annotations

from math import prod
from typing import Literal

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import Dialect
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_region_def,
    prop_def,
    result_def,
    var_operand_def,
)

from glow.dialects.attributes import Attributes, float_attr, int_attr, ints_attr
from glow.dialects.glow.convolution import check_rank, check_window, window_shape
from glow.dialects.glow.elementwise import verify_scalar_region
from glow.dialects.node import (
    NodeOp,
    Types,
    element_of,
    fail_unless,
    shape_of,
    tensor_type,
)


def blocks(channels: int, lanes: int) -> int:
    """The number of channel blocks that hold `channels`."""
    return -(-channels // lanes)


ExtraKind = Literal["full", "channel", "scalar"]


def extra_kind(shape: tuple[int, ...], result: tuple[int, ...]) -> ExtraKind | None:
    """How an extra operand of an epilogue is read, or None when it cannot be.

    `full`: one element for each result element; `channel`: one for each channel
    (the last axis of a matrix, block and lane of a blocked tensor); `scalar`: one.
    """
    if shape == result:
        return "full"
    if prod(shape) == 1:
        return "scalar"
    if len(result) == 5 and shape in (
        (1, result[1], 1, 1, result[4]),
        (result[1], 1, 1, result[4]),
    ):
        return "channel"
    if len(result) == 4 and shape in ((1, result[1], 1, 1), (result[1], 1, 1)):
        return "channel"
    if len(result) in (2, 3) and shape[-1] == result[-1] == prod(shape):
        return "channel"
    return None


@irdl_op_definition
class PackOp(NodeOp):
    """[N, C, H, W] into blocks: [N, C / lanes, H, W, lanes]."""

    name = "cpu.pack"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    lanes = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked shape."""
        check_rank(operands[0], 4, "the input")
        batch, channels, height, width = operands[0].get_shape()
        lanes = attributes.int("lanes")
        fail_unless(lanes > 0, f"lanes must be positive, not {lanes}")
        shape = (batch, blocks(channels, lanes), height, width, lanes)
        return [tensor_type(shape, operands[0].element_type)]


@irdl_op_definition
class UnpackOp(NodeOp):
    """Blocks back into [N, C, H, W]; `channels` says how many are real."""

    name = "cpu.unpack"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    channels = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The plain shape."""
        check_rank(operands[0], 5, "the input")
        batch, block, height, width, lanes = operands[0].get_shape()
        channels = attributes.int("channels")
        fail_unless(
            blocks(channels, lanes) == block,
            f"{channels} channels do not fill {block} blocks of {lanes}",
        )
        return [tensor_type((batch, channels, height, width), operands[0].element_type)]


class EpilogueOp(NodeOp):
    """A node with weights, bias, extra operands and an optional epilogue region."""

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = operand_def(TensorType)
    extras = var_operand_def(TensorType)
    result = result_def(TensorType)
    epilogue = opt_region_def("single_block")

    def verify_(self) -> None:
        """The epilogue takes the sum and the extras, which fit the result."""
        super().verify_()
        result = shape_of(self.result)
        for extra in self.extras:
            fail_unless(
                extra_kind(shape_of(extra), result) is not None,
                f"the extra operand {extra.type} fits neither the result "
                f"{self.result.type} nor its channels",
            )
        if self.epilogue is None:
            fail_unless(not self.extras, "extra operands need an epilogue region")
            return
        element = element_of(self.result)
        verify_scalar_region(
            self.epilogue.block,
            [element, *(extra.type for extra in self.extras)],
            [element],
        )


class BlockedWindowOp(EpilogueOp):
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

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result; the bias says how many lanes."""
        image, weights, bias = operands[:3]
        check_window(attributes)
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 2, "the blocked bias")
        lanes = bias.get_shape()[1]
        batch, block, *plane = image.get_shape()
        channels = attributes.int("input_channels")
        expected = channels if len(plane) == 2 else blocks(channels, lanes)
        if block != expected:  # the text of types is too costly to make in vain
            fail_unless(False, f"the input {image} does not hold {channels} channels")
        outputs = blocks(attributes.int("output_channels"), lanes)
        fail_unless(
            bias.get_shape()[0] == outputs, f"the bias must have {outputs} blocks"
        )
        height, width = window_shape(plane[:2], attributes.ints("kernel"), attributes)
        shape = (batch, outputs, height, width, lanes)
        return [tensor_type(shape, image.element_type)]


@irdl_op_definition
class WinogradConv2dOp(EpilogueOp):
    """3 x 3 convolution of stride one, computed as `tile` x `tile` outputs at a time.

    input [N, IC / lanes, H, W, lanes]; transformed weights, (tile + 2)^2 for each pair
    of channels, packed; bias [OC / lanes, lanes]. `scratch` says how many elements of
    memory the transformed inputs and their products take.
    """

    name = "cpu.winograd_conv2d"
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    tile = prop_def(IntegerAttr.constr(i64))
    scratch = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result; the bias says how many lanes."""
        image, weights, bias = operands[:3]
        check_rank(image, 5, "the input")
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 2, "the blocked bias")
        batch, block, height, width, lanes = image.get_shape()
        inputs, tile = attributes.int("input_channels"), attributes.int("tile")
        outputs = blocks(attributes.int("output_channels"), lanes)
        fail_unless(tile > 0, f"the tile must be positive, not {tile}")
        if block != blocks(inputs, lanes):  # types are too costly to print in vain
            fail_unless(False, f"the input {image} does not hold {inputs} channels")
        fail_unless(
            bias.get_shape() == (outputs, lanes),
            f"the bias must have {outputs} blocks of {lanes}",
        )
        count = (tile + 2) ** 2 * inputs * outputs * lanes
        fail_unless(
            weights.get_shape() == (count,), f"there must be {count} packed weights"
        )
        top, left, bottom, right = _winograd_pads(attributes)
        plane = (height + top + bottom - 2, width + left + right - 2)
        fail_unless(min(plane) > 0, f"the input {image} is too small")
        return [tensor_type((batch, outputs, *plane, lanes), image.element_type)]

    @classmethod
    def scratch_types(cls, operands: Types, attributes: Attributes) -> Types:
        """Transformed inputs and products."""
        element = operands[0].element_type
        return [tensor_type((size,), element) for size in attributes.ints("scratch")]

    def verify_(self) -> None:
        """There are two scratch buffers."""
        super().verify_()
        sizes = self.attributes_view().ints("scratch")
        fail_unless(
            len(sizes) == 2 and min(sizes) > 0,
            f"scratch must be two positive sizes, not {list(sizes)}",
        )


def _winograd_pads(attributes: Attributes) -> tuple[int, ...]:
    pads = attributes.ints("pads")
    fail_unless(
        len(pads) == 4 and all(0 <= pad <= 1 for pad in pads),
        f"pads must be four numbers of 0 or 1, not {list(pads)}",
    )
    return pads


@irdl_op_definition
class DepthwiseConv2dOp(BlockedWindowOp):
    """Convolution of each channel with its own filter, on blocked tensors.

    input [N, C / lanes, H, W, lanes], weights [C / lanes, kh, kw, lanes], bias
    [C / lanes, lanes].
    """

    name = "cpu.depthwise_conv2d"

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked result of as many channels."""
        image, weights = operands[:2]
        check_window(attributes)
        check_rank(image, 5, "the input")
        batch, block, *plane, lanes = image.get_shape()
        kernel = attributes.ints("kernel")
        fail_unless(
            weights.get_shape() == (block, *kernel, lanes),
            f"the weights must have shape {(block, *kernel, lanes)}, not {weights}",
        )
        height, width = window_shape(plane, kernel, attributes)
        return [tensor_type((batch, block, height, width, lanes), image.element_type)]


@irdl_op_definition
class PlainConv2dOp(EpilogueOp):
    """Convolution on plain [N, C, H, W] tensors, for channel counts that do not block.

    weights [O, C / group, kh, kw] as they are, bias [O].
    """

    name = "cpu.plain_conv2d"
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The plain result [N, O, OH, OW]."""
        from glow.dialects.glow.convolution import Conv2dOp as GlowConv2dOp

        return GlowConv2dOp.infer(operands[:3], attributes)


@irdl_op_definition
class MatmulOp(EpilogueOp):
    """Product with packed constant weights.

    input [..., M, K] row-major, weights packed, bias [N] -> [..., M, N].
    """

    name = "cpu.matmul"

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N]; the bias says N."""
        lhs, weights, bias = operands[:3]
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 1, "the bias")
        shape = (*lhs.get_shape()[:-1], bias.get_shape()[0])
        return [tensor_type(shape, lhs.element_type)]


@irdl_op_definition
class QuadrantSumsOp(NodeOp):
    """The seven sums of quadrants that `cpu.strassen_matmul` multiplies.

    input [..., K], all but the last axis counted as rows M -> [7, M / 2, K / 2].
    """

    name = "cpu.quadrant_sums"
    input = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """Seven quadrants."""
        *outer, columns = operands[0].get_shape()
        rows = prod(outer)
        fail_unless(
            rows % 2 == 0 and columns % 2 == 0,
            f"{rows} rows and {columns} columns have no equal quadrants",
        )
        return [tensor_type((7, rows // 2, columns // 2), operands[0].element_type)]


@irdl_op_definition
class StrassenMatmulOp(EpilogueOp):
    """`cpu.matmul` by seven half-size products instead of eight.

    input [7, M / 2, K / 2] of `cpu.quadrant_sums`, weights the packed seven factors, bias
    [N] -> [*outer, N], where `outer` are the axes that make up the rows M.
    """

    name = "cpu.strassen_matmul"
    outer = prop_def(DenseArrayBase)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [*outer, N]; the bias says N."""
        sums, weights, bias = operands[:3]
        check_rank(sums, 3, "the sums")
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 1, "the bias")
        products, rows, _ = sums.get_shape()
        outer = attributes.ints("outer")
        fail_unless(products == 7, f"there must be 7 sums, not {products}")
        fail_unless(prod(outer) == 2 * rows, f"{list(outer)} are not {2 * rows} rows")
        shape = (*outer, bias.get_shape()[0])
        return [tensor_type(shape, sums.element_type)]


@irdl_op_definition
class LocalResponseNormOp(NodeOp):
    """`glow.local_response_norm` on a blocked tensor of `channels` channels."""

    name = "cpu.local_response_norm"
    input = operand_def(TensorType)
    result = result_def(TensorType)
    channels = prop_def(IntegerAttr.constr(i64))
    size = prop_def(IntegerAttr.constr(i64))
    alpha = prop_def(FloatAttr, default_value=float_attr(1e-4))
    beta = prop_def(FloatAttr, default_value=float_attr(0.75))
    offset = prop_def(FloatAttr, default_value=float_attr(1.0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type."""
        check_rank(operands[0], 5, "the input")
        return [operands[0]]


NODES: tuple[type[NodeOp], ...] = (
    PackOp,
    UnpackOp,
    Conv2dOp,
    WinogradConv2dOp,
    DepthwiseConv2dOp,
    PlainConv2dOp,
    MatmulOp,
    QuadrantSumsOp,
    StrassenMatmulOp,
    LocalResponseNormOp,
)

Cpu = Dialect("cpu", [*NODES], [])
