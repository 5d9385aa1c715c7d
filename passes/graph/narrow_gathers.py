"""Products compute only the columns that a gather reads.

Attention with relative positions multiplies queries by all positions that the network knows, and
each pair of tokens takes one of the products: of a sequence that is shorter than the longest one
they lie in the middle (DeBERTa: 255 of 1,024 for 128 tokens).

    %p = glow.matmul %x, %w transpose_rhs : tensor<6x128x1024xf32>
    %y = glow.gather_elements %p, %places axis 2 : tensor<6x128x128xf32>     // 385 to 639
  becomes
    %0 = glow.slice %w starts [0, 385, 0] sizes [6, 256, 64] : tensor<6x256x64xf32>
    %p = glow.matmul %x, %0 transpose_rhs : tensor<6x128x256xf32>
    %y = glow.gather_elements %p, %places.moved axis 2 : tensor<6x128x128xf32>   // 0 to 254
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import stored_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.patterns import RewritePass

WHOLE = 16
"""Columns are taken in so many, if there are: rows then begin at whole cache lines."""

WORTHWHILE = 3 / 4
"""The part of the columns that is left at most; the slice of a computed matrix is a copy."""


def narrow(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The gather from a product of fewer columns."""
    assert isinstance(op, glow.GatherElementsOp)
    product = op.input.owner
    if not isinstance(product, glow.MatmulOp) or not product.result.has_one_use():
        return None
    rank, size = len(shape_of(op.input)), shape_of(op.input)[-1]
    places = _from_start(op.indices, size)
    if op.attributes_view().int("axis") % rank != rank - 1 or places is None:
        return None
    columns = _columns(int(places.min()), int(places.max()), size)
    if len(columns) > WORTHWHILE * size:
        return None
    rhs = _sliced(builder, product, columns)
    less = builder.create(glow.MatmulOp, [product.lhs, rhs], attributes_of(product))
    moved = (places - columns.start).astype(dtype_of(element_of(op.indices)))
    indices = builder.constant(moved, f"{name_of(op.indices)}.moved")
    return builder.substitute(glow.GatherElementsOp, [less, indices], attributes_of(op))


def _from_start(indices: SSAValue, size: int) -> npt.NDArray[np.int64] | None:
    """Constant places, negative ones counted from the start; None where one is outside."""
    places = stored_value(indices)
    if places is None or not places.size:
        return None
    is_inside = places.min() >= -size and places.max() < size
    return np.mod(places.astype(np.int64), size) if is_inside else None


def _columns(first: int, last: int, size: int) -> range:
    """From the first to the last column that is read, and some more."""
    count = -(-(last + 1 - first) // WHOLE) * WHOLE
    return range(max(0, min(first, size - count)), min(first + count, size))


def _sliced(builder: NodeBuilder, product: glow.MatmulOp, columns: range) -> SSAValue:
    """The right factor's columns of the result."""
    shape: Sequence[int] = shape_of(product.rhs)
    transposed = product.attributes_view().has("transpose_rhs")
    axis = len(shape) - (2 if transposed else 1)
    starts, sizes = [0] * len(shape), list(shape)
    starts[axis], sizes[axis] = columns.start, len(columns)
    return builder.node(
        glow.SliceOp, product.rhs, starts=starts, sizes=sizes, steps=[1] * len(shape)
    )


class NarrowGathersPass(RewritePass):
    """Compute only the columns of products that gathers read."""

    name = "narrow-gathers"
    preserves = VALUES
    rewrites = {glow.GatherElementsOp: (narrow,)}
