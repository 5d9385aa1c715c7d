"""Finds local response normalization in the formula that other dialects spell it with.

    %s = glow.mul %x, %x
    %p = glow.pad %s pads [0, 1, 0, 0, 0, 1, 0, 0]
    %t = glow.slice %p starts [0, 0, 0, 0] ... + glow.slice %p starts [0, 1, 0, 0] ... + ...
    %b = glow.add (glow.mul %t, %factor), %offset
    %y = glow.div %x, (glow.pow %b, %beta)
  becomes
    %y = glow.local_response_norm %x size 3 alpha ... beta ... offset ...

The sums of squares may be an average pool times its size, too, along channels that have been moved
last; and the quotient a product with a negative power.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.matching import with_number
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass


def quotient(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The normalization that a division by a power is."""
    value, divisor = op.inputs
    return _normalization(builder, value, divisor, 1)


def product(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The normalization that a product with a negative power is."""
    for value, factor in (op.inputs, op.inputs[::-1]):
        found = _normalization(builder, value, factor, -1)
        if found is not None:
            return found
    return None


def _normalization(
    builder: NodeBuilder, value: SSAValue, other: SSAValue, sign: int
) -> SSAValue | None:
    """The node of a value and `(offset + factor * squares) ^ (sign * beta)`."""
    if not isinstance(other.owner, glow.PowOp) or len(shape_of(value)) < 2:
        return None
    power = with_number(other.owner)
    base = power and _beside(power[0], glow.AddOp)
    scaled = base and _beside(base[0], glow.MulOp)
    if power is None or base is None or scaled is None or scaled[0].type != value.type:
        return None
    if other.owner.inputs[0] is not power[0] or sign * power[1] < 0:
        return None
    found = _neighbours(scaled[0]) or _pooled(scaled[0])
    if found is None or not _is_square(found[0], value):
        return None
    size = found[1]
    return builder.node(
        glow.LocalResponseNormOp,
        value,
        size=size,
        alpha=scaled[1] * size,
        beta=sign * power[1],
        offset=base[1],
    )


def _beside(value: SSAValue, node: type[NodeOp]) -> tuple[SSAValue, float] | None:
    """The other operand and the number of a node, if it is of a class and has one."""
    owner = value.owner
    return with_number(owner) if isinstance(owner, node) else None


def _is_square(squares: SSAValue, value: SSAValue) -> bool:
    owner = squares.owner
    if isinstance(owner, glow.MulOp):
        return owner.inputs[0] is value and owner.inputs[1] is value
    power = _beside(squares, glow.PowOp)
    return power is not None and power == (value, 2.0)


def _terms(value: SSAValue) -> Iterator[SSAValue]:
    """The terms of a tree of additions."""
    owner = value.owner
    if isinstance(owner, glow.AddOp):
        for operand in owner.inputs:
            yield from _terms(operand)
    else:
        yield value


def _neighbours(total: SSAValue) -> tuple[SSAValue, int] | None:
    """What is padded, and how many of its neighbours along axis 1 slices of it add up."""
    slices = [term.owner for term in _terms(total)]
    first, size, rank = slices[0], len(slices), len(shape_of(total))
    if not isinstance(first, glow.SliceOp):
        return None
    padded = first.input.owner
    if not isinstance(padded, glow.PadOp):
        return None
    view, rest = padded.attributes_view(), [0] * (rank - 2)
    pads = [0, (size - 1) // 2, *rest, 0, size // 2, *rest]
    if [*view.ints("pads")] != pads or view.string("mode") != "constant":
        return None
    if view.float("value"):
        return None
    starts: list[int] = []
    for one in slices:
        if not isinstance(one, glow.SliceOp) or one.input is not padded.result:
            return None
        place = one.attributes_view()
        if place.ints("steps") != (1,) * rank or one.result.type != total.type:
            return None
        starts.append(place.ints("starts")[1])
    return (padded.input, size) if sorted(starts) == [*range(size)] else None


def _pooled(total: SSAValue) -> tuple[SSAValue, int] | None:
    """The same where an average pool times its size adds up, of channels that are last."""
    back = total.owner
    scaled = (
        _beside(_unshaped(back.input), glow.MulOp)
        if isinstance(back, glow.TransposeOp)
        else None
    )
    pool = scaled[0].owner if scaled else None
    if scaled is None or not isinstance(pool, glow.AvgPool2dOp):
        return None
    size = int(scaled[1])
    moved = _unshaped(pool.input).owner
    if not _is_window_of_channels(pool, size) or size != scaled[1]:
        return None
    if not isinstance(moved, glow.TransposeOp) or not isinstance(
        back, glow.TransposeOp
    ):
        return None
    order = moved.attributes_view().ints("permutation")
    inverse = [order.index(axis) for axis in range(len(order))]
    is_back = [*back.attributes_view().ints("permutation")] == inverse
    is_same = back.input.type == moved.result.type
    last = shape_of(pool.input)[-1] == shape_of(moved.result)[-1]
    return (
        (moved.input, size) if is_back and is_same and last and order[-1] == 1 else None
    )


def _is_window_of_channels(pool: glow.AvgPool2dOp, size: int) -> bool:
    """Whether a pool is over so many neighbours along its last axis, with zeros around."""
    view = pool.attributes_view()
    return (
        view.ints("kernel") == (1, size)
        and view.ints("strides") == (1, 1)
        and view.ints("dilations") == (1, 1)
        and view.ints("pads") == (0, (size - 1) // 2, 0, size // 2)
        and view.has("count_include_pad")
    )


def _unshaped(value: SSAValue) -> SSAValue:
    """A value before it was reshaped."""
    while isinstance(owner := value.owner, glow.ReshapeOp):
        value = owner.input
    return value


class RecognizeLocalResponseNormPass(RewritePass):
    """Find local response normalization in its parts."""

    name = "recognize-local-response-norm"
    preserves = VALUES
    rewrites = {glow.DivOp: (quotient,), glow.MulOp: (product,)}
