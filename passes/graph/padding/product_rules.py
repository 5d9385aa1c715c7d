"""The rules of nodes that multiply matrices.

Rows of the result are computed from rows of the left operand, columns from columns of the right
one. What is summed over may be padded where one factor is zero beyond its end, and the other a
number: after a softmax with a mask, for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.padding.element_range import MODERATE, UNKNOWN, ZERO, Range
from glow.passes.graph.padding.padded_value import PaddedAxis, PaddedValue
from glow.passes.graph.padding.placing import Mask, Placed, aligned, refusal

Values = Sequence[PaddedValue]


def _check_summed(
    op: NodeOp, left: tuple[PaddedValue, int], right: tuple[PaddedValue, int]
) -> None:
    """Refuse sums over a padded axis of products that are not zero beyond its end."""
    (first, row), (second, column) = left, right
    if row not in first.axes and column not in second.axes:
        return
    axis = row if row in first.axes else column
    form = first.axes.get(row)
    if form is None or form.around or not form.agrees(second.axes.get(column)):
        raise refusal(op, axis, "sums products with other elements over")
    ends = first.beyond[row], second.beyond[column]
    masks = Mask(0, row, 0.0), Mask(1, column, 0.0)
    if ZERO not in ends:
        raise refusal(op, axis, "sums over", masks[0])
    for mask, end in zip(masks, ends, strict=True):
        if not end.is_finite:
            raise refusal(op, axis, "sums over", mask)


def _places(rank: int, shape: Sequence[int], axis: int, place: int) -> dict[int, int]:
    """Where the leading axes of a factor are in a result, and its row or column."""
    shift = rank - len(shape)
    found = {one: one + shift for one in range(len(shape) - 2)}
    return found | {axis: place}


def _product(op: NodeOp, values: Values, transposed: tuple[bool, bool]) -> list[Placed]:
    """Both factors on the axes of the product."""
    rank = len(shape_of(op.results[0]))
    shapes = [shape_of(operand) for operand in op.inputs[:2]]
    kept = len(shapes[0]) - (1 if transposed[0] else 2)
    column = len(shapes[1]) - (2 if transposed[1] else 1)
    summed = len(shapes[0]) - (2 if transposed[0] else 1)
    depth = len(shapes[1]) - (1 if transposed[1] else 2)
    _check_summed(op, (values[0], summed), (values[1], depth))
    return [
        Placed.at(values[0], shapes[0], _places(rank, shapes[0], kept, rank - 2)),
        Placed.at(values[1], shapes[1], _places(rank, shapes[1], column, rank - 1)),
    ]


def _result(op: NodeOp, operands: Values, placed: Sequence[Placed]) -> Values:
    """A result of moderate sums, where all that goes into them is."""
    axes = aligned(op, placed)
    finite = all(value.outside.is_finite for value in operands)
    outside = MODERATE if finite else UNKNOWN
    beyond = {axis: _sum_at(axis, placed, outside) for axis in axes}
    return [PaddedValue(axes, MODERATE, beyond, outside)]


def _sum_at(axis: int, placed: Sequence[Placed], otherwise: Range) -> Range:
    """Zero where a factor is zero and nothing is added."""
    zeros = [ZERO == each.value.at(axis) for each in placed]
    only_factors = len(placed) == 2
    return ZERO if only_factors and any(zeros) and otherwise.is_finite else otherwise


def _matmul(op: NodeOp, operands: Values) -> Values:
    attributes = op.attributes_view()
    names = "transpose_lhs", "transpose_rhs"
    first, second = (attributes.has(name) for name in names)
    placed = _product(op, operands, (first, second))
    if len(operands) > 2:  # The addend of a gemm.
        rank = len(shape_of(op.results[0]))
        shape = shape_of(op.inputs[2])
        placed.append(Placed.broadcast(operands[2], shape, rank))
    return _result(op, operands, placed)


def _fully_connected(op: NodeOp, operands: Values) -> Values:
    """A matrix, or rows along more axes, times weights that are not padded."""
    value, *others = operands
    last = len(shape_of(op.inputs[0])) - 1
    for axis in [last] if last in value.axes else []:
        raise refusal(op, axis, "sums over")
    for axis in [axis for other in others for axis in other.axes]:
        raise refusal(op, axis, "takes a parameter with")
    view = op.attributes_view()
    if isinstance(op, glow.DynamicMatmulOp) and view.string("granularity") != "row":
        raise refusal(op, next(iter(value.axes)), "quantizes by the range of all of")
    outside = MODERATE if value.outside.is_finite else UNKNOWN
    beyond = dict.fromkeys(value.axes, outside)
    return [PaddedValue(value.axes, MODERATE, beyond, outside)]


def _attention(op: NodeOp, operands: Values) -> Values:
    queries, keys = operands[:2]
    shapes = [shape_of(operand) for operand in op.inputs]
    rank = len(shape_of(op.results[0]))
    ranks = [len(shape) for shape in shapes]
    for value, size in zip((queries, keys), ranks, strict=False):
        if size - 1 in value.axes:
            raise refusal(op, size - 1, "sums over")
    _check_masked(op, operands)
    lead = [_places(rank, s, len(s) - 2, rank - 2) for s in shapes]
    lead[1], lead[2] = (
        {axis: place for axis, place in one.items() if place < rank - 2}
        for one in lead[1:3]
    )
    lead[2][ranks[2] - 1] = rank - 1
    placed = [
        Placed.at(value, shape, places)
        for value, shape, places in zip(operands, shapes, lead, strict=True)
    ]
    axes = aligned(op, placed)
    finite = all(one.outside.is_finite for one in operands[:3])
    mask_rows = [one for one in placed[3:] for one in one.value.beyond.values()]
    finite = finite and all(one.is_finite for one in mask_rows)
    outside = MODERATE if finite else UNKNOWN
    return [PaddedValue(axes, MODERATE, dict.fromkeys(axes, outside), outside)]


def padded_keys(op: NodeOp, operands: Values) -> PaddedAxis | None:
    """The axis of keys, and of values, if it is padded; refuses one that only one of them has."""
    axes = [len(shape_of(operand)) - 2 for operand in op.inputs[1:3]]
    keys, values = (
        one.axes.get(axis) for one, axis in zip(operands[1:3], axes, strict=True)
    )
    if keys != values and not (keys and keys.agrees(values)):
        raise refusal(op, axes[1], "sums products with other elements over")
    return keys


def has_masked_keys(op: NodeOp, operands: Values) -> bool:
    """Whether no query sees keys that are padding."""
    keys, mask = padded_keys(op, operands), operands[3] if len(operands) > 3 else None
    if keys is None or mask is None:
        return keys is None
    last = len(shape_of(op.inputs[3])) - 1
    return keys.agrees(mask.axes.get(last)) and mask.beyond[last].is_masked


def _check_masked(op: NodeOp, operands: Values) -> None:
    """Refuse keys and values that are padded and not masked."""
    axis = len(shape_of(op.inputs[2])) - 2
    if not has_masked_keys(op, operands):
        raise refusal(op, axis, "normalizes over what is not masked of")
    if axis in operands[2].axes and not operands[2].beyond[axis].is_finite:
        raise refusal(op, axis, "sums over", Mask(2, axis, 0.0))


Rule = Callable[[NodeOp, Values], Values]

PRODUCT_RULES: dict[type[Operation], Rule] = {
    glow.MatmulOp: _matmul,
    glow.GemmOp: _matmul,
    glow.FullyConnectedOp: _fully_connected,
    glow.DynamicMatmulOp: _fully_connected,
    glow.AttentionOp: _attention,
}
