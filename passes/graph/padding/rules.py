"""One rule for each kind of node: which axes of its results are padded.

A rule keeps up that elements before the ends of all axes are those of the network without padding,
or refuses. What has no rule may not see padding at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.function_attributes import TRUE_IN_PADDING
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.quantized import is_quantized
from glow.dialects.weights import Array, constant_value
from glow.passes.graph.padding.element_range import (
    ELEMENTWISE,
    MODERATE,
    SHARES,
    UNKNOWN,
    ZERO,
    Range,
    elementwise,
    joined,
    range_of,
)
from glow.passes.graph.padding.movement_rules import MOVEMENT_RULES
from glow.passes.graph.padding.padded_value import PaddedValue, marked_forms
from glow.passes.graph.padding.placing import Placed, combined, marked_axes, refusal
from glow.passes.graph.padding.product_rules import PRODUCT_RULES

MAX_ELEMENTS = 1 << 20
"""Constants of no more elements are read; larger ones are weights of moderate size."""


def padded_results(
    op: NodeOp, operands: Sequence[PaddedValue]
) -> Sequence[PaddedValue]:
    """The results of a node; raises GlowError where padding changes one of them."""
    if isinstance(op, glow.ConstantOp | glow.SplatOp):
        return [_stored(op)]
    if not (any(one.axes for one in operands) or marked_axes(op.attributes)):
        inside = MODERATE
        if isinstance(op, ELEMENTWISE) and not op.is_quantized:
            inside = elementwise(op, [one.inside for one in operands])
        return [PaddedValue(inside=inside)] * len(op.results)
    if isinstance(op, ELEMENTWISE):
        return [_elementwise(op, operands)]
    rule = RULES.get(type(op))
    if rule is None:
        axis = next(axis for one in operands for axis in one.axes)
        raise refusal(op, axis, "is not known to leave padding alone on")
    return rule(op, operands)


def _stored(op: glow.ConstantOp | glow.SplatOp) -> PaddedValue:
    """A constant; one that depends on the padded size has elements of it for a shorter one."""
    shape, axes = shape_of(op.result), marked_axes(op.attributes)
    padded = marked_forms(shape, axes)
    if isinstance(op, glow.SplatOp):
        same = Range(float(op.number), float(op.number))
        return PaddedValue(padded, same, dict.fromkeys(axes, same), same)
    table = None if is_quantized(op.result.type) else _small_value(op)
    if table is None:
        return PaddedValue(padded, MODERATE, dict.fromkeys(axes, MODERATE), MODERATE)
    beyond = {axis: range_of(_beyond(table, axis, axes)) for axis in axes}
    whole = range_of(table)
    return PaddedValue(padded, whole if not axes else MODERATE, beyond, whole)


def _small_value(op: glow.ConstantOp) -> Array | None:
    size = 1
    for each in shape_of(op.result):
        size *= each
    return constant_value(op.result) if size <= MAX_ELEMENTS else None


def _beyond(table: Array, axis: int, axes: Mapping[int, bool]) -> Array:
    """What stands beyond the end of an axis and inside of others, at any length."""
    import numpy as np

    places = np.indices(table.shape, sparse=True)
    depths = {  # How many elements are between each and the padded end.
        one: places[one] if front else table.shape[one] - 1 - places[one]
        for one, front in axes.items()
    }
    inside = np.full((1,) * table.ndim, table.shape[axis] - 1)
    for one, depth in depths.items():
        inside = inside if one == axis else np.minimum(inside, depth)
    return table[np.broadcast_to(depths[axis] < inside, table.shape)]


def _elementwise(op: NodeOp, operands: Sequence[PaddedValue]) -> PaddedValue:
    rank = len(shape_of(op.results[0]))
    placed = [
        Placed.broadcast(value, shape_of(operand), rank)
        for value, operand in zip(operands, op.inputs, strict=True)
    ]

    def of(ranges: Sequence[Range]) -> Range:
        return MODERATE if op.is_quantized else elementwise(op, ranges)

    result = combined(op, placed, of)
    if TRUE_IN_PADDING not in op.attributes:
        return result
    true = Range(1, 1)
    return replace(result, beyond=dict.fromkeys(result.axes, true), corner=true)


def _softmax(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    axis = op.attributes_view().int("axis")
    is_log = isinstance(op, glow.LogSoftmaxOp)
    if axis in value.axes and not value.beyond[axis].is_masked:
        raise refusal(op, axis, "normalizes over what is not masked of")
    shares = Range(MODERATE.low, 0) if is_log else SHARES
    beyond = {
        other: UNKNOWN if _may_be_empty(one) else shares
        for other, one in value.beyond.items()
    }
    corner = joined([shares, *beyond.values()])
    if axis in value.axes:
        beyond[axis] = Range(float("-inf"), 0) if is_log else ZERO
    return [PaddedValue(value.axes, MODERATE, beyond, corner)]


def _may_be_empty(one: Range) -> bool:
    """Whether a row of such elements may have no share, or none that is a number."""
    return one.may_be_nan or one.low == float("-inf") or one.high == float("inf")


def _reduce(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    attributes = op.attributes_view()
    axes = attributes.ints("axes")
    for axis in axes:
        if axis in value.axes and not _is_neutral(op, value.beyond[axis]):
            raise refusal(op, axis, "reduces")
    rest = _without(value, axes, attributes.has("keepdims"))
    return [_of_axes(rest, lambda one: _reduced(op, one))]


def _is_neutral(op: NodeOp, one: Range) -> bool:
    """Whether a reduction does not see elements of a range."""
    if isinstance(op, glow.ReduceMaxOp):
        return one.is_masked
    if isinstance(op, glow.ReduceMinOp):
        return Range(-one.high, -one.low, one.may_be_nan).is_masked
    if isinstance(op, glow.ReduceSumOp):
        return one.number == 0
    return isinstance(op, glow.ReduceProdOp) and one.number == 1


def _reduced(op: NodeOp, one: Range) -> Range:
    """The range of the results for rows of a range."""
    if one.number == 0 and not isinstance(op, glow.ReduceProdOp):
        return ZERO
    if isinstance(op, glow.ReduceMaxOp | glow.ReduceMinOp | glow.ReduceMeanOp):
        return one
    if not one.is_finite:
        return UNKNOWN
    return Range(0, MODERATE.high) if one.low >= 0 else MODERATE


def _arg(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    attributes = op.attributes_view()
    axis = attributes.int("axis")
    if axis in value.axes:
        raise refusal(op, axis, "looks for the extreme element of")
    last = Range(0, shape_of(op.inputs[0])[axis] - 1)
    rest = _without(value, [axis], attributes.has("keepdims"))
    return [_of_axes(rest, lambda _: last)]


def _without(value: PaddedValue, axes: Sequence[int], keep: bool) -> PaddedValue:
    """The value when axes are gone, or have one element."""
    places = {
        axis: axis if keep else axis - sum(other < axis for other in axes)
        for axis in value.axes
        if axis not in axes
    }
    return value.moved(places)


def _of_axes(value: PaddedValue, of: Callable[[Range], Range]) -> PaddedValue:
    """The value whose elements beyond the ends are functions of rows."""
    beyond = {axis: of(one) for axis, one in value.beyond.items()}
    return PaddedValue(value.axes, MODERATE, beyond, of(value.everywhere))


def _layer_norm(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    value, *others = operands
    axis = op.attributes_view().int("axis")
    for other in range(axis, len(shape_of(op.results[0]))):
        if other in value.axes:
            raise refusal(op, other, "normalizes over")
    check_plain(op, others)
    return [_moderate(value)]


def _moderate(value: PaddedValue) -> PaddedValue:
    """The value whose elements are moderate where those of rows are numbers."""
    return _of_axes(value, lambda one: MODERATE if one.is_finite else UNKNOWN)


def check_plain(op: NodeOp, others: Sequence[PaddedValue]) -> None:
    """Refuse operands that are padded, where only the first may be."""
    for other in others:
        for axis in other.axes:
            raise refusal(op, axis, "takes a parameter with")


def _only(*allowed: int) -> Rule:
    """The rule of nodes that are the same function for each element of some axes."""

    def rule(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
        value, *others = operands
        check_plain(op, others)
        for axis in value.axes:
            if axis not in allowed:
                raise refusal(op, axis, "computes across")
        return [_moderate(value)] * len(op.results)

    return rule


def _batch_norm(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    check_plain(op, operands[1:])
    if 1 in operands[0].axes:
        raise refusal(op, 1, "has parameters for")
    return [_moderate(operands[0])]


def _cumulative(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    attributes = op.attributes_view()
    axis = attributes.int("axis")
    form = value.axes.get(axis)
    if form is None or form.at_front == attributes.has("reverse"):
        return [_moderate(value)]
    if attributes.string("kind") != "sum" or value.beyond[axis].number != 0:
        raise refusal(op, axis, "begins at the padding of")
    result = _moderate(value)
    return [replace(result, beyond={**result.beyond, axis: ZERO})]


def _top_k(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    last = len(shape_of(op.inputs[0])) - 1
    if last in value.axes:
        raise refusal(op, last, "sorts")
    places = Range(0, shape_of(op.inputs[0])[last] - 1)
    return [value, _of_axes(value, lambda _: places)]


def _recurrent(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    """Input [steps, batch, size], states [directions, batch, hidden]: only the batch is safe."""
    value, *others = operands
    check_plain(op, others[:3])
    for operand in (value, *others[3:]):
        for axis in operand.axes:
            if axis != 1:
                raise refusal(op, axis, "goes on over")
    form = next(one.axes[1] for one in operands if one.axes)
    states = PaddedValue({1: form}, MODERATE, {1: UNKNOWN}, UNKNOWN)
    return [states.shifted(1), *[states] * (len(op.results) - 1)]


def _each_element(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    """A function of elements with parameters."""
    check_plain(op, operands[1:])
    return [_moderate(operands[0])]


Rule = Callable[[NodeOp, Sequence[PaddedValue]], Sequence[PaddedValue]]

RULES: dict[type[Operation], Rule] = {
    **MOVEMENT_RULES,
    **PRODUCT_RULES,
    glow.SoftmaxOp: _softmax,
    glow.LogSoftmaxOp: _softmax,
    **dict.fromkeys(
        (
            glow.ReduceSumOp,
            glow.ReduceMeanOp,
            glow.ReduceMaxOp,
            glow.ReduceMinOp,
            glow.ReduceProdOp,
        ),
        _reduce,
    ),
    glow.ArgMaxOp: _arg,
    glow.ArgMinOp: _arg,
    glow.LayerNormOp: _layer_norm,
    glow.BatchNormOp: _batch_norm,
    **dict.fromkeys(
        (
            glow.Conv2dOp,
            glow.Conv3dOp,
            glow.ConvTranspose2dOp,
            glow.ConvTranspose3dOp,
            glow.MaxPool2dOp,
            glow.AvgPool2dOp,
            glow.LocalResponseNormOp,
        ),
        _only(0),
    ),
    glow.LstmOp: _recurrent,
    glow.GruOp: _recurrent,
    glow.RnnOp: _recurrent,
    glow.CumulativeOp: _cumulative,
    glow.TopKOp: _top_k,
    glow.RescaleOp: _each_element,
    glow.LookupTableOp: _each_element,
}
"""The rules of the nodes that may see padding."""
