"""Attention whose heads share keys and values in groups, without the repeats.

    %w = glow.broadcast %k : tensor<1x2x4x9x8xf32>       (of 1x2x1x9x8; so the values)
    %r = glow.reshape %w : tensor<1x8x9x8xf32>
    %y = glow.attention %q, %r, %s : tensor<1x8x3x6xf32>
  becomes
    %p = glow.reshape %q : tensor<1x2x12x8xf32>
    %z = glow.attention %p, %k, %v : tensor<1x2x12x6xf32>
    %y = glow.reshape %z : tensor<1x8x3x6xf32>

The queries of a group of heads are rows of one head. A mask that differs by row is repeated for
the heads of a group, where that writes less than the repeats of keys and values.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, like


class Repeated(NamedTuple):
    """A value [..., heads, length, size] of which groups of heads are the same."""

    source: SSAValue
    """[..., groups, 1, length, size]."""
    members: int
    """The heads of a group."""


def repeated(value: SSAValue) -> Repeated | None:
    """What a value repeats for the heads of a group, if it does."""
    reshape = value.owner
    wide = reshape.operands[0].owner if isinstance(reshape, glow.ReshapeOp) else None
    if not isinstance(wide, glow.BroadcastOp | glow.TileOp):
        return None
    source, result = shape_of(wide.input), shape_of(wide.result)
    axis = len(result) - 3
    if len(source) != len(result) or axis < 1 or source[axis] != 1:
        return None
    rest = (*result[:axis], *result[axis + 1 :])
    heads = (*result[: axis - 1], result[axis - 1] * result[axis], *result[axis + 1 :])
    same = (*source[:axis], *source[axis + 1 :]) == rest
    return (
        Repeated(wide.input, result[axis])
        if same and heads == shape_of(value)
        else None
    )


def share_heads(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The attention of groups; None where heads share nothing."""
    queries, keys, values, *masks = op.inputs
    found = [repeated(keys), repeated(values)]
    if None in found or len({one.members for one in found if one}) != 1:
        return None
    *batch, heads, length, size = shape_of(queries)
    count = next(one.members for one in found if one)
    if shape_of(keys)[:-2] != (*batch, heads):
        return None
    saved = prod(shape_of(keys)) + prod(shape_of(values))
    if any(has_rows(mask) and count * prod(shape_of(mask)) > saved for mask in masks):
        return None
    masks = [grouped_mask(builder, mask, shape_of(queries), count) for mask in masks]
    groups = (*batch, heads // count)
    operands = [builder.reshape(queries, (*groups, count * length, size))]
    for one in found:
        assert one is not None
        *_, rows, columns = shape_of(one.source)
        operands.append(builder.reshape(one.source, (*groups, rows, columns)))
    scale = op.attributes_view().float("scale")
    result = builder.node(glow.AttentionOp, *operands, *masks, scale=scale)
    return builder.reshape(result, shape_of(op.results[0]))


def has_rows(mask: SSAValue) -> bool:
    """Whether a mask differs by query."""
    return shape_of(mask)[-2:-1] not in ((), (1,))


def grouped_mask(
    builder: NodeBuilder, mask: SSAValue, queries: tuple[int, ...], count: int
) -> SSAValue:
    """The mask of heads of a group one after the other, as rows of one head."""
    *_, heads, length, _ = queries
    shape = shape_of(mask)
    *batch, of_heads, rows, keys = (*(1,) * (len(queries) - len(shape)), *shape)
    if of_heads == rows == 1:
        return mask
    groups = 1 if of_heads == 1 else heads // count
    inside = count if of_heads > 1 else 1
    full = (*batch, groups, count, length, keys)
    if prod(shape) != prod(full):
        mask = builder.reshape(mask, (*batch, groups, inside, rows, keys))
        mask = builder.create(glow.BroadcastOp, [mask], {}, types=[like(mask, full)])
    return builder.reshape(mask, (*batch, groups, count * length, keys))
