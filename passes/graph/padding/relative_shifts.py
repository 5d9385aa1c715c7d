"""Scores by the distance of two words, moved to where both words meet.

A product of queries with a table of distances has a column for each distance; attention wants one
for each key. Networks move each row by one more place than the row before, by elements that they
add and shapes that are not those of rows (Transformer-XL, appendix B):

    %0 = glow.pad %x pads [0, 1, 0, 0] : tensor<4x8xf32>                        // %x: 4 x 7
    %1 = glow.reshape %0 : tensor<8x4xf32>
    %2 = glow.slice %1 starts [1, 0] sizes [7, 4] steps [1, 1] : tensor<7x4xf32>
    %3 = glow.reshape %2 : tensor<4x7xf32>
    %y = glow.slice %3 starts [0, 0] sizes [4, 4] steps [1, 1] : tensor<4x4xf32>

is `y[i, j] = x[i, 3 - i + j]`. However it is written, each element is followed to where it ends. A
table for more words has more distances at both of its ends, and the middle one is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.padding.padded_value import PaddedValue

PLANE = 2
"""The axes of rows and columns, which are the last."""

PARTS = (glow.ReshapeOp, glow.SliceOp, glow.PadOp, glow.ConcatOp)
"""The nodes that a move by distance is made of."""

Sides = list[tuple[int, int]]
"""How many elements a node adds in front of each axis and behind it; what it cuts is negative."""


class RelativeShift(NamedTuple):
    """Nodes of which the last has element `start - i + j` of row i in column j."""

    source: SSAValue
    parts: Sequence[NodeOp]
    start: int


@dataclass(frozen=True)
class Layout:
    """Where the elements of each matrix are: [i, k] at `origin + i * pitch + k`.

    A matrix has `length` elements in row-major order, seen as rows of `width`: of one where it
    has but one axis (`is_flat`).
    """

    length: int
    pitch: int
    width: int
    origin: int = 0
    is_flat: bool = False

    def reshaped(self, shape: Sequence[int]) -> Layout | None:
        """The same elements, seen otherwise; None where matrices are torn apart."""
        if shape[-1] == self.length:
            return replace(self, width=1, is_flat=True)
        whole = prod(shape[-PLANE:]) == self.length
        return replace(self, width=shape[-1], is_flat=False) if whole else None

    def enlarged(self, sides: Sides) -> Layout | None:
        """With rows, and columns where rows are those of the matrix, added or cut off."""
        *lead, (front, behind), (left, right) = (
            (*sides, (0, 0)) if self.is_flat else sides
        )
        width = self.width + left + right
        rows = self.length // self.width + front + behind
        keeps_rows = self.width == self.pitch and min(left, right) >= 0
        if min(rows, width) <= 0 or ((left or right) and not keeps_rows):
            return None
        if any(map(any, lead)):
            return None
        pitch = self.pitch + width - self.width
        origin = self.origin + front * width + left
        return Layout(rows * width, pitch, width, origin, self.is_flat)


def relative_shifts(function: FuncOp) -> Iterator[RelativeShift]:
    """The moves by distance of a function."""
    for op in function.body.block.ops:
        if isinstance(op, glow.SliceOp) and (found := _shift_of(op)) is not None:
            yield found


def moved_by_distance(
    shift: RelativeShift, found: Mapping[SSAValue, PaddedValue]
) -> PaddedValue | None:
    """The result of a move whose source has distances for more words; None for another.

    Words are the rows of the source, and as many are the columns of the result.
    """
    value, result = found[shift.source], shift.parts[-1].results[0]
    shape, rank = shape_of(result), len(shape_of(shift.source))
    rows, columns = rank - PLANE, rank - 1
    words, distances = value.axes.get(rows), value.axes.get(columns)
    if words is None or distances is None or not distances.around:
        return None
    if not words.is_plain or words.at_front or words.around:
        return None
    if shape[-1] != shape[-PLANE]:
        return None
    axes = {axis: form for axis, form in value.axes.items() if axis != columns}
    whole = value.everywhere
    moved = PaddedValue({**axes, columns: words}, value.inside, {}, whole)
    beyond = dict.fromkeys(moved.axes, whole)
    return replace(moved, beyond=beyond).shifted(len(shape) - rank)


def _shift_of(last: glow.SliceOp) -> RelativeShift | None:
    """The move that ends with a slice, with all of its nodes."""
    parts: list[NodeOp] = [last]
    while isinstance(owner := _moved(parts[0]).owner, PARTS):
        if not _moved(parts[0]).has_one_use() or owner.is_quantized:
            break
        parts.insert(0, owner)
    for first in range(len(parts) - PLANE):
        start = _start(_moved(parts[first]), parts[first:])
        if start is not None:
            return RelativeShift(_moved(parts[first]), parts[first:], start)
    return None


def _moved(op: NodeOp) -> SSAValue:
    """The operand whose elements move: that of a concatenation which is no constant."""
    computed = [one for one in op.inputs if constant_value(one) is None]
    return computed[0] if len(computed) == 1 else op.inputs[0]


def _start(source: SSAValue, parts: Sequence[NodeOp]) -> int | None:
    """The column of the first element of the result, if the nodes move by distance."""
    *lead, rows, columns = (1, 1, *shape_of(source))
    if not rows * columns:
        return None
    layout = Layout(rows * columns, columns, columns)
    *others, last = parts
    for op in others:
        after = _after(op, layout)
        if after is None or prod(shape_of(op.results[0])) != prod(lead) * after.length:
            return None
        layout = after
    sides = _sides(last)
    if sides is None or any(map(any, sides[:-PLANE])):
        return None
    if layout.is_flat or layout.width != layout.pitch - 1:
        return None
    (above, _), (before, _) = sides[-PLANE:]
    start = -above * layout.width - before - layout.origin
    taken_rows, taken = shape_of(last.results[0])[-PLANE:]
    fits = rows - 1 <= start and start + taken <= columns
    return start if fits and taken_rows == rows else None


def _after(op: NodeOp, layout: Layout) -> Layout | None:
    if isinstance(op, glow.ReshapeOp):
        return layout.reshaped(shape_of(op.result))
    sides = _sides(op)
    return None if sides is None else layout.enlarged(sides)


def _sides(op: NodeOp) -> Sides | None:
    """What a node adds to its operand, or takes off, at each end of each axis."""
    view, value = op.attributes_view(), _moved(op)
    shape = shape_of(value)
    if isinstance(op, glow.PadOp):
        pads = view.ints("pads")
        ends = list(zip(pads[: len(shape)], pads[len(shape) :], strict=True))
        return ends if view.string("mode") == "constant" else None
    if isinstance(op, glow.ConcatOp):
        axis, place = view.int("axis"), list(op.inputs).index(value)
        sizes = [shape_of(one)[axis] for one in op.inputs]
        sides = [(0, 0)] * len(shape)
        sides[axis] = sum(sizes[:place]), sum(sizes[place + 1 :])
        return sides
    starts, sizes = view.ints("starts"), view.ints("sizes")
    if set(view.ints("steps")) - {1}:
        return None
    parts = zip(shape, starts, sizes, strict=True)
    return [(-start, start + taken - size) for size, start, taken in parts]
