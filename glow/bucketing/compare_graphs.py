"""Whether one graph is another one with padding: the same nodes, on sizes that padding explains.

Both are graphs of one model, for a size and for a larger one. Constants of the smaller one have the
first elements of those of the larger, or the last ones, where padding is at the front.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import is_static_tensor, node_name, shape_of
from glow.dialects.weight_table import place_in_file
from glow.dialects.weights import stored_value
from glow.passes.graph.merge_weights import same_bits
from glow.passes.graph.padding.padded_value import PaddedValue
from glow.passes.graph.padding.placing import MARKS, marks
from glow.passes.graph.padding.verify_padding import follow_padding, set_axes
from glow.signature import main_function

SIZED: dict[type[Operation], tuple[str, ...]] = {
    glow.ConstantOp: ("value",),
    glow.SliceOp: ("starts", "sizes"),
}
"""Properties that hold sizes or contents, which are compared by themselves."""

MARKED = (glow.ConstantOp, glow.SplatOp, glow.BroadcastOp, glow.SliceOp)
"""The nodes whose results are longer than what they are made of."""

Cuts = tuple[tuple[int, int], ...]
"""Numbers of outputs, and axes of them."""


def check_pair(
    short: ModuleOp, long: ModuleOp, pair: tuple[int, int], at_front: bool = False
) -> Cuts:
    """The outputs and axes that are cut after padding; GlowError where results change.

    The modules are those of one model for a size and a larger one.
    """
    functions = main_function(short), main_function(long)
    _mark(*functions, at_front)
    found = follow_padding(functions[1])
    for first, second in zip(*(_values(one) for one in functions), strict=True):
        if is_static_tensor(second):
            _check_shape(first, second, found.get(second, PaddedValue()), pair)
    last = functions[1].body.block.last_op
    outputs = enumerate(last.operands if last else ())
    cuts = ((number, axis) for number, value in outputs for axis in found[value].axes)
    return tuple(sorted(cuts))


def _values(function: FuncOp) -> list[SSAValue]:
    """The values of a function outside of regions, arguments first."""
    results = [result for op in function.body.block.ops for result in op.results]
    return [*function.body.block.args, *results]


def _mark(short: FuncOp, long: FuncOp, at_front: bool) -> None:
    """Write into the larger graph which arguments and constants depend on the size.

    Raises GlowError where the graphs are not the same nodes.
    """
    pairs = zip(short.body.block.args, long.body.block.args, strict=True)
    axes = [dict.fromkeys(_longer(*pair), at_front) for pair in pairs]
    set_axes(long, axes, "arg_attrs")
    ops = [list(function.walk()) for function in (short, long)]
    if len(ops[0]) != len(ops[1]):
        raise GlowError("the network has other nodes for other sizes")
    for first, second in zip(*ops, strict=True):
        _check_node(first, second, at_front)
        for name, _ in MARKS:
            second.attributes.pop(name, None)
        if isinstance(second, MARKED):
            axes = _longer(first.results[0], second.results[0])
            if isinstance(second, glow.BroadcastOp):
                axes = _repeated(second, axes)
            if isinstance(second, glow.SliceOp):
                taken = _longer(first.operands[0], second.operands[0])
                axes = tuple(axis for axis in axes if axis not in taken)
            second.attributes |= marks(dict.fromkeys(axes, at_front))


def _longer(short: SSAValue, long: SSAValue) -> tuple[int, ...]:
    """The axes on which two values differ."""
    sizes = zip(shape_of(short), shape_of(long), strict=True)
    return tuple(axis for axis, (one, other) in enumerate(sizes) if one != other)


def _repeated(op: glow.BroadcastOp, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes along which a value is repeated, of some."""
    source = (1,) * 64 + shape_of(op.input)
    rank = len(shape_of(op.result))
    return tuple(axis for axis in axes if source[axis - rank] == 1)


def _check_node(short: Operation, long: Operation, at_front: bool) -> None:
    """Raise GlowError for nodes that differ in more than sizes."""
    if isinstance(long, FuncOp):
        return
    ranks = [[_rank(result) for result in op.results] for op in (short, long)]
    same = short.name == long.name and ranks[0] == ranks[1]
    same = same and _unsized(short) == _unsized(long)
    if isinstance(short, glow.ConstantOp) and isinstance(long, glow.ConstantOp):
        same = same and _is_part(short, long, at_front)
    if isinstance(short, glow.SliceOp) and isinstance(long, glow.SliceOp):
        same = same and _ends(short, at_front) == _ends(long, at_front)
    if not same:
        raise GlowError(
            f"{long.name} has other contents for other sizes", node=node_name(long)
        )


def _unsized(op: Operation) -> dict[str, Attribute]:
    """The properties that must be the same for all sizes."""
    sized = SIZED.get(type(op), ())
    return {name: one for name, one in op.properties.items() if name not in sized}


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


def _check_shape(
    short: SSAValue, long: SSAValue, padded: PaddedValue, pair: tuple[int, int]
) -> None:
    """Raise GlowError for a value whose shape depends on the size otherwise than it is padded."""
    expected = list(shape_of(long))
    for axis, form in padded.axes.items():
        expected[axis] = form.shorter(pair[1] - pair[0])
    if tuple(expected) != shape_of(short):
        owner = long.owner if isinstance(long.owner, Operation) else None
        raise GlowError(
            f"a shape is {list(shape_of(long))} for {pair[1]} and {list(shape_of(short))} "
            f"for {pair[0]}, which padding does not explain",
            node=node_name(owner) if owner else None,
        )
