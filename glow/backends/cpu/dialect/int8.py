"""Products of unsigned bytes with signed weights, summed up in i32.

Their results are the sums, or what the epilogue makes of them in any element type: it is
where requantization, residual sums and activations go.

    %y = cpu.int8_conv2d %x, %w, %b, %scale input_channels 64 output_channels 64
        kernel [3, 3] pads [1, 1, 1, 1] {
    ^bb0(%sum: i32, %s: f32):
      %f = arith.sitofp %sum : i32 to f32
      ...
      glow.yield %byte : ui8
    } : tensor<1x4x56x56x16xui8>
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    UnitAttr,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from glow.backends.cpu.dialect.blocked import blocks, check_channels, check_groups
from glow.backends.cpu.dialect.config_attributes import (
    ConvConfigAttr,
    DepthwiseConfigAttr,
    MatmulConfigAttr,
    PanelsAttr,
    WinogradConfigAttr,
    check_panels,
)
from glow.backends.cpu.dialect.convolution import BlockedWindowOp
from glow.backends.cpu.dialect.epilogue import ConvertingOp, OperandKind, WeightedOp
from glow.backends.cpu.dialect.matmul import ProductOp, permuted
from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.glow.convolution import check_rank, check_window, window_shape
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import Types, fail_unless, public_nodes, tensor_type


class Int8Op(ConvertingOp):
    """An int8 product with an epilogue that may change the element type."""

    SUMS: ClassVar[Attribute] = i32


class WeightedInt8Op(Int8Op):
    """One with constant weights.

    `signed_input`: the input's bytes are multiplied as signed ones, 128 lower, as instructions
    that take no other want them; the bias has what that takes off.
    """

    signed_input = opt_prop_def(UnitAttr)


def _check_bytes(image: TensorType[Attribute], weights: TensorType[Attribute]) -> None:
    if image.element_type != i16:
        _check_byte(image, "input")
    _check_byte(weights, "weights")


def _check_byte(tensor: TensorType[Attribute], what: str) -> None:
    element = tensor.element_type
    fail_unless(
        isinstance(element, IntegerType) and element.bitwidth == 8,
        lambda: f"the {what} must be bytes, not {tensor}",
    )


class Int8WindowOp(Int8Op, BlockedWindowOp):
    """An int8 convolution; `zero_point` is the byte that pads the input."""

    zero_point = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))


@irdl_op_definition
class Int8Conv2dOp(WeightedInt8Op, Int8WindowOp):
    """Direct int8 convolution into a blocked result.

    input [N, IC / block, H, W, block], packed weights, bias [OC / lanes, lanes] of i32. The
    input of a first layer has smaller blocks than the result. Bytes of the input may be stored as
    i16, which some targets multiply in pairs. A longer bias has as many blocks for each class of
    places at a border, those inside first: they count the padding.
    """

    name = "cpu.int8_conv2d"
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    config = opt_prop_def(ConvConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked sums; the bias says how many lanes."""
        image, weights, bias = operands[:3]
        check_window(attributes)
        check_panels(attributes)
        check_rank(image, 5, "the input")
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 2, "the blocked bias")
        _check_bytes(image, weights)
        batch, _, *plane, lanes = image.get_shape()
        check_channels(image, attributes.int("input_channels"), lanes)
        lanes = bias.get_shape()[1]
        outputs = blocks(attributes.int("output_channels"), lanes)
        rows = bias.get_shape()[0]
        fail_unless(
            rows > 0 == rows % max(outputs, 1) and bias.element_type == i32,
            lambda: f"the bias must have {outputs} blocks of i32, not {bias}",
        )
        height, width = window_shape(plane, attributes.ints("kernel"), attributes)
        return [tensor_type((batch, outputs, height, width, lanes), i32)]


@irdl_op_definition
class Int8WinogradConv2dOp(Int8Op, WeightedOp):
    """Int8 convolution of 3 x 3 taps and stride one, computed as `tile` x `tile` outputs at a time
    by integers that wrap: the bits of direct sums.

    input [N, IC / lanes, H, W, lanes]; transformed weights of i16, (tile + 2)^2 for each pair of
    channels, those that fill blocks included; bias [OC / lanes, lanes] of i32. `scratch` says how
    many elements of memory the transformed inputs (i16) and their products (i32) take. Channels in
    each `group` fill their blocks.

    %y = cpu.int8_winograd_conv2d %x, %w, %b input_channels 16 output_channels 16
        zero_point 3 pads [1, 1, 1, 1] tile 4 scratch [2304, 1152] : tensor<1x4x8x8x4xi32>
    """

    name = "cpu.int8_winograd_conv2d"
    input_channels = prop_def(IntegerAttr.constr(i64))
    output_channels = prop_def(IntegerAttr.constr(i64))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    zero_point = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    tile = prop_def(IntegerAttr.constr(i64))
    scratch = prop_def(DenseArrayBase)
    config = opt_prop_def(WinogradConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked sums."""
        check_panels(attributes)
        image, weights, bias = operands[:3]
        check_rank(image, 5, "the input")
        _check_byte(image, "input")
        batch, block, *plane, lanes = image.get_shape()
        tile, inputs = attributes.int("tile"), attributes.int("input_channels")
        outputs = blocks(attributes.int("output_channels"), lanes)
        fail_unless(tile in (2, 4), f"the tile must be 2 or 4, not {tile}")
        check_channels(image, inputs, lanes)
        fail_unless(
            bias == tensor_type((outputs, lanes), i32),
            f"the bias must have {outputs} blocks of {lanes} i32, not {bias}",
        )
        group = check_groups(attributes, lanes)
        count = (tile + 2) ** 2 * block // group * outputs * lanes**2
        fail_unless(
            weights == tensor_type((count,), i16),
            f"there must be {count} packed weights of i16, not {weights}",
        )
        pads = attributes.ints("pads")
        fail_unless(
            len(pads) == 4 and all(0 <= pad <= 1 for pad in pads),
            f"pads must be four numbers from 0 to 1, not {list(pads)}",
        )
        top, left, bottom, right = pads
        height, width = plane[0] + top + bottom - 2, plane[1] + left + right - 2
        fail_unless(min(height, width) >= tile, f"the input {image} is too small")
        return [tensor_type((batch, outputs, height, width, lanes), i32)]

    @classmethod
    def scratch_types(cls, operands: Types, attributes: Attributes) -> Types:
        """Transformed inputs and products."""
        sizes = attributes.ints("scratch")
        pairs = zip(sizes, (i16, i32), strict=True)
        return [tensor_type((size,), element) for size, element in pairs]

    def verify_(self) -> None:
        """There are two scratch buffers."""
        super().verify_()
        sizes = self.attributes_view().ints("scratch")
        fail_unless(
            len(sizes) == 2 and min(sizes) > 0,
            f"scratch must be two positive sizes, not {list(sizes)}",
        )


@irdl_op_definition
class Int8DepthwiseConv2dOp(Int8WindowOp):
    """Convolution of each channel of bytes with its own filter, on blocked tensors.

    input [N, C / lanes, H, W, lanes], weights [C / lanes, kh, kw, lanes], bias
    [C / lanes, lanes] of i32.
    """

    name = "cpu.int8_depthwise_conv2d"
    config = opt_prop_def(DepthwiseConfigAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked sums of as many channels."""
        image, weights = operands[:2]
        check_window(attributes)
        check_rank(image, 5, "the input")
        _check_bytes(image, weights)
        batch, block, *plane, lanes = image.get_shape()
        kernel = attributes.ints("kernel")
        fail_unless(
            weights.get_shape() == (block, *kernel, lanes),
            f"the weights must have shape {(block, *kernel, lanes)}, not {weights}",
        )
        height, width = window_shape(plane, kernel, attributes)
        return [tensor_type((batch, block, height, width, lanes), i32)]


@irdl_op_definition
class Int8SumPool2dOp(Int8Op):
    """The sums of each window's bytes less the zero point, on blocked tensors.

    input [N, C / lanes, H, W, lanes] of bytes -> [N, C / lanes, OH, OW, lanes]. Padding counts
    nothing. An average pool of quantized values is these sums, requantized by the epilogue.

    %0 = cpu.int8_sum_pool2d %x zero_point 3 kernel [7, 7] : tensor<1x4x1x1x16xi32>
    """

    name = "cpu.int8_sum_pool2d"
    input = operand_def(TensorType)
    zero_point = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    kernel = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    ceil_mode = opt_prop_def(UnitAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The blocked sums of as many channels."""
        (image,) = operands[:1]
        check_window(attributes)
        check_rank(image, 5, "the input")
        _check_byte(image, "input")
        batch, block, *plane, lanes = image.get_shape()
        height, width = window_shape(
            plane, attributes.ints("kernel"), attributes, attributes.has("ceil_mode")
        )
        return [tensor_type((batch, block, height, width, lanes), i32)]


@irdl_op_definition
class Int8MatmulOp(WeightedInt8Op, ProductOp):
    """Int8 matmul with packed constant weights.

    input [..., M, K] row-major, weights packed, bias [N] of i32 -> [..., M, N]. The input's bytes
    may be stored as i16, as those of `cpu.int8_conv2d` may.
    """

    name = "cpu.int8_matmul"
    config = opt_prop_def(MatmulConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The sums [..., M, N]; the bias says N."""
        lhs, weights, bias = operands[:3]
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 1, "the bias")
        _check_bytes(lhs, weights)
        check_panels(attributes)
        return [tensor_type((*lhs.get_shape()[:-1], bias.get_shape()[0]), i32)]


@irdl_op_definition
class Int8BatchMatmulOp(Int8Op):
    """Int8 matmul with dynamic operands, over batch axes that may repeat either.

    Axis i of the left matrices [..., M, K] is axis `lhs_axes[i]` of lhs, the same on the
    right ([..., K, N]); axis i of the result is axis `result_axes[i]` of [..., M, N], as in
    `cpu.batch_matmul`. lhs has unsigned bytes, rhs either; `points` are their zero points,
    [2] of i32. `plain_lhs` says that the first is 0, `plain_rhs` that the second is the
    one of signed bytes around 0 (0, or 128 where they are unsigned).

    %s = cpu.int8_batch_matmul %q, %k, %points lhs_axes [0, 2, 1, 3] rhs_axes [0, 2, 3, 1]
        result_axes [0, 1, 2, 3] : tensor<1x12x128x128xi32>
    """

    name = "cpu.int8_batch_matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    points = operand_def(TensorType)
    lhs_axes = prop_def(DenseArrayBase)
    rhs_axes = prop_def(DenseArrayBase)
    result_axes = prop_def(DenseArrayBase)
    plain_lhs = opt_prop_def(UnitAttr)
    plain_rhs = opt_prop_def(UnitAttr)
    config = opt_prop_def(MatmulConfigAttr)

    @classmethod
    def kind_of_operand(
        cls, shape: tuple[int, ...], result: tuple[int, ...]
    ) -> OperandKind | None:
        """One element for each of the result, or one for all."""
        if shape == result:
            return "full"
        return "scalar" if prod(shape) == 1 else None

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The permuted sums."""
        lhs, rhs, points = operands[:3]
        _check_bytes(lhs, rhs)
        fail_unless(
            lhs.element_type == IntegerType(8, Signedness.UNSIGNED),
            f"the input must be unsigned bytes, not {lhs}",
        )
        fail_unless(
            points == tensor_type((2,), i32), f"there must be two points, not {points}"
        )
        left = permuted(lhs.get_shape(), attributes.ints("lhs_axes"))
        right = permuted(rhs.get_shape(), attributes.ints("rhs_axes"))
        fail_unless(
            len(left) == len(right) >= 2 and left[-1] == right[-2],
            f"there is no product of {list(left)} and {list(right)}",
        )
        batch = broadcast_shape([left[:-2], right[:-2]])
        whole = (*batch, left[-2], right[-1])
        return [tensor_type(permuted(whole, attributes.ints("result_axes")), i32)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
