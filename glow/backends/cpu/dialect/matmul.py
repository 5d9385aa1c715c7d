"""Matrix products with packed weights, and what Strassen's method adds."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    TensorType,
    UnitAttr,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.backends.cpu.dialect.config_attributes import (
    BatchMatmulConfigAttr,
    MatmulConfigAttr,
    PanelsAttr,
    StrassenConfigAttr,
    check_panels,
)
from glow.backends.cpu.dialect.epilogue import EpilogueOp, OperandKind, WeightedOp
from glow.dialects.attributes import Attributes, int_attr
from glow.dialects.glow.convolution import check_rank
from glow.dialects.glow.quantization import WEIGHT_BITS
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

STRASSEN_LEVELS = {7: 1, 49: 2}
"""How often matrices are cut into quadrants, by the number of products."""


class ProductOp(WeightedOp):
    """A product of matrices: its channels are the last axis, whatever the rank is."""

    @classmethod
    def kind_of_operand(
        cls, shape: tuple[int, ...], result: tuple[int, ...]
    ) -> OperandKind | None:
        """How an epilogue operand is read: batches of matrices take whole tensors and numbers."""
        if len(result) in (2, 3) or shape == result or prod(shape) == 1:
            return super().kind_of_operand(shape, result)
        return None


@irdl_op_definition
class MatmulOp(ProductOp):
    """Product with packed constant weights.

    input [..., M, K] row-major, weights packed, bias [N] -> [..., M, N].
    """

    name = "cpu.matmul"
    config = opt_prop_def(MatmulConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N]; the bias says N."""
        lhs, weights, bias = operands[:3]
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 1, "the bias")
        check_panels(attributes)
        shape = (*lhs.get_shape()[:-1], bias.get_shape()[0])
        return [tensor_type(shape, lhs.element_type)]


def check_block_format(weights: TensorType[Attribute], attributes: Attributes) -> None:
    """Fail unless weights are words of codes of a few bits in blocks."""
    is_words = weights.element_type == i32
    fail_unless(is_words, f"packed weights are words, not {weights}")
    bits, size = attributes.int("bits"), attributes.int("block_size")
    fail_unless(bits in WEIGHT_BITS, f"weights have 2, 4 or 8 bits, not {bits}")
    fail_unless(size > 0, f"blocks have at least one weight, not {size}")


class BlockWeightsOp(ProductOp):
    """A product with packed words of codes of a few bits, and the scales of their blocks.

    `bits` of a weight, `block_size` weights of a column have one scale; with `points` a zero point
    too.
    """

    bits = prop_def(IntegerAttr.constr(i64), default_value=int_attr(4))
    block_size = prop_def(IntegerAttr.constr(i64))
    points = opt_prop_def(UnitAttr)
    config = opt_prop_def(MatmulConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def check_weights(
        cls,
        weights: TensorType[Attribute],
        bias: TensorType[Attribute],
        attributes: Attributes,
    ) -> None:
        """Fail unless weights are words of codes of a few bits in blocks."""
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 1, "the bias")
        check_panels(attributes)
        check_block_format(weights, attributes)


@irdl_op_definition
class BlockQuantizedMatmulOp(BlockWeightsOp):
    """`cpu.matmul` with weights of a few bits, which stay so in memory.

    input [..., M, K] of f32, row-major; weights as `kernels/matmul/block_quantized_weights.py`
    packs them; bias [N] -> [..., M, N].

    %y = cpu.block_quantized_matmul %x, %w.packed, %b bits 4 block_size 32 : tensor<1x4096xf32>
    """

    name = "cpu.block_quantized_matmul"

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N]; the bias says N."""
        lhs, weights, bias = operands[:3]
        cls.check_weights(weights, bias, attributes)
        shape = (*lhs.get_shape()[:-1], bias.get_shape()[0])
        return [tensor_type(shape, lhs.element_type)]


@irdl_op_definition
class Int8BlockQuantizedMatmulOp(BlockWeightsOp):
    """`cpu.block_quantized_matmul` of rows that are quantized in blocks, too.

    scales and sums [..., M, B], input [..., M, K] of `cpu.block_quantize`; weights packed in
    another order, bias [N] -> [..., M, N] of f32.

    %y = cpu.int8_block_quantized_matmul %s, %t, %q, %w.packed, %b block_size 32 : tensor<1x64xf32>
    """

    name = "cpu.int8_block_quantized_matmul"
    scales = operand_def(TensorType)
    sums = operand_def(TensorType)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., M, N]; the bias says N."""
        scales, sums, lhs, weights, bias = operands[:5]
        cls.check_weights(weights, bias, attributes)
        fail_unless(lhs.get_num_dims() > 0, f"rows have a depth, {lhs} has none")
        *outer, depth = lhs.get_shape()
        blocks = -(-depth // attributes.int("block_size"))
        expected = tensor_type((*outer, blocks), f32)
        fail_unless(
            lhs.element_type == i8 and scales == sums == expected,
            f"rows have bytes, their blocks scales and sums of {expected}: not {lhs}, "
            f"{scales} and {sums}",
        )
        return [tensor_type((*outer, bias.get_shape()[0]), f32)]


def permuted(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with its axes in another order; fails where they are no permutation."""
    fail_unless(
        sorted(axes) == list(range(len(shape))),
        f"{list(axes)} is not a permutation of {len(shape)} axes",
    )
    return tuple(shape[axis] for axis in axes)


@irdl_op_definition
class BatchMatmulOp(EpilogueOp):
    """`glow.matmul` between transpositions that are never made, with an epilogue.

    Axis i of the left matrices [..., M, K] is axis `lhs_axes[i]` of lhs, the same on the
    right ([..., K, N]); axis i of the result is axis `result_axes[i]` of [..., M, N]. Batches
    are equal, or there is one matrix on the right, whose rows then are all but the last axis
    of lhs, which lies in its own order.

    %0 = cpu.batch_matmul %x, %w lhs_axes [0, 1, 2] rhs_axes [1, 0] result_axes [0, 1, 2]
        : tensor<8x128x384xf32>
    """

    name = "cpu.batch_matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    lhs_axes = prop_def(DenseArrayBase)
    rhs_axes = prop_def(DenseArrayBase)
    result_axes = prop_def(DenseArrayBase)
    config = opt_prop_def(BatchMatmulConfigAttr)

    @classmethod
    def kind_of_operand(
        cls, shape: tuple[int, ...], result: tuple[int, ...]
    ) -> OperandKind | None:
        """One element for each of the result, a column, a row of one matrix, or for all."""
        if shape == result:
            return "full"
        if prod(shape) == 1:
            return "scalar"
        if shape[-1] == result[-1] == prod(shape):
            return "channel"
        return "row" if len(result) == 2 and shape == (result[0], 1) else None

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The permuted result."""
        axes = attributes.ints("lhs_axes"), attributes.ints("result_axes")
        left = permuted(operands[0].get_shape(), axes[0])
        right = permuted(operands[1].get_shape(), attributes.ints("rhs_axes"))
        batches = left[:-2] == right[:-2] or len(right) == 2
        fail_unless(
            len(left) >= len(right) >= 2 and batches and left[-1] == right[-2],
            f"there is no product of {list(left)} and {list(right)}",
        )
        shape = permuted((*left[:-1], right[-1]), axes[1])
        fail_unless(
            len(left) == len(right) or all(list(a) == sorted(a) for a in axes),
            "one matrix multiplies rows that lie in another order",
        )
        return [tensor_type(shape, operands[0].element_type)]


@irdl_op_definition
class StrassenCombinationsOp(NodeOp):
    """The linear combinations that `cpu.strassen_matmul` multiplies, and the sizes of rows.

    input [..., K], all but the last axis counted as rows M -> sums [7, M / 2, K / 2] and
    scales [M]; with two `levels` the sums of each sum's quadrants, [49, M / 4, K / 4]. With one
    level M is rounded up to an even number: the last row counts twice. Each row is divided by its
    scale before, the power of two below its largest element. The 2 (or 4) rows that share sums
    have the scale NaN if one of them has an infinity or NaN.

    %sums, %scales = cpu.strassen_combinations %x levels 1 : tensor<7x64x384xf32>, tensor<128xf32>
    """

    name = "cpu.strassen_combinations"
    input = operand_def(TensorType)
    sums = result_def(TensorType)
    scales = result_def(TensorType)
    levels = prop_def(IntegerAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """Seven quadrants, or seven of each, and a number for each row."""
        fail_unless(operands[0].get_num_dims() > 0, "the input has no columns")
        *outer, columns = operands[0].get_shape()
        rows, levels = prod(outer), attributes.int("levels")
        fail_unless(levels in (1, 2), f"there are one or two levels, not {levels}")
        parts = 2**levels
        fail_unless(
            (levels == 1 or rows % parts == 0) and columns % parts == 0,
            f"{rows} rows and {columns} columns have no equal quadrants",
        )
        rows = -(-rows // parts)
        shape, element = (7**levels, rows, columns // parts), operands[0]
        sizes = (shape, (rows * parts,))
        return [tensor_type(size, element.element_type) for size in sizes]


@irdl_op_definition
class StrassenMatmulOp(ProductOp):
    """`cpu.matmul` by seven half-size products instead of eight, or 49 instead of 64.

    matrix [*outer, K], scales [M] and input [7, M / 2, K / 2] or [49, M / 4, K / 4] of
    `cpu.strassen_combinations`, weights as many packed factors, bias [N] -> [*outer, N],
    where `outer` are the axes that make up the rows M. Rows whose scale is NaN are direct
    sums of the matrix, the weights taken back from their factors: an infinity stays in its row.
    """

    name = "cpu.strassen_matmul"
    matrix = operand_def(TensorType)
    scales = operand_def(TensorType)
    outer = prop_def(DenseArrayBase)
    config = opt_prop_def(StrassenConfigAttr)
    panels = opt_prop_def(PanelsAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [*outer, N]; the bias says N."""
        matrix, scales, sums, weights, bias = operands[:5]
        check_panels(attributes)
        check_rank(sums, 3, "the sums")
        check_rank(weights, 1, "packed weights")
        check_rank(bias, 1, "the bias")
        products, rows, depth = sums.get_shape()
        outer = attributes.ints("outer")
        fail_unless(
            products in STRASSEN_LEVELS, f"there must be 7 or 49 sums, not {products}"
        )
        parts = 2 ** STRASSEN_LEVELS[products]
        rows, depth = rows * parts, depth * parts
        whole = prod(outer) + (parts == 2 and prod(outer) % 2)
        fail_unless(whole == rows, f"{list(outer)} are not {rows} rows")
        fail_unless(
            matrix.get_shape() == (*outer, depth),
            f"the matrix must be {[*outer, depth]}, not {list(matrix.get_shape())}",
        )
        fail_unless(
            scales.get_shape() == (rows,),
            f"there must be {rows} scales, not {list(scales.get_shape())}",
        )
        shape = (*outer, bias.get_shape()[0])
        return [tensor_type(shape, sums.element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
