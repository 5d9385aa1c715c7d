"""Whole numbers times constants without floating point: `(x * factor + half) >> shift`.

The product has 64 bits, but where the shift is longer than 32 its lower half does not reach the
result: the upper half, plus the upper half of `half`, shifted by the rest is the same number.
That is a multiplication that keeps the upper half of 32 bits, of which processors do many at
once. Small numbers, such as bytes less a zero point, are shifted to the left before, so that
large multipliers have long shifts too; what still has not is computed in 64 bits.

    %y = glow.fused %x, %factor, %half, %shift {
      %x_wide = arith.extsi %x : i32 to i64
      %factor_wide = arith.extsi %factor : i32 to i64
      %product = arith.muli %x_wide, %factor_wide : i64
      %upper = arith.shrsi %product, %thirty_two : i64
      %high = arith.trunci %upper : i64 to i32
      %sum = arith.addi %high, %half : i32
      %result = arith.shrsi %sum, %shift : i32
    } : tensor<4xi32>
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.glow.elementwise import broadcast_shape
from glow.dialects.node import shape_of, tensor_type
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import fixed_points
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.scalar_builder import ScalarBuilder, convert

WORD = 32
LONGEST = 2 * WORD - 1
"""The longest shift whose rounding constant does not overflow the upper half."""


def fixed_product(
    builder: NodeBuilder, value: SSAValue, multiplier: Array, bits: int
) -> SSAValue:
    """Integers of so many bits and a sign times constants, rounded: i32, or i64 if they must."""
    factors, shifts = fixed_points(multiplier)
    shifts = np.where(factors == 0, LONGEST, shifts)
    left = max(0, WORD + 1 - int(shifts.min()))
    if element_type(value) != i32 or left + bits >= WORD:
        return _wide(builder, value, factors, np.minimum(shifts, LONGEST - 1))
    rest = np.minimum(shifts + left, LONGEST) - WORD
    return _high(builder, value, left, (factors, 1 << (rest - 1), rest))


def _wide(
    builder: NodeBuilder, value: SSAValue, factors: Array, shifts: Array
) -> SSAValue:
    """The numbers as i64."""
    half = np.int64(1) << (shifts - 1)
    operands = _operands(builder, value, (factors, half, shifts), i64)
    block = Block(arg_types=[element_type(operand) for operand in operands])
    scalar, (x, factor, addend, shift) = ScalarBuilder(block), block.args
    product = scalar.mul(convert(scalar, x, i64), factor)
    scalar.yield_(scalar.binary(arith.ShRSIOp, scalar.add(product, addend), shift))
    return _fused(builder, operands, block, i64)


def _high(
    builder: NodeBuilder, value: SSAValue, left: int, constants: Sequence[Array]
) -> SSAValue:
    """The numbers as i32, from the upper halves of products."""
    operands = _operands(builder, value, constants, i32)
    block = Block(arg_types=[i32] * len(operands))
    scalar, (x, factor, addend, shift) = ScalarBuilder(block), block.args
    if left:
        x = scalar.binary(arith.ShLIOp, x, scalar.constant(left, i32))
    product = scalar.mul(convert(scalar, x, i64), convert(scalar, factor, i64))
    upper = scalar.binary(arith.ShRSIOp, product, scalar.constant(WORD, i64))
    total = scalar.add(convert(scalar, upper, i32), addend)
    scalar.yield_(scalar.binary(arith.ShRSIOp, total, shift))
    return _fused(builder, operands, block, i32)


def _operands(
    builder: NodeBuilder,
    value: SSAValue,
    constants: Sequence[Array],
    element: Attribute,
) -> list[SSAValue]:
    """The value and the constants, splats where they are one number."""
    operands = [value]
    for constant in constants:
        array = np.asarray(constant, np.int32 if element == i32 else np.int64)
        operands.append(
            builder.splat(array.reshape(-1)[0].item(), element)
            if array.size == 1
            else builder.constant(array, "fixed_point")
        )
    return operands


def _fused(
    builder: NodeBuilder, operands: Sequence[SSAValue], block: Block, element: Attribute
) -> SSAValue:
    shape = broadcast_shape([shape_of(operand) for operand in operands])
    return builder.create(
        glow.FusedOp,
        operands,
        {},
        types=[tensor_type(shape, element)],
        regions=[Region(block)],
    )
