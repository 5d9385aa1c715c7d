"""Nodes that exist for quantized networks only; `docs/quantization.md` defines them.

Constants of quantized elements, products, sums and pools are the ordinary nodes on
quantized element types, and the borders are `quant.qcast` and `quant.dcast`.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
)
from xdsl.utils.hints import isa

from glow.dialects.arith.casts import bit_width
from glow.dialects.attributes import Attributes, int_attr, ints_attr
from glow.dialects.glow.convolution import conv2d_shape
from glow.dialects.glow.elementwise import broadcast_shape, is_integer
from glow.dialects.glow.matmul import MatmulOp
from glow.dialects.glow.normalization import check_float
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type
from glow.dialects.quantized import (
    arithmetic_form,
    parameters_of,
    stored_type,
)

GRANULARITIES = ("row", "tensor")

WEIGHT_BITS = (2, 4, 8)
"""Of integers that have a scale for each block."""


@irdl_op_definition
class RescaleOp(NodeOp):
    """The same numbers under another scale and zero point (Glow's RescaleQuantized).

    With float operands `multiplier` and `addend`, which broadcast, it is
    `input * multiplier + addend`: a batch normalization between integers.
    """

    name = "glow.rescale"
    input = operand_def(TensorType)
    multiplier = opt_operand_def(TensorType)
    addend = opt_operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """Both are quantized per tensor; multiplier and addend come together."""
        shape = broadcast_shape([operand.get_shape() for operand in operands])
        fail_unless(
            shape == operands[0].get_shape() == results[0].get_shape(),
            lambda: f"rescale keeps the shape, not {operands[0]} to {results[0]}",
        )
        fail_unless(len(operands) != 2, "rescale needs both multiplier and addend")
        for operand in operands[1:]:
            fail_unless(
                operand.element_type == f32,
                f"multiplier and addend must have f32 elements, not {operand}",
            )

    def check_integer_form(self, operands: Types, results: Types) -> None:
        """The input and the result have one scale each."""
        arithmetic_form(operands[:1], results)


@irdl_op_definition
class LookupTableOp(NodeOp):
    """Any function of one element: `table[input - smallest stored value]`.

    `table` holds the stored integers of the result (Glow's IntLookupTable).
    """

    name = "glow.lookup_table"
    input = operand_def(TensorType)
    table = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def check(cls, operands: Types, attributes: Attributes, results: Types) -> None:
        """An entry for each stored value, in the result's storage type."""
        source, table = operands
        bits = parameters_of(source).bits
        expected = tensor_type((1 << bits,), stored_type(results[0]).element_type)
        fail_unless(
            table == expected,
            lambda: f"the table must have type {expected}, not {table}",
        )
        fail_unless(
            source.get_shape() == results[0].get_shape(),
            lambda: f"a lookup keeps the shape, not {source} to {results[0]}",
        )

    def check_integer_form(self, operands: Types, results: Types) -> None:
        """The input and the result have one scale each."""
        arithmetic_form(operands[:1], results)


@irdl_op_definition
class QuantizationProfileOp(IRDLOperation):
    """Records the distribution of a value under a name while the network runs.

        glow.quantization_profile %x "conv1" : tensor<1x64x56x56xf32>

    It has no result and an effect, so that no pass removes it.
    """

    name = "glow.quantization_profile"
    input = operand_def(TensorType)
    value_name = prop_def(StringAttr)
    assembly_format = "$input $value_name attr-dict `:` type($input)"


@irdl_op_definition
class DynamicMatmulOp(NodeOp):
    """Float product whose left operand is quantized on the fly, row by row.

    input [..., M, K] float, weights [K, N] quantized (per tensor or along axis 1), bias
    [N] float -> [..., M, N] float. `granularity` is `row` (a scale for each of the M
    rows) or `tensor`. Source: Glow's DynamicRowwiseQuantizedFullyConnected.
    """

    name = "glow.dynamic_matmul"
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    result = result_def(TensorType)
    granularity = prop_def(StringAttr, default_value=StringAttr("row"))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N] in the input's element type."""
        lhs, rhs = operands[0], operands[1]
        granularity = attributes.string("granularity")
        fail_unless(
            granularity in GRANULARITIES,
            f"unknown granularity '{granularity}', expected one of "
            + ", ".join(GRANULARITIES),
        )
        fail_unless(
            lhs.get_num_dims() >= 1
            and rhs.get_num_dims() == 2
            and lhs.get_shape()[-1] == rhs.get_shape()[0],
            lambda: f"the inner sizes must agree: {lhs} x {rhs}",
        )
        n = rhs.get_shape()[1]
        if len(operands) > 2:
            fail_unless(
                operands[2].get_shape() == (n,),
                lambda: f"the bias must have shape {n}, not {operands[2]}",
            )
        return [tensor_type((*lhs.get_shape()[:-1], n), lhs.element_type)]

    def check_integer_form(self, operands: Types, results: Types) -> None:
        """Only the weights are quantized."""
        data = parameters_of(operands[1])
        fail_unless(
            data.axis in (None, 1),
            f"weights must be quantized along axis 1, not {data.axis}",
        )
        fail_unless(
            operands[0] == tensor_type(operands[0].get_shape(), data.expressed),
            lambda: f"the input must have {data.expressed} elements, not {operands[0]}",
        )


U8 = IntegerType(8, Signedness.UNSIGNED)


@irdl_op_definition
class DynamicQuantizeOp(NodeOp):
    """Stored `ui8` values, scale and zero point of a tensor (ONNX DynamicQuantizeLinear-11).

    input f32 -> (input's shape ui8, scalar f32, scalar ui8).
    """

    name = "glow.dynamic_quantize"
    input = operand_def(TensorType)
    stored = result_def(TensorType)
    scale = result_def(TensorType)
    zero_point = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The stored values, the scale and the zero point."""
        fail_unless(
            operands[0].element_type == f32,
            lambda: f"the input must have f32 elements, not {operands[0]}",
        )
        fail_unless(
            prod(operands[0].get_shape()) > 0,
            lambda: f"{operands[0]} has no elements, and so no range",
        )
        return [
            tensor_type(operands[0].get_shape(), U8),
            tensor_type((), f32),
            tensor_type((), U8),
        ]


def _eight_bits(element_type: Attribute) -> bool:
    return isa(element_type, IntegerType) and element_type.width.data == 8


def _check_integer_operands(operands: Types) -> None:
    fail_unless(
        all(_eight_bits(operand.element_type) for operand in operands),
        lambda: (
            "integer products take 8-bit elements, not "
            + ", ".join(str(operand.element_type) for operand in operands)
        ),
    )
    fail_unless(len(operands) in (2, 4), "give both zero points or none")


@irdl_op_definition
class MatmulIntegerOp(NodeOp):
    """`(lhs - lhs_zero_point) x (rhs - rhs_zero_point)` in i32 (ONNX MatMulInteger-10).

    Zero points are computed at run time; they broadcast to their operand.
    """

    name = "glow.matmul_integer"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    lhs_zero_point = opt_operand_def(TensorType)
    rhs_zero_point = opt_operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N] of i32."""
        _check_integer_operands(operands)
        floats = [tensor_type(o.get_shape(), f32) for o in operands[:2]]
        definition = MatmulOp.get_irdl_definition()
        (result,) = MatmulOp.infer(floats, Attributes(definition, {}))
        return [tensor_type(result.get_shape(), i32)]


@irdl_op_definition
class Conv2dIntegerOp(NodeOp):
    """Convolution of 8-bit integers less their zero points, in i32 (ONNX ConvInteger-10)."""

    name = "glow.conv2d_integer"
    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    input_zero_point = opt_operand_def(TensorType)
    weights_zero_point = opt_operand_def(TensorType)
    result = result_def(TensorType)
    strides = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    pads = prop_def(DenseArrayBase, default_value=ints_attr(0, 0, 0, 0))
    dilations = prop_def(DenseArrayBase, default_value=ints_attr(1, 1))
    group = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [N, O, OH, OW] of i32."""
        _check_integer_operands(operands)
        return [tensor_type(conv2d_shape(operands[0], operands[1], attributes), i32)]


@irdl_op_definition
class BlockDequantizeOp(NodeOp):
    """Weights of a few bits as floats: `(codes - points) * scales`, rounded once.

    codes are integers of 2, 4 or 8 bits. Along `axis`, `block_size` neighbours have one scale and
    one zero point of the codes' type, 0 without points: scales and points have the codes' shape,
    with ceil(K / block_size) in the place of K. The result has the scales' element type.
    Where `row_bits` is not 0, products may round the rows that they multiply the weights with to so
    many bits, a block at a time. Source: ONNX DequantizeLinear-21 with a block size, ONNX Runtime's
    MatMulNBits.

    %w = glow.block_dequantize %codes, %scales axis 0 block_size 32 : tensor<64x48xf32>
    """

    name = "glow.block_dequantize"
    codes = operand_def(TensorType)
    scales = operand_def(TensorType)
    points = opt_operand_def(TensorType)
    result = result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))
    block_size = prop_def(IntegerAttr.constr(i64))
    row_bits = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The codes' shape, the scales' elements."""
        rounded = attributes.int("row_bits")
        fail_unless(rounded in (0, 8), f"row_bits must be 0 or 8, not {rounded}")
        codes, scales, *points = operands
        axis, size = attributes.int("axis"), attributes.int("block_size")
        element, shape = codes.element_type, list(codes.get_shape())
        fail_unless(
            is_integer(element) and bit_width(element) in WEIGHT_BITS,
            lambda: f"codes have integers of 2, 4 or 8 bits, not {element}",
        )
        check_float(cls, scales)
        fail_unless(
            0 <= axis < len(shape), lambda: f"there is no axis {axis} in {codes}"
        )
        fail_unless(size > 0, f"blocks have at least one element, not {size}")
        shape[axis] = -(-shape[axis] // size)
        fail_unless(
            list(scales.get_shape()) == shape,
            lambda: (
                f"blocks of {size} along axis {axis} need scales of shape {shape}, not {scales}"
            ),
        )
        for point in points:
            expected = tensor_type(shape, element)
            fail_unless(
                point == expected,
                f"zero points must have type {expected}, not {point}",
            )
        return [tensor_type(codes.get_shape(), scales.element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
