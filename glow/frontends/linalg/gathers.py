"""Bodies that read a tensor at computed places: gathers, by which places are computed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.linalg import IndexOp
from glow.dialects.node import shape_of
from glow.frontends.linalg.linalg_builder import LinalgBuilder


def extract(
    builder: LinalgBuilder,
    op: ExtractOp,
    places: Sequence[SSAValue],
    shape: Sequence[int],
) -> SSAValue:
    """Elements of a tensor at computed places; rows of it, where one of them is computed."""
    if not places:
        return op.tensor
    return (
        _own_element(builder, op, shape)
        or _gathered(builder, op, places, shape)
        or _gathered_elements(builder, op, places, shape)
        or _gathered_anywhere(builder, op.tensor, places, shape)
    )


def _dimension(value: SSAValue) -> int | None:
    """The dimension whose position an index is."""
    owner = value.owner
    return owner.integer("dim", 0) if isinstance(owner, IndexOp) else None


def _own_element(
    builder: LinalgBuilder, op: ExtractOp, shape: Sequence[int]
) -> SSAValue | None:
    """The element at the place itself, of a tensor that may lack some dimensions."""
    found = [_dimension(one) for one in op.indices]
    at = [one for one in found if one is not None]
    sizes = list(shape_of(op.tensor))
    is_whole = at == found and sizes == [shape[one] for one in at]
    if not is_whole or at != sorted(set(at)):
        return None
    own = [size if axis in at else 1 for axis, size in enumerate(shape)]
    return builder.reshape(op.tensor, own)


def _gathered(
    builder: LinalgBuilder,
    op: ExtractOp,
    places: Sequence[SSAValue],
    shape: Sequence[int],
) -> SSAValue | None:
    """What is behind one axis, at positions that depend on the dimensions in its place."""
    sizes, rank = shape_of(op.tensor), len(shape)
    found = [_dimension(one) for one in op.indices]
    for axis, place in enumerate(places):
        end = rank - (len(places) - 1 - axis)
        others = [*range(axis), None, *range(end, rank)]
        is_row = [*found[:axis], None, *found[axis + 1 :]] == others and all(
            at is None or sizes[number] == shape[at] for number, at in enumerate(others)
        )
        first = shape_of(place)
        full = (*[1] * (rank - len(first)), *first)
        inside = full[axis:end]
        if not is_row or {*full[:axis], *full[end:]} - {1}:
            continue
        if list(inside) != list(shape[axis:end]):
            continue
        rows = builder.reshape(place, inside)
        return builder.node(glow.GatherOp, op.tensor, rows, axis=axis)
    return None


def _gathered_elements(
    builder: LinalgBuilder,
    op: ExtractOp,
    places: Sequence[SSAValue],
    shape: Sequence[int],
) -> SSAValue | None:
    """An element for each place, whose other positions are its own."""
    found = [_dimension(one) for one in op.indices]
    computed = [axis for axis, one in enumerate(found) if one != axis]
    if len(computed) != 1 or len(places) != len(shape):
        return None
    (axis,) = computed
    sizes = shape_of(op.tensor)
    if any(sizes[one] != shape[one] for one in range(len(sizes)) if one != axis):
        return None
    spread = builder.spread(places[axis], shape)
    return builder.node(glow.GatherElementsOp, op.tensor, spread, axis=axis)


def _gathered_anywhere(
    builder: LinalgBuilder,
    table: SSAValue,
    places: Sequence[SSAValue],
    shape: Sequence[int],
) -> SSAValue:
    """An element for each place, of which all positions are computed."""
    columns = [builder.spread(one, shape) for one in places]
    parts = [builder.reshape(one, [*shape, 1]) for one in columns]
    axis = len(shape)
    indices = (
        parts[0] if len(parts) == 1 else builder.node(glow.ConcatOp, *parts, axis=axis)
    )
    return builder.node(glow.GatherNDOp, table, indices)
