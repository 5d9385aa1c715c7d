"""Lookups of one element of each row are tuples of it, not places in all rows one after the other.

Exporters without GatherND number the elements of all rows, so that the numbers depend on how long
rows are, padding included:

    %flat = glow.reshape %x : tensor<32x8xf32>                                  // 2 x 16 x 8
    %place = glow.arg_max %ids axis 1 : tensor<2xi64>
    %number = glow.add %place, %begin : tensor<2xi64>                           // [0, 16]
    %y = glow.gather %flat, %number : tensor<2x8xf32>
  becomes
    %0 = glow.reshape %place : tensor<2x1xi64>
    %y = glow.gather_nd %x, %0 batch_dims 1 : tensor<2x8xf32>

Only of places that are in their row: a negative number would be one of the row before.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weights import constant_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass

CHOICES = (glow.ArgMaxOp, glow.ArgMinOp)
SAME_NUMBERS = (glow.ConvertOp, glow.ReshapeOp)


def separate(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The lookup of a tuple in each row."""
    assert isinstance(op, glow.GatherOp)
    flat, numbers = op.input.owner, op.indices.owner
    if not isinstance(flat, glow.ReshapeOp) or not isinstance(numbers, glow.AddOp):
        return None
    rows, *rest = shape_of(flat.input)
    if op.attributes_view().int("axis") or [*shape_of(op.input)[1:]] != rest[1:]:
        return None
    if not rest or rows * rest[0] != shape_of(op.input)[0]:
        return None
    for place, begin in (numbers.inputs, numbers.inputs[::-1]):
        if _begins_rows(begin, rows, rest[0]) and _is_in_row(place, rest[0]):
            if shape_of(place) == (rows,):
                return _tuples(builder, flat.input, place)
    return None


def _tuples(builder: NodeBuilder, rows: SSAValue, place: SSAValue) -> SSAValue:
    if element_of(place) != i64:
        types = [tensor_type(shape_of(place), i64)]
        place = builder.create(glow.ConvertOp, [place], {}, types=types)
    places = builder.reshape(place, (*shape_of(place), 1))
    return builder.node(glow.GatherNDOp, rows, places, batch_dims=1)


def _begins_rows(value: SSAValue, rows: int, size: int) -> bool:
    """Whether a constant is the number of the first element of each row."""
    numbers = constant_value(value)
    return numbers is not None and np.array_equal(numbers, np.arange(rows) * size)


def _is_in_row(value: SSAValue, size: int) -> bool:
    """Whether places are those of extreme elements, of no more than a row has."""
    while isinstance(value.owner, SAME_NUMBERS) and element_of(value) in (i32, i64):
        value = value.owner.inputs[0]
    choice = value.owner
    if not isinstance(choice, CHOICES):
        return False
    return shape_of(choice.input)[choice.attributes_view().int("axis")] <= size


class SeparateRowsPass(RewritePass):
    """Look up an element of each row by its place in the row."""

    name = "separate-rows"
    preserves = VALUES
    rewrites = {glow.GatherOp: (separate,)}
