"""Products of matrices and convolutions.

Any axes of a product may be batches, contracted or free: they are put in order by a
transposition and a reshape, of which none is left where they are in order already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.stablehlo.attributes import ConvAttr, DotAttr
from glow.dialects.weight_table import dtype_of
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder


@dataclass(frozen=True)
class Side:
    """An operand of a product: its axes by what they are."""

    value: SSAValue
    batches: Sequence[int]
    contracted: Sequence[int]

    @property
    def free(self) -> list[int]:
        """The axes that only this operand has."""
        taken = {*self.batches, *self.contracted}
        return [axis for axis in range(len(self.shape)) if axis not in taken]

    @property
    def shape(self) -> tuple[int, ...]:
        """The operand's shape."""
        return shape_of(self.value)

    def size(self, axes: Sequence[int]) -> int:
        """The product of some axes' sizes."""
        return prod(self.shape[axis] for axis in axes)

    def arranged(self, builder: HloBuilder, *groups: Sequence[int]) -> SSAValue:
        """The operand with its batches, and then each group of axes as one."""
        order = [*self.batches, *(axis for group in groups for axis in group)]
        sizes = [self.shape[axis] for axis in self.batches]
        moved = builder.transpose(self.value, order)
        return builder.reshape(moved, [*sizes, *map(self.size, groups)])

    def is_ordered(self, *groups: Sequence[int]) -> bool:
        """Whether the axes are in that order already."""
        order = [*self.batches, *(axis for group in groups for axis in group)]
        return order == list(range(len(order)))


BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


def dot_general(builder: HloBuilder) -> SSAValue:
    """A product with any axes as batches and contracted ones."""
    numbers = builder.op.properties.get("dot_dimension_numbers")
    if not isinstance(numbers, DotAttr):
        raise GlowError("a product without dot_dimension_numbers")
    lhs, rhs = _of_one_type(builder)
    left = Side(
        lhs,
        numbers.integers("lhs_batching_dimensions"),
        numbers.integers("lhs_contracting_dimensions"),
    )
    right = Side(
        rhs,
        numbers.integers("rhs_batching_dimensions"),
        numbers.integers("rhs_contracting_dimensions"),
    )
    return product(builder, left, right)


def dot(builder: HloBuilder) -> SSAValue:
    """The last axis of the first with the first of the second."""
    lhs, rhs = _of_one_type(builder)
    last = len(shape_of(lhs)) - 1
    return product(builder, Side(lhs, [], [last]), Side(rhs, [], [0]))


def _of_one_type(builder: HloBuilder) -> list[SSAValue]:
    """The operands in the element type of the result, which may be wider."""
    wanted = builder.result.element_type
    operands = list(builder.op.operands)
    is_bytes = all(dtype_of(element_of(one)) in BYTES for one in operands)
    if is_quantized(builder.result):
        return operands
    if is_bytes and wanted != element_of(operands[0]):
        return operands
    return [builder.convert(one, wanted) for one in operands]


def product(builder: HloBuilder, left: Side, right: Side) -> SSAValue:
    """The product, of the shape [batches, free of the left, free of the right]."""
    shape = builder.result.get_shape()
    result_type = builder.result
    if _is_linear(left, right) and element_of(left.value) == result_type.element_type:
        operands, turned = [left.value, right.value], right.contracted == [1]
        return builder.typed(glow.MatmulOp, operands, shape, transpose_rhs=turned)
    rows = left.arranged(builder, left.free, left.contracted)
    if not is_quantized(result_type) and element_of(rows) != result_type.element_type:
        columns = right.arranged(builder, right.contracted, right.free)
        return builder.reshape(builder.node(glow.MatmulIntegerOp, rows, columns), shape)
    is_transposed = not right.is_ordered(right.contracted, right.free)
    if is_transposed:
        columns = right.arranged(builder, right.free, right.contracted)
    else:
        columns = right.arranged(builder, right.contracted, right.free)
    flat = [*shape_of(rows)[:-1], right.size(right.free)]
    result = builder.typed(
        glow.MatmulOp, [rows, columns], flat, transpose_rhs=is_transposed
    )
    return builder.reshape(result, shape)


def _is_linear(left: Side, right: Side) -> bool:
    """Whether the last axis meets a matrix, as in linear layers, which need no reshape."""
    rank = len(left.shape)
    is_matrix = len(right.shape) == 2 and len(right.contracted) == 1
    return is_matrix and rank > 1 and not left.batches and left.contracted == [rank - 1]


def convolution(builder: HloBuilder) -> SSAValue:
    """A convolution of one to three spatial dimensions, in any order of dimensions."""
    op = builder.op
    numbers = op.properties.get("dimension_numbers")
    if not isinstance(numbers, ConvAttr):
        raise GlowError("a convolution without dimension_numbers")
    source, kernel, target = (
        [name.data for name in names]
        for names in (numbers.input, numbers.kernel, numbers.output)
    )
    spatial = sorted((name for name in source if name.isdigit()), key=int)
    if not 1 <= len(spatial) <= 3:
        raise GlowError(f"a convolution of {len(spatial)} spatial dimensions")
    value, weights = op.operands
    value = builder.transpose(value, [source.index(n) for n in ("b", "f", *spatial)])
    weights = builder.transpose(
        weights, [kernel.index(n) for n in ("o", "i", *spatial)]
    )
    weights = _reversed(builder, weights)
    batches = op.integer("batch_group_count", 1)
    if batches != 1:
        value = _batches_as_features(builder, value, batches)
    groups = op.integer("feature_group_count", 1) * batches
    result = _convolve(builder, value, weights, groups)
    return builder.transpose(result, [("b", "f", *spatial).index(n) for n in target])


def _reversed(builder: HloBuilder, weights: SSAValue) -> SSAValue:
    """The weights, backwards along the axes that say so."""
    flags = [False, False, *map(bool, builder.op.integers("window_reversal", ()))]
    if not any(flags):
        return weights
    shape = shape_of(weights)
    starts = [n - 1 if flag else 0 for n, flag in zip(shape, flags, strict=True)]
    return builder.slice(weights, starts, shape, [-1 if flag else 1 for flag in flags])


def _batches_as_features(builder: HloBuilder, value: SSAValue, count: int) -> SSAValue:
    """[count * b, f, ...] as [b, count * f, ...]: groups of batches are groups of features."""
    batch, features, *space = shape_of(value)
    parts = [count, batch // count, features, *space]
    order = [1, 0, *range(2, len(parts))]
    moved = builder.transpose(builder.reshape(value, parts), order)
    return builder.reshape(moved, [batch // count, count * features, *space])


def _convolve(
    builder: HloBuilder, value: SSAValue, weights: SSAValue, groups: int
) -> SSAValue:
    """The convolution in the order of `glow`: batch, features, space."""
    op, rank = builder.op, len(shape_of(value)) - 2
    ones = [1] * rank
    strides = op.integers("window_strides", ones)
    dilations = op.integers("rhs_dilation", ones)
    apart = op.integers("lhs_dilation", ones)
    pads = np.array(op.integers("padding", [0] * 2 * rank)).reshape(rank, 2)
    low, high = pads[:, 0].tolist(), pads[:, 1].tolist()
    wanted = builder.result.element_type
    value, weights = builder.convert(value, wanted), builder.convert(weights, wanted)
    if max(apart) > 1 or min(*low, *high) < 0:
        value = builder.dilate(value, [0, 0, *(one - 1 for one in apart)])
        value = builder.pad(value, [0, 0, *low], [0, 0, *high])
        low, high = [0] * rank, [0] * rank
    flat = rank == 1
    if flat:
        (batch, features, size), (outs, ins, taps) = shape_of(value), shape_of(weights)
        value = builder.reshape(value, [batch, features, 1, size])
        weights = builder.reshape(weights, [outs, ins, 1, taps])
        strides, dilations = [1, *strides], [1, *dilations]
        low, high = [0, *low], [0, *high]
    node = glow.Conv3dOp if rank == 3 else glow.Conv2dOp
    result = builder.node(
        node,
        value,
        weights,
        strides=strides,
        pads=[*low, *high],
        dilations=dilations,
        group=groups,
    )
    if flat:
        batch, features, _, size = shape_of(result)
        result = builder.reshape(result, [batch, features, size])
    return result


HANDLERS: Handlers = {
    "stablehlo.convolution": convolution,
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot_general,
}
