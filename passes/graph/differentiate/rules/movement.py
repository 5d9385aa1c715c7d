"""Nodes that move elements: the gradient moves back, elements that were repeated are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule, rule_of

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]


def reshape(
    builder: GradientBuilder, op: glow.ReshapeOp, gradient: SSAValue
) -> Gradients:
    """The gradient under the input's shape."""
    return [builder.reshape(gradient, shape_of(op.input))]


def transpose(
    builder: GradientBuilder, op: glow.TransposeOp, gradient: SSAValue
) -> Gradients:
    """The inverse permutation."""
    permutation = op.attributes_view().ints("permutation")
    inverse = sorted(range(len(permutation)), key=permutation.__getitem__)
    return [builder.transpose(gradient, inverse)]


def part(
    builder: GradientBuilder,
    value: SSAValue,
    axis: int,
    first: int,
    size: int,
    step: int = 1,
) -> SSAValue:
    """Elements along an axis; the value itself when they are all, in order."""
    shape = shape_of(value)
    if (first, size, step) == (0, shape[axis], 1):
        return value
    rank = len(shape)
    return builder.node(
        glow.SliceOp,
        value,
        starts=[first if i == axis else 0 for i in range(rank)],
        sizes=[size if i == axis else shape[i] for i in range(rank)],
        steps=[step if i == axis else 1 for i in range(rank)],
    )


def padded(builder: GradientBuilder, value: SSAValue, pads: Sequence[int]) -> SSAValue:
    """Zeros around a value, or a part of it where pads are negative."""
    if not any(pads):
        return value
    return builder.node(glow.PadOp, value, pads=list(pads))


def concat(
    builder: GradientBuilder, op: glow.ConcatOp, gradient: SSAValue
) -> Gradients:
    """A part for each operand."""
    axis = op.attributes_view().int("axis")
    sizes = [shape_of(operand)[axis] for operand in op.inputs]
    starts = accumulate(sizes, initial=0)
    return [
        part(builder, gradient, axis, start, size)
        for start, size in zip(starts, sizes, strict=False)
    ]


def slice_(builder: GradientBuilder, op: glow.SliceOp, gradient: SSAValue) -> Gradients:
    """The gradient among zeros: behind each of its elements, then around all."""
    attributes, shape = op.attributes_view(), shape_of(op.input)
    starts, steps = [*attributes.ints("starts")], attributes.ints("steps")
    sizes = attributes.ints("sizes")
    for axis, step in enumerate(steps):
        if step < 0:
            starts[axis] += (sizes[axis] - 1) * step
            gradient = part(builder, gradient, axis, sizes[axis] - 1, sizes[axis], -1)
    strides = [
        abs(step) if size > 1 else 1 for step, size in zip(steps, sizes, strict=True)
    ]
    gradient = spread(builder, gradient, strides)
    ends = [
        size - start - extent
        for size, start, extent in zip(shape, starts, shape_of(gradient), strict=True)
    ]
    return [padded(builder, gradient, [*starts, *ends])]


def spread(
    builder: GradientBuilder, value: SSAValue, strides: Sequence[int]
) -> SSAValue:
    """`stride - 1` zeros behind each element along each axis."""
    if all(stride == 1 for stride in strides):
        return value
    shape = shape_of(value)
    split: list[int] = []
    behind: list[int] = []
    for size, stride in zip(shape, strides, strict=True):
        split += [size] if stride == 1 else [size, 1]
        behind += [0] if stride == 1 else [0, stride - 1]
    apart = builder.reshape(value, split)
    apart = padded(builder, apart, [*[0] * len(behind), *behind])
    joined = [size * stride for size, stride in zip(shape, strides, strict=True)]
    return builder.reshape(apart, joined)


def pad(builder: GradientBuilder, op: glow.PadOp, gradient: SSAValue) -> Gradients:
    """The opposite pads; what another mode than zeros repeats is summed axis by axis."""
    attributes, shape = op.attributes_view(), shape_of(op.input)
    pads, rank = attributes.ints("pads"), len(shape)
    mode = attributes.string("mode")
    if mode != "constant":
        for axis in range(rank):
            begin, end = pads[axis], pads[axis + rank]
            if max(begin, end) > 0:
                kept = np.arange(max(0, -begin), shape[axis] - max(0, -end))
                places = padded_places(kept, (begin, end), mode)
                gradient = summed_back(builder, gradient, axis, places, shape[axis])
        pads = tuple(
            0 if max(pads[i % rank], pads[i % rank + rank]) > 0 else pads[i]
            for i in range(2 * rank)
        )
    return [padded(builder, gradient, [-each for each in pads])]


def padded_places(kept: IntArray, pads: tuple[int, int], mode: str) -> Sequence[int]:
    """Where each element of a padded axis comes from."""
    widths = max(0, pads[0]), max(0, pads[1])
    places = np.pad(kept, widths, mode)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
    return [int(place) for place in cast("IntArray", places)]


def summed_back(
    builder: GradientBuilder,
    gradient: SSAValue,
    axis: int,
    places: Sequence[int],
    size: int,
) -> SSAValue:
    """Element i along an axis added to element `places[i]` of `size`, run by run."""
    rank = len(shape_of(gradient))
    total: SSAValue | None = None
    for first, count, step in runs(places):
        piece = part(builder, gradient, axis, first, count)
        start, extent = places[first], count
        if step == 0:
            piece, extent = builder.sum(piece, [axis], keepdims=True), 1
        elif step < 0:
            piece = part(builder, piece, axis, count - 1, count, -1)
            start = places[first + count - 1]
        around = [0] * (2 * rank)
        around[axis], around[axis + rank] = start, size - start - extent
        piece = padded(builder, piece, around)
        total = piece if total is None else builder.add(total, piece)
    assert total is not None
    return total


def runs(places: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """First element, length and step of the stretches that go on by 1, -1 or 0."""
    first = 0
    while first < len(places):
        count, step = 1, 1
        if first + 1 < len(places):
            step = int(places[first + 1] - places[first])
            if abs(step) > 1:
                step = 1
            while (
                first + count < len(places)
                and places[first + count] - places[first + count - 1] == step
            ):
                count += 1
        yield first, count, step
        first += count


def broadcast(
    builder: GradientBuilder, op: glow.BroadcastOp, gradient: SSAValue
) -> Gradients:
    """The gradient, which the walk sums."""
    return [gradient]


def tile(builder: GradientBuilder, op: glow.TileOp, gradient: SSAValue) -> Gradients:
    """The sum over the repetitions, each an axis of its own."""
    repeats, shape = op.attributes_view().ints("repeats"), shape_of(op.input)
    split: list[int] = []
    axes: list[int] = []
    for count, size in zip(repeats, shape, strict=True):
        if count != 1:
            axes.append(len(split))
            split.append(count)
        split.append(size)
    if not axes:
        return [gradient]
    return [builder.sum(builder.reshape(gradient, split), axes)]


RULES: dict[type[Operation], Rule] = {
    **rule_of(reshape, glow.ReshapeOp),
    **rule_of(transpose, glow.TransposeOp),
    **rule_of(concat, glow.ConcatOp),
    **rule_of(slice_, glow.SliceOp),
    **rule_of(pad, glow.PadOp),
    **rule_of(broadcast, glow.BroadcastOp),
    **rule_of(tile, glow.TileOp),
}
