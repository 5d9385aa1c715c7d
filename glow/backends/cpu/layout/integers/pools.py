"""Average pools of quantized values become sums of their bytes.

A quantized average is lowered to the mean of floats, times their number, rounded: whole sums.

    %1 = glow.convert %0 : tensor<1x64x7x7xf32>               (of bytes)
    %2 = glow.sub %1, %z : tensor<1x64x7x7xf32>               (the zero point, if any)
    %3 = glow.avg_pool2d %2 kernel [7, 7] : tensor<1x64x1x1xf32>
    %4 = glow.mul %3, %count : tensor<1x64x1x1xf32>
    %5 = glow.round %4 : tensor<1x64x1x1xf32>
  becomes
    %s = cpu.int8_sum_pool2d %0 zero_point 3 kernel [7, 7] : tensor<1x4x1x1x16xi32>
    %5 = glow.convert %s : tensor<1x4x1x1x16xf32>

`fuse-epilogue` moves the requantization behind it into the node. So bytes are read where four
times as much memory would hold floats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.integers.int8_products import U8, convert
from glow.backends.cpu.layout.layout import Layout, blocked_source
from glow.backends.cpu.layout.propagation import propagate
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.interpreter.convolution import window_counts
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    element_type,
    erase,
)

BYTES = (U8, i8)

EXACT_BITS = 24
"""An f32 holds whole numbers of that many bits; f64 those of any window."""

WINDOW = ("kernel", "strides", "pads", "dilations", "ceil_mode")


@dataclass(frozen=True)
class Bytes:
    """Blocked bytes less a zero point."""

    stored: SSAValue
    zero_point: int


def average_pool(layout: Layout, op: Operation) -> None:
    """`glow.avg_pool2d`."""
    assert isinstance(op, glow.AvgPool2dOp)
    product = op.result.get_user_of_unique_use()
    centred, rounding = bytes_of(op.input), None
    if isinstance(product, glow.MulOp) and centred is not None:
        rounding = product.result.get_user_of_unique_use()
    if (
        centred is None
        or not isinstance(product, glow.MulOp)
        or not isinstance(rounding, glow.RoundOp)
        or not is_sum(op, product)
    ):
        propagate(layout, op)
        return
    last: NodeOp = rounding
    reader = rounding.result.get_user_of_unique_use()
    if isinstance(reader, glow.ConvertOp) and element_type(reader.result) == i32:
        last = reader
    builder = NodeBuilder(last)
    sums = builder.node(
        cpu.Int8SumPool2dOp,
        centred.stored,
        zero_point=centred.zero_point,
        **{key: of for key, of in attributes_of(op).items() if key in WINDOW},
    )
    assert isinstance(sums.owner, Operation)
    sums.owner.location = op.location
    layout.replace(builder, convert(builder, sums, element_type(last.results[0])))
    for step in (rounding, product, op):
        if step is not last:
            erase(step)


def bytes_of(value: SSAValue) -> Bytes | None:
    """The blocked bytes of which a value is the floats."""
    floats, zero_point = blocked_source(value), 0
    if floats is not None and isinstance(floats.owner, glow.SubOp):
        floats, point = floats.owner.inputs
        number = constant_value(point)
        if number is None or number.size != 1:
            return None
        zero_point = int(number.item())
    if floats is None or not isinstance(floats.owner, glow.ConvertOp):
        return None
    stored = floats.owner.operand
    return Bytes(stored, zero_point) if element_type(stored) in BYTES else None


def is_sum(op: glow.AvgPool2dOp, product: NodeOp) -> bool:
    """Whether a product is with the numbers of elements, and their sums are exact."""
    lhs, rhs = product.inputs
    numbers = constant_value(rhs if lhs is op.result else lhs)
    counts = window_counts(op.attributes_view(), shape_of(op.input)[2:4])
    largest = float(counts.max()) * (1 << 8)
    if numbers is None or (element_type(op.result) == f32 and largest >= 2**EXACT_BITS):
        return False
    return numbers.ndim <= counts.ndim and np.array_equal(
        np.broadcast_to(numbers, counts.shape), counts
    )
