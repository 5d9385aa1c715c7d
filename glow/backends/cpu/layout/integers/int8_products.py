"""Int8 matmuls with dynamic operands become the kernel that packs one on the fly.

    %0 = glow.matmul_integer %q, %k, %q_zero_point, %k_zero_point : tensor<2x9x9xi32>
  becomes
    %0 = cpu.int8_batch_matmul %q, %k, %points lhs_axes [0, 1, 2] rhs_axes [0, 1, 2]
        result_axes [0, 1, 2] : tensor<2x9x9xi32>

A signed left operand becomes an unsigned one, 128 higher like its zero point.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.dialects.weights import constant_value
from glow.passes.rewriting.node_builder import NodeBuilder, element_type

U8 = IntegerType(8, Signedness.UNSIGNED)
SIGN = 128
"""How much higher unsigned bytes are that stand for signed ones."""


def convert(builder: NodeBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """The value's elements in another type."""
    if element_type(value) == element:
        return value
    types = [tensor_type(shape_of(value), element)]
    return builder.create(glow.ConvertOp, [value], {}, types=types)


def is_signed(value: SSAValue) -> bool:
    """Whether a tensor of bytes has signs."""
    return element_type(value) != U8


def raised(builder: NodeBuilder, value: SSAValue) -> SSAValue:
    """The value in i32, 128 higher."""
    wide = convert(builder, value, i32)
    return builder.node(glow.AddOp, wide, builder.splat(SIGN, i32))


def point_of(value: SSAValue | None) -> int | None:
    """A constant zero point; None where it is computed."""
    array = np.zeros(1) if value is None else constant_value(value)
    return None if array is None else int(array.reshape(()).item())


def points_operand(
    builder: NodeBuilder, points: list[SSAValue | None], raise_lhs: bool
) -> SSAValue:
    """Both zero points, [2] of i32."""
    known = [point_of(point) for point in points]
    if None not in known:
        numbers = np.array(known, np.int32) + np.array([raise_lhs * SIGN, 0], np.int32)
        return builder.constant(numbers.astype(np.int32), "points")
    wide: list[SSAValue] = []
    for point, is_raised in zip(points, (raise_lhs, False), strict=True):
        assert point is not None
        number = builder.reshape(point, (1,))
        wide.append(
            raised(builder, number) if is_raised else convert(builder, number, i32)
        )
    return builder.node(glow.ConcatOp, *wide, axis=0)


def of_rank(builder: NodeBuilder, value: SSAValue, rank: int) -> SSAValue:
    """The value with as many axes, those in front of extent 1."""
    shape = shape_of(value)
    return builder.reshape(value, (1,) * (rank - len(shape)) + tuple(shape))


def int8_matmul(op: glow.MatmulIntegerOp) -> None:
    """Replace an int8 matmul with dynamic operands."""
    builder, rank = NodeBuilder(op), len(shape_of(op.result))
    points = [op.lhs_zero_point, op.rhs_zero_point]
    raise_lhs = is_signed(op.lhs)
    lhs = convert(builder, raised(builder, op.lhs), U8) if raise_lhs else op.lhs
    centre = 0 if is_signed(op.rhs) else SIGN
    axes = list(range(rank))
    builder.replace(
        builder.node(
            cpu.Int8BatchMatmulOp,
            of_rank(builder, lhs, rank),
            of_rank(builder, op.rhs, rank),
            points_operand(builder, points, raise_lhs),
            lhs_axes=axes,
            rhs_axes=axes,
            result_axes=axes,
            plain_lhs=point_of(points[0]) == (-SIGN if raise_lhs else 0),
            plain_rhs=point_of(points[1]) == centre,
        )
    )
