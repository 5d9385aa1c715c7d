"""Reductions over axes and over windows, by what their bodies do.

Windows of sums and maxima over two axes are pools; other ones are taken apart into slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.stablehlo import StableHloOp
from glow.dialects.stablehlo.attributes import Enumeration
from glow.dialects.weight_table import dtype_of
from glow.frontends.formulas.extremes import Pair, Scalars, find_extreme, run_body
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder, is_boolean

REDUCTIONS: Mapping[str, tuple[type[NodeOp], type[NodeOp], float]] = {
    "add": (glow.ReduceSumOp, glow.AddOp, 0),
    "maximum": (glow.ReduceMaxOp, glow.MaxOp, float("-inf")),
    "minimum": (glow.ReduceMinOp, glow.MinOp, float("inf")),
    "multiply": (glow.ReduceProdOp, glow.MulOp, 1),
}
"""Over axes, of two values, and the number that changes nothing."""

OF_TRUTH = {"or": "maximum", "and": "minimum", "add": "maximum", "multiply": "minimum"}

MOST_SLICES = 64
"""A window that is taken apart has at most so many elements."""


def combiner(op: StableHloOp, number: int = 0) -> str:
    """What a body does with its two arguments: one operation; GlowError for anything else."""
    block = op.regions[number].block
    steps = list(block.ops)
    if len(steps) == 2 and set(steps[0].operands) == set(block.args):
        return steps[0].name.partition(".")[2]
    names = ", ".join(step.name for step in steps[:-1])
    raise GlowError(f"a reduction by {names or 'nothing'} is not supported")


def reduce(builder: HloBuilder) -> SSAValue | Sequence[SSAValue]:
    """A reduction over axes."""
    op = builder.op
    if len(op.operands) == 4:
        return arg_reduce(builder)
    if len(op.operands) != 2:
        raise GlowError(f"a reduction of {len(op.operands) // 2} operands")
    value, start = op.operands
    kind, axes = combiner(op), sorted(op.integers("dimensions"))
    if is_boolean(element_of(value)):
        return _of_truth(builder, kind, axes)
    if kind not in REDUCTIONS:
        raise GlowError(f"a reduction by {kind} is not supported")
    node, step, _ = REDUCTIONS[kind]
    result = kept(builder, node, value, axes)
    if begins_neutral(builder, start, kind):
        return result
    return builder.node(step, result, start)


def kept(
    builder: HloBuilder, node: type[NodeOp], value: SSAValue, axes: Sequence[int]
) -> SSAValue:
    """A reduction that keeps its axes, for readers that broadcast, and drops them then."""
    if not axes:
        return value
    result = builder.node(node, value, axes=list(axes), keepdims=True)
    left = [n for axis, n in enumerate(shape_of(value)) if axis not in axes]
    return builder.reshape(result, left)


def _of_truth(builder: HloBuilder, kind: str, axes: Sequence[int]) -> SSAValue:
    value, start = builder.op.operands
    kind = OF_TRUTH.get(kind, kind)
    node, step, _ = REDUCTIONS[kind]
    numbers = builder.convert(value, i32)
    if axes:
        numbers = builder.node(node, numbers, axes=list(axes))
    numbers = builder.node(step, numbers, builder.convert(start, i32))
    return builder.convert(numbers, element_of(value))


def begins_neutral(builder: HloBuilder, start: SSAValue, kind: str) -> bool:
    """Whether a start value changes nothing."""
    array = builder.known(start)
    if array is None or array.size == 0:
        return False
    number = array.flat[0]
    neutral = REDUCTIONS[kind][2]
    if np.issubdtype(array.dtype, np.integer) and np.isinf(neutral):
        bounds = np.iinfo(array.dtype.name)
        return int(number) == (bounds.min if neutral < 0 else bounds.max)
    return float(number) == neutral


def arg_reduce(builder: HloBuilder) -> Sequence[SSAValue]:
    """Which element is the largest or smallest, and where."""
    op = builder.op
    value, axes = op.operands[0], op.integers("dimensions")
    extreme = find_extreme(partial(_kept, op.regions[0].block))
    if extreme is None or len(axes) != 1:
        raise GlowError("a reduction of two operands that is no argmax or argmin")
    (axis,) = axes
    if not _counts(builder, op.operands[1], axis):
        raise GlowError("an argmax of other numbers than positions")
    reduced, arg = (
        (glow.ReduceMaxOp, glow.ArgMaxOp)
        if extreme.largest
        else (glow.ReduceMinOp, glow.ArgMinOp)
    )
    more = {"select_last": True} if extreme.select_last else {}
    index = builder.node(arg, value, axis=axis, **more)
    index = builder.convert(index, element_of(op.results[1]))
    return [kept(builder, reduced, value, [axis]), index]


def _kept(block: Block, earlier: Pair, later: Pair) -> Scalars | None:
    """What a body gives for two elements and their places."""
    numbers = earlier.value, earlier.place, later.value, later.place
    given: dict[SSAValue, float] = dict(zip(block.args, numbers, strict=True))
    return run_body(block, given, direction)


def direction(op: Operation) -> str:
    """LT, GT and so on of a comparison; empty for anything else."""
    value = op.properties.get("comparison_direction")
    return value.word.data if isinstance(value, Enumeration) else ""


def _counts(builder: HloBuilder, value: SSAValue, axis: int) -> bool:
    """Whether a constant holds the positions along an axis."""
    owner = value.owner
    if isinstance(owner, glow.BroadcastOp):
        value = owner.input
    array = builder.known(value)
    if array is None:
        return False
    sizes = [-1 if at == axis else 1 for at in range(array.ndim)]
    line = np.arange(array.shape[axis], dtype=np.int64).reshape(sizes)
    return np.array_equal(array, np.broadcast_to(line, array.shape))


def reduce_window(builder: HloBuilder) -> SSAValue:
    """A reduction over windows."""
    op = builder.op
    if len(op.operands) != 2:
        raise GlowError("a reduction over windows of several operands")
    value, start = op.operands
    kind = combiner(op)
    if kind not in REDUCTIONS:
        raise GlowError(f"windows reduced by {kind} are not supported")
    window = Window(builder, value, kind)
    counts = window.counts(value)
    if counts is not None and begins_neutral(builder, start, kind):
        return counts
    value = builder.dilate(value, [gap - 1 for gap in window.base], window.neutral)
    if window.is_cumulative(shape_of(value)):
        result = window.cumulative(value)
    elif window.is_pool():
        result = window.pool(value)
    else:
        result = window.slices(value)
    if begins_neutral(builder, start, kind):
        return result
    return builder.node(REDUCTIONS[kind][1], result, start)


class Window:
    """The window of a reduction: sizes, strides, dilations and pads of each axis."""

    def __init__(self, builder: HloBuilder, value: SSAValue, kind: str) -> None:
        op, rank = builder.op, len(shape_of(value))
        ones = [1] * rank
        self.builder = builder
        self.kind = kind
        self.element = element_of(value)
        self.sizes = op.integers("window_dimensions", ones)
        self.strides = op.integers("window_strides", ones)
        self.base = op.integers("base_dilations", ones)
        self.dilations = op.integers("window_dilations", ones)
        pads = np.array(op.integers("padding", [0] * 2 * rank)).reshape(rank, 2)
        self.low, self.high = pads[:, 0].tolist(), pads[:, 1].tolist()

    @property
    def neutral(self) -> float:
        """What stands in the border."""
        neutral = REDUCTIONS[self.kind][2]
        dtype = dtype_of(self.element)
        if np.issubdtype(dtype, np.integer) and np.isinf(neutral):
            bounds = np.iinfo(dtype.name)
            return int(bounds.min if neutral < 0 else bounds.max)
        return neutral

    @property
    def axes(self) -> list[int]:
        """The axes along which it does anything."""
        return [
            axis
            for axis in range(len(self.sizes))
            if self.sizes[axis] > 1
            or self.strides[axis] > 1
            or self.low[axis]
            or self.high[axis]
        ]

    def counts(self, value: SSAValue) -> SSAValue | None:
        """The sums where all elements are one known number: what means divide by.

        How many elements of a window are inside is a product of numbers of each axis, so that
        the constant has no more axes than the window.
        """
        array = self.builder.known(value)
        if (
            array is None
            or not array.size
            or any(array.strides)
            or set(self.base) != {1}
        ):
            return None
        if self.kind != "add" or array.dtype.kind != "f":
            return None
        sums = np.full((1,) * array.ndim, float(array.flat[0].item()))
        for axis in self.axes:
            sizes = [-1 if at == axis else 1 for at in range(array.ndim)]
            sums = sums * self._inside(axis, array.shape[axis]).reshape(sizes)
        small = self.builder.put(sums.astype(array.dtype))
        shape = self.builder.result
        if small.type == shape:
            return small
        return self.builder.create(glow.BroadcastOp, [small], {}, types=[shape])

    def _inside(self, axis: int, extent: int) -> NDArray[np.int64]:
        """How many elements each window along one axis has inside."""
        count = self.builder.result.get_shape()[axis]
        starts = np.arange(count)[:, None] * self.strides[axis] - self.low[axis]
        places = starts + np.arange(self.sizes[axis]) * self.dilations[axis]
        return ((places >= 0) & (places < extent)).sum(axis=1)

    def is_cumulative(self, shape: Sequence[int]) -> bool:
        """Whether each element gets all before it, or all behind it, along one axis."""
        if len(self.axes) != 1 or self.kind not in ("add", "multiply"):
            return False
        (axis,) = self.axes
        rest = (
            self.sizes[axis] - shape[axis],
            self.strides[axis],
            self.dilations[axis],
        )
        pads = sorted((self.low[axis], self.high[axis]))
        return rest == (0, 1, 1) and pads == [0, shape[axis] - 1]

    def cumulative(self, value: SSAValue) -> SSAValue:
        """Sums or products up to each element."""
        (axis,) = self.axes
        return self.builder.node(
            glow.CumulativeOp,
            value,
            kind="sum" if self.kind == "add" else "prod",
            axis=axis,
            reverse=self.low[axis] == 0 and self.high[axis] > 0,
        )

    def is_pool(self) -> bool:
        """Whether it is a pool over at most two axes."""
        has_node = self.kind in ("add", "maximum") and self.element.name in (
            "f32",
            "f64",
        )
        return has_node and 0 < len(self.axes) <= 2 and len(self.sizes) >= 2

    def pool(self, value: SSAValue) -> SSAValue:
        """A maximum pool, or an average pool times the number of elements."""
        builder, axes = self.builder, self.axes
        rest = [axis for axis in range(len(self.sizes)) if axis not in axes]
        if len(axes) == 1:
            axes = [rest.pop(), *axes]
        order = [*rest, *axes]
        moved = builder.transpose(value, order)
        outer, inner = shape_of(moved)[:-2], shape_of(moved)[-2:]
        # Channels stay channels, which layouts are made for.
        batch = [prod(outer[:-1]), outer[-1]] if len(outer) > 1 else [1, prod(outer)]
        moved = builder.reshape(moved, [*batch, *inner])
        kernel, strides, dilations, low, high = (
            [values[axis] for axis in axes]
            for values in (
                self.sizes,
                self.strides,
                self.dilations,
                self.low,
                self.high,
            )
        )
        if any(
            pad >= size for pad, size in zip((*low, *high), kernel * 2, strict=True)
        ):
            moved = builder.pad(moved, [0, 0, *low], [0, 0, *high], self.neutral)
            low, high = [0, 0], [0, 0]
        same = {"kernel": kernel, "strides": strides, "dilations": dilations}
        if self.kind == "maximum":
            result = builder.node(glow.MaxPool2dOp, moved, pads=[*low, *high], **same)
        else:
            mean = builder.node(
                glow.AvgPool2dOp,
                moved,
                pads=[*low, *high],
                count_include_pad=True,
                **same,
            )
            count = builder.number(prod(kernel), mean)
            result = builder.node(glow.MulOp, mean, count)
        result = builder.reshape(result, [*outer, *shape_of(result)[2:]])
        return builder.transpose(result, [order.index(at) for at in range(len(order))])

    def slices(self, value: SSAValue) -> SSAValue:
        """One slice for each element of the window, combined one by one."""
        builder, shape = self.builder, self.builder.result.get_shape()
        if prod(self.sizes) > MOST_SLICES:
            raise GlowError(f"a window of {prod(self.sizes)} elements is not supported")
        value = builder.pad(value, self.low, self.high, self.neutral)
        result: SSAValue | None = None
        for offsets in np.ndindex(*self.sizes):
            starts = [o * d for o, d in zip(offsets, self.dilations, strict=True)]
            part = builder.slice(value, starts, shape, self.strides)
            node = REDUCTIONS[self.kind][1]
            result = part if result is None else builder.node(node, result, part)
        assert result is not None
        return result


HANDLERS: Handlers = {
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
}
