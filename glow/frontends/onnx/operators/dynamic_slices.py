"""Dynamic slices: of a known size, from a start that a program computes: `x[:, i : i + 2]`.

Both ends are followed back to a common number, and what they differ by is the size:

    Slice(%x, %i, %i + 2), axis 1   ->   %0 = glow.add %i, %numbers      // [0, 1]
                                         %y = glow.gather %x, %0 axis 1

ONNX cuts a slice that leaves its axis; how much of it is left would be data. So this is the way
of loops whose number of iterations is data as well (`Graph.assumes_fixed_shapes`); anywhere else
the start is asked for, which takes a program for each. A call whose slice leaves its axis is told
of an index out of range.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from glow.dialects.glow import (
    AddOp,
    BroadcastOp,
    ConvertOp,
    GatherOp,
    MinOp,
    ReshapeOp,
    SplatOp,
    SubOp,
    is_integer,
)
from glow.dialects.node import element_of
from glow.frontends.onnx.control_flow.bodies import checked_index
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, element_type, shape

SAME_NUMBER = (BroadcastOp, ConvertOp, ReshapeOp)
"""What keeps a number. Floats hold those of places: an axis has no 2^24 elements."""

MOST = 1 << 24


@dataclass(frozen=True)
class Offset:
    """The number `min(root + offset, limit)`."""

    root: SSAValue
    offset: float = 0
    limit: float = inf


def offset_of(value: Operand) -> Offset | None:
    """One number of a program as another one and an offset; None for more, or constants."""
    if isinstance(value, Constant) or prod(shape(value)) != 1:
        return None
    owner = value.owner
    if not isinstance(owner, Operation):
        return Offset(value)
    if isinstance(owner, SAME_NUMBER):
        return offset_of(owner.operands[0])
    return _computed_offset(owner) or Offset(value)


def _computed_offset(owner: Operation) -> Offset | None:
    """The result of a node that moves or limits a place by a constant."""
    if not isinstance(owner, AddOp | SubOp | MinOp):
        return None
    one, other = owner.operands
    if _number(other) is None and not isinstance(owner, SubOp):
        one, other = other, one
    number, place = _number(other), offset_of(one)
    if number is None or place is None:
        return None
    if isinstance(owner, MinOp):
        return replace(place, limit=min(place.limit, number))
    sign = -1 if isinstance(owner, SubOp) else 1
    is_free = place.limit == inf
    return replace(place, offset=place.offset + sign * number) if is_free else None


def _number(value: SSAValue) -> float | None:
    """The whole number that all elements of a constant are."""
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        return _number(owner.operands[0])
    if isinstance(owner, SplatOp) and owner.number % 1 == 0:
        return owner.number
    return None


def _size(node: OnnxNode, start: Operand, end: Operand, size: int) -> int | None:
    """How many elements of an axis lie between two places, if both are inside of it."""
    if not node.graph.assumes_fixed_shapes:
        return None
    first, last = offset_of(start), offset_of(end)
    if first is None or last is None or first.root is not last.root:
        return None
    count = int(last.offset - first.offset)
    is_cut = first.limit != inf or last.limit < size
    is_known = is_integer(element_of(first.root.type)) and 0 < count <= size <= MOST
    return count if is_known and not is_cut else None


def _numbers(node: OnnxNode, start: Operand, count: int, size: int) -> Operand:
    """The numbers from a place on, [count], all of which are less than `size`."""
    inside = node.reshape(node.convert(start, i64), (1,))
    if size < MOST:
        inside = checked_index(node, inside, size - count)
    return node.emit(AddOp, inside, Constant(np.arange(count), "numbers"))


def dynamic_slice(node: OnnxNode, axes: list[int], steps: list[int]) -> Operand | None:
    """The slice of a `Slice` from opset 10 on; None where its size or place is not so."""
    start, end = node.value(1), node.value(2)
    if isinstance(start, Constant) or shape(start) != (1,) or steps != [1]:
        return None
    axis = node.positive(axes[0], node.rank(0))
    size = node.shape(0)[axis]
    count = _size(node, start, end, size)
    if count is None:
        return None
    return node.emit(
        GatherOp, node.value(0), _numbers(node, start, count, size), axis=axis
    )


def dynamic_range(node: OnnxNode) -> Operand | None:
    """The numbers of a `Range` in steps of 1 that is as long as a slice."""
    start, end, step = node.values()
    is_one = isinstance(step, Constant) and step.array.item() == 1
    place = offset_of(end)
    if isinstance(start, Constant) or place is None or not is_one:
        return None
    size = MOST if place.limit == inf else int(place.limit)
    count = _size(node, start, end, size)
    if count is None:
        return None
    numbers = _numbers(node, start, count, size)
    return node.convert(numbers, element_type(start))
