"""Whether one graph is another one with padding: the same nodes, on sizes that padding explains.

Both are graphs of one model, for a size and for a larger one. Constants of the smaller one have the
first elements of those of the larger, or the last ones, where padding is at the front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import floats_attr, ints_attr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import (
    AROUND_PADDED_AXES,
    CLAMPED,
    COUNTS,
    FROM_END,
    PADDED_PER_STEP,
    PART_OF_MOVE,
)
from glow.dialects.node import is_static_tensor, node_name, shape_of
from glow.dialects.weight_table import place_in_file
from glow.dialects.weights import stored_value
from glow.passes.graph.merge_weights import same_bits
from glow.passes.graph.padding.mask_padding import axes_from_end, mask_padding
from glow.passes.graph.padding.padded_value import MarkedAxis, PaddedAxis, PaddedValue
from glow.passes.graph.padding.placing import MARKS, marks
from glow.passes.graph.padding.relative_shifts import relative_shifts
from glow.passes.graph.padding.verify_padding import (
    PaddedValues,
    follow_padding,
    set_axes,
)
from glow.passes.graph.padding.window_rules import SPATIAL, global_axes
from glow.signature import main_function

SIZED: dict[type[Operation], tuple[str, ...]] = {
    glow.ConstantOp: ("value",),
    glow.SliceOp: ("starts", "sizes"),
    glow.MaxPool2dOp: ("kernel",),
    glow.AvgPool2dOp: ("kernel",),
}
"""Properties that hold sizes or contents, which are compared by themselves."""

MARKED = (glow.ConstantOp, glow.SplatOp, glow.BroadcastOp, glow.SliceOp)
"""The nodes whose results are longer than what they are made of."""


MARK_NAMES = (
    *(name for name, _ in MARKS),
    *(PADDED_PER_STEP, FROM_END, CLAMPED, COUNTS, AROUND_PADDED_AXES, PART_OF_MOVE),
)


class Pair(NamedTuple):
    """A size, and a larger one that it is padded to."""

    short: int
    long: int
    step: int = 1
    """Of how many elements padding is a multiple."""
    at_front: bool = False

    @property
    def added(self) -> int:
        """The steps of padding."""
        return (self.long - self.short) // self.step


class ResultAxis(NamedTuple):
    """A padded axis of a result."""

    result: int
    axis: int
    form: PaddedAxis


def check_pair(short: ModuleOp, long: ModuleOp, pair: Pair) -> tuple[ResultAxis, ...]:
    """The padded axes of results; GlowError where results change.

    The modules are those of one model for a size and a larger one.
    """
    _mark(main_function(short), main_function(long), pair)
    return _compared(short, long, pair, lambda one: _followed(one, pair))


def _followed(function: FuncOp, pair: Pair) -> PaddedValues:
    """The padding of all values, none of which is gone for a size of 1."""
    found = follow_padding(function)
    added = (pair.long - 1) // pair.step
    for padded in found.values():
        for axis, form in padded.axes.items():
            if form.shorter(added) < 1:
                raise GlowError(
                    f"axis {axis} of a value is padding alone for small sizes"
                )
    return found


def mask_graph(
    short: ModuleOp, long: ModuleOp, pair: Pair, name: str
) -> tuple[ResultAxis, ...]:
    """Mask padding in the larger graph, which takes how much there is as an input of a name.

    Returns the padded axes of results; raises GlowError where they change all the same.
    """
    _mark(main_function(short), main_function(long), pair, any_multiple=True)
    return _compared(short, long, pair, lambda one: mask_padding(one, name))


def _compared(
    short: ModuleOp,
    long: ModuleOp,
    pair: Pair,
    follow: Callable[[FuncOp], PaddedValues],
) -> tuple[ResultAxis, ...]:
    """The padded axes of results, when the shapes of all values are what padding says."""
    functions = main_function(short), main_function(long)
    values = list(zip(*(_values(one) for one in functions), strict=True))
    last = functions[1].body.block.last_op
    outputs = tuple(last.operands) if last else ()
    found = follow(functions[1])
    shifts = relative_shifts(functions[1])
    within = {part.results[0] for one in shifts for part in one.parts[:-1]}
    for first, second in values:
        if second not in within and is_static_tensor(second):
            _check_shape(first, second, found.get(second, PaddedValue()), pair)
    return tuple(
        ResultAxis(number, axis, form.merged)
        for number, value in enumerate(outputs)
        for axis, form in sorted(found[value].axes.items())
    )


def _values(function: FuncOp) -> list[SSAValue]:
    """The values of a function outside of regions, arguments first."""
    results = [result for op in function.body.block.ops for result in op.results]
    return [*function.body.block.args, *results]


def _mark(short: FuncOp, long: FuncOp, pair: Pair, any_multiple: bool = False) -> None:
    """Write into the larger graph which arguments and constants depend on the size.

    Constants may be longer by `any_multiple` of what the arguments are longer by. Raises
    GlowError where the graphs are not the same nodes.
    """
    arguments = zip(short.body.block.args, long.body.block.args, strict=True)
    set_axes(long, [_marks(*one, pair) for one in arguments], "arg_attrs")
    ops = [list(function.walk()) for function in (short, long)]
    moves = _moved_alike(short, long)
    if len(ops[0]) != len(ops[1]):
        raise GlowError("the network has other nodes for other sizes")
    for first, second in zip(*ops, strict=True):
        for name in MARK_NAMES:
            second.attributes.pop(name, None)
        if any_multiple:
            _mark_ends(first, second, pair)
        if isinstance(first, glow.ConstantOp) and isinstance(second, glow.ConstantOp):
            if moves and (axis := _longer_around(first, second)) is not None:
                second.attributes[AROUND_PADDED_AXES] = ints_attr(axis)
        if second in moves and not _is_same(first, second, pair.at_front):
            second.attributes[PART_OF_MOVE] = UnitAttr()
        _check_node(first, second, pair.at_front)
        if isinstance(second, MARKED) and AROUND_PADDED_AXES not in second.attributes:
            axes = _marks(first.results[0], second.results[0], pair, any_multiple)
            if isinstance(second, glow.BroadcastOp):
                axes = {axis: axes[axis] for axis in _repeated(second, tuple(axes))}
            second.attributes |= marks(axes)


def _moved_alike(short: FuncOp, long: FuncOp) -> set[Operation]:
    """The nodes that move distances, of which there are twice as many more as rows; or none."""
    shifts = [list(relative_shifts(function)) for function in (short, long)]
    starts = [[one.start for one in each] for each in shifts]
    sizes = [[shape_of(one.source)[-2:] for one in each] for each in shifts]
    if len(starts[0]) != len(starts[1]) or not starts[1]:
        return set()
    more = np.subtract(starts[1], starts[0])
    grown = np.subtract(sizes[1], sizes[0]).reshape(-1, 2)
    is_alike = np.array_equal(grown, np.stack([more, 2 * more], 1))
    return {part for one in shifts[1] if is_alike for part in one.parts}


def _marks(
    short: SSAValue, long: SSAValue, pair: Pair, any_multiple: bool = False
) -> dict[int, MarkedAxis]:
    """The marks of the axes on which two values differ."""
    found: dict[int, MarkedAxis] = {}
    sizes = zip(shape_of(short), shape_of(long), strict=True)
    for axis, (one, other) in enumerate(sizes):
        if one != other:
            multiple, part = divmod(other - one, pair.added)
            per_step = (0 if part else multiple) if any_multiple else pair.step
            found[axis] = MarkedAxis(pair.at_front, per_step)
    return found


def _repeated(op: glow.BroadcastOp, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes along which a value is repeated, of some."""
    source = (1,) * 64 + shape_of(op.input)
    rank = len(shape_of(op.result))
    return tuple(axis for axis in axes if source[axis - rank] == 1)


def _check_node(short: Operation, long: Operation, at_front: bool) -> None:
    """Raise GlowError for nodes that differ in more than sizes."""
    if isinstance(long, FuncOp):
        return
    is_moving = short.name == long.name and PART_OF_MOVE in long.attributes
    if not is_moving and not _is_same(short, long, at_front):
        raise GlowError(
            f"{long.name} has other contents for other sizes", node=node_name(long)
        )


def _is_same(short: Operation, long: Operation, at_front: bool) -> bool:
    """Whether nodes differ in nothing but sizes."""
    ranks = [[_rank(result) for result in op.results] for op in (short, long)]
    same = short.name == long.name and ranks[0] == ranks[1]
    same = same and (COUNTS in long.attributes or _unsized(short) == _unsized(long))
    if isinstance(short, glow.Pool2dOp) and isinstance(long, glow.Pool2dOp):
        same = same and _same_windows(short, long)
    if isinstance(short, glow.ConstantOp) and isinstance(long, glow.ConstantOp):
        is_known = not {CLAMPED, AROUND_PADDED_AXES}.isdisjoint(long.attributes)
        same = same and (is_known or _is_part(short, long, at_front))
    if isinstance(short, glow.SliceOp) and isinstance(long, glow.SliceOp):
        same = same and _same_parts(short, long, at_front)
    return same


def _unsized(op: Operation) -> dict[str, Attribute]:
    """The properties that must be the same for all sizes."""
    sized = SIZED.get(type(op), ())
    return {name: one for name, one in op.properties.items() if name not in sized}


def _same_windows(short: glow.Pool2dOp, long: glow.Pool2dOp) -> bool:
    """Whether windows of two poolings are as large, or all of an axis."""
    kernels = [op.attributes_view().ints("kernel") for op in (short, long)]
    whole = {axis - SPATIAL for axis in global_axes(short)}
    whole &= {axis - SPATIAL for axis in global_axes(long)}
    return all(
        one == other or place in whole
        for place, (one, other) in enumerate(zip(*kernels, strict=True))
    )


def _mark_ends(short: Operation, long: Operation, pair: Pair) -> None:
    """Mark what masks can make independent of the size."""
    if isinstance(short, glow.SplatOp) and isinstance(long, glow.SplatOp):
        if short.number != long.number:
            long.attributes[COUNTS] = floats_attr(short.number, pair.added)
    if isinstance(short, glow.SliceOp) and isinstance(long, glow.SliceOp):
        _mark_from_end(short, long)
    if isinstance(short, glow.ConstantOp) and isinstance(long, glow.ConstantOp):
        if long.result.uses and _is_clamped(short, long):
            long.attributes[CLAMPED] = UnitAttr()


def _mark_from_end(short: glow.SliceOp, long: glow.SliceOp) -> None:
    """Mark the axes that both take as many elements of, as far from the end."""
    starts = [_ends(op, at_front=False) for op in (short, long)]
    ends = [_ends(op, at_front=True) for op in (short, long)]
    sizes = [shape_of(op.result) for op in (short, long)]
    axes = [
        axis
        for axis in range(len(sizes[0]))
        if starts[0][axis] != starts[1][axis]
        and ends[0][axis] == ends[1][axis]
        and sizes[0][axis] == sizes[1][axis]
    ]
    if axes:
        long.attributes[FROM_END] = ints_attr(*axes)


def _same_parts(short: glow.SliceOp, long: glow.SliceOp, at_front: bool) -> bool:
    """Whether two slices begin as far from the same end of each axis."""
    pairs = zip(_ends(short, at_front), _ends(long, at_front), strict=True)
    axes = axes_from_end(long)
    return all(one == other or axis in axes for axis, (one, other) in enumerate(pairs))


def _ends(op: glow.SliceOp, at_front: bool) -> list[int]:
    """How many elements are before what a slice takes, or behind it."""
    view = op.attributes_view()
    names = ("starts", "sizes", "steps")
    parts = zip(shape_of(op.input), *map(view.ints, names), strict=True)
    return [
        extent - 1 - (start + (size - 1) * step) if at_front else start
        for extent, start, size, step in parts
    ]


def _rank(value: SSAValue) -> int:
    return len(shape_of(value)) if is_static_tensor(value) else -1


def _is_part(short: glow.ConstantOp, long: glow.ConstantOp, at_front: bool) -> bool:
    """Whether a constant has the first elements of another, or the last ones."""
    first, second = stored_value(short.result), stored_value(long.result)
    if first is None or second is None:
        return False
    if any(one > other for one, other in zip(first.shape, second.shape, strict=True)):
        return False
    if first.shape == second.shape and short.weight_name == long.weight_name:
        place = place_in_file(first)
        if place is not None and place == place_in_file(second):
            return True  # Unread, as the weights of a large model should be.
    added = np.subtract(second.shape, first.shape) if at_front else [0] * first.ndim
    part = second[tuple(map(slice, added, np.add(added, first.shape)))]
    return same_bits(part, first)


def _is_clamped(short: glow.ConstantOp, long: glow.ConstantOp) -> bool:
    """Whether both are places of the same elements, but for those behind the end of the shorter.

    Such are those of an image that is enlarged by means of neighbours.
    """
    extents: set[int] = set()
    for use in short.result.uses:
        op = use.operation
        if not isinstance(op, glow.SampleOp) or use.index != 1:
            return False
        extents.add(shape_of(op.input)[op.attributes_view().int("axis")])
    first, second = stored_value(short.result), stored_value(long.result)
    if first is None or second is None or first.ndim != 2 or len(extents) != 1:
        return False
    part = np.minimum(second[: len(first)], extents.pop() - 1)
    return same_bits(part, first) and not same_bits(second[: len(first)], first)


def _longer_around(short: glow.ConstantOp, long: glow.ConstantOp) -> int | None:
    """The axis on which a constant has as many more elements at either end, and at no one end."""
    first, second = stored_value(short.result), stored_value(long.result)
    if first is None or second is None or _is_part(short, long, at_front=False):
        return None
    more = np.subtract(second.shape, first.shape)
    (axes,) = np.nonzero(more)
    if len(axes) != 1 or more.min() < 0 or more.max() % 2:
        return None
    begin = more // 2
    middle = second[tuple(map(slice, begin, np.add(begin, first.shape)))]
    return int(axes[0]) if same_bits(middle, first) else None


def _check_shape(
    short: SSAValue, long: SSAValue, padded: PaddedValue, pair: Pair
) -> None:
    """Raise GlowError for a value whose shape depends on the size otherwise than it is padded."""
    expected = list(shape_of(long))
    for axis, form in padded.axes.items():
        if not form.is_open:  # What an open one meets is as long, and is looked at.
            expected[axis] = form.shorter(pair.added)
        elif len(expected) == len(shape_of(short)):
            expected[axis] = shape_of(short)[axis]
    if tuple(expected) != shape_of(short):
        owner = long.owner if isinstance(long.owner, Operation) else None
        raise GlowError(
            f"a shape is {list(shape_of(long))} for {pair.long} and {list(shape_of(short))} "
            f"for {pair.short}, which padding does not explain",
            node=node_name(owner) if owner else None,
        )
