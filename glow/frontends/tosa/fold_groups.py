"""Joins the convolutions of channels' slices to one with groups, which TOSA has not.

    %1 = glow.conv2d (slice of %x: channels 0 to 3), %w1
    %2 = glow.conv2d (slice of %x: channels 4 to 7), %w2
    %3 = glow.concat %1, %2                               along the channels
  becomes
    %3 = glow.conv2d %x, (glow.concat %w1, %w2 axis 0) group 2

Channels are last in TOSA and second in our convolutions: transpositions may stand between.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.attributes import int_attr
from glow.dialects.node import shape_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of

Order = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A convolution of some channels of an image, and how its axes are turned around it."""

    node: glow.Conv2dOp
    image: SSAValue
    first: int
    count: int
    before: Order
    behind: Order

    @property
    def kind(self) -> Hashable:
        """What all parts have in common, but for where they start."""
        attributes = sorted((k, str(v)) for k, v in attributes_of(self.node).items())
        types = tuple(value.type for value in self.node.inputs[1:])
        return self.image, self.count, self.before, self.behind, types, *attributes


def fold_groups(module: ModuleOp) -> None:
    """Join convolutions before each concatenation of channels."""
    for op in list(module.walk()):
        if isinstance(op, glow.ConcatOp):
            parts = [
                _part(value, op.attributes_view().int("axis")) for value in op.inputs
            ]
            found = [part for part in parts if part is not None]
            if len(found) == len(parts) > 1:
                _join(op, found)


def _part(value: SSAValue, axis: int) -> Part | None:
    """The convolution of a slice that a part along an axis is."""
    made, behind = _turned(value)
    node = made.owner
    if not isinstance(node, glow.Conv2dOp) or not made.has_one_use():
        return None
    view = node.attributes_view()
    cut, before = _turned(node.input)
    if not isinstance(cut.owner, glow.SliceOp) or view.int("group") != 1:
        return None
    image, window = cut.owner.input, cut.owner.attributes_view()
    starts, sizes, steps = (window.ints(name) for name in ("starts", "sizes", "steps"))
    channel = before[1]
    others = [at for at in range(len(sizes)) if at != channel]
    is_whole = all(sizes[at] == shape_of(image)[at] for at in others)
    if behind[axis] != 1 or not is_whole or set(steps) != {1}:
        return None
    return Part(node, image, starts[channel], sizes[channel], before, behind)


def _turned(value: SSAValue) -> tuple[SSAValue, Order]:
    """A value before it was transposed, and the order of its axes since."""
    order = tuple(range(len(shape_of(value))))
    while isinstance(owner := value.owner, glow.TransposeOp):
        permutation = owner.attributes_view().ints("permutation")
        order = tuple(permutation[axis] for axis in order)
        value = owner.input
    return value, order


def _join(op: glow.ConcatOp, parts: Sequence[Part]) -> None:
    first = parts[0]
    channels = shape_of(first.image)[first.before[1]]
    starts = [number * first.count for number in range(len(parts))]
    is_whole = len(parts) * first.count == channels
    if len({part.kind for part in parts}) != 1 or not is_whole:
        return
    if [part.first for part in parts] != starts:
        return
    builder = NodeBuilder(op)
    operands = [builder.transpose(first.image, first.before)]
    for values in zip(*(part.node.inputs[1:] for part in parts), strict=True):
        operands.append(builder.node(glow.ConcatOp, *values, axis=0))
    groups = {"group": int_attr(len(parts))}
    joined = builder.create(
        glow.Conv2dOp, operands, {**attributes_of(first.node), **groups}
    )
    builder.replace(builder.transpose(joined, first.behind))
