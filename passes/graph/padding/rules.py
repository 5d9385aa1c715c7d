"""One rule for each kind of node: which axes of its results are padded.

A rule keeps up that elements before the ends of all axes are those of the network without padding,
or refuses. What has no rule may not see padding at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import PART_OF_MOVE, TRUE_IN_PADDING
from glow.dialects.glow.recurrent import RecurrentOp
from glow.dialects.node import NodeOp, node_name, shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.padding.element_range import (
    ELEMENTWISE,
    MODERATE,
    SHARES,
    UNKNOWN,
    ZERO,
    Range,
    elementwise,
    joined,
)
from glow.passes.graph.padding.lookup_rules import LOOKUP_RULES
from glow.passes.graph.padding.mask_steps import is_seen
from glow.passes.graph.padding.movement_rules import MOVEMENT_RULES
from glow.passes.graph.padding.padded_value import (
    PaddedAxis,
    PaddedValue,
)
from glow.passes.graph.padding.placing import (
    Mask,
    Placed,
    check_plain,
    combined,
    marked_axes,
    refusal,
)
from glow.passes.graph.padding.product_rules import PRODUCT_RULES
from glow.passes.graph.padding.stored_values import stored
from glow.passes.graph.padding.window_rules import WINDOW_RULES


def padded_results(
    op: NodeOp, operands: Sequence[PaddedValue]
) -> Sequence[PaddedValue]:
    """The results of a node; raises GlowError where padding changes one of them."""
    if PART_OF_MOVE in op.attributes:
        message = f"{op.name} has other contents for other sizes"
        raise GlowError(message, node=node_name(op))
    if isinstance(op, glow.ConstantOp | glow.SplatOp):
        return [stored(op)]
    if not (any(one.axes for one in operands) or marked_axes(op.attributes)):
        inside = MODERATE
        if isinstance(op, ELEMENTWISE) and not op.is_quantized:
            inside = elementwise(op, [one.inside for one in operands])
        return [PaddedValue(inside=inside)] * len(op.results)
    if isinstance(op, ELEMENTWISE):
        return [_elementwise(op, operands)]
    if type(op) not in LEAVE_AROUND:
        _check_ends(op, operands)
    rule = RULES.get(type(op))
    if rule is None:
        axis = next(axis for one in operands for axis in one.axes)
        raise refusal(op, axis, "is not known to leave padding alone on")
    return rule(op, operands)


def _check_ends(op: NodeOp, operands: Sequence[PaddedValue]) -> None:
    """Refuse axes that are padded at both ends, of which few rules know."""
    for operand in operands:
        for axis, form in operand.axes.items():
            if form.around:
                raise refusal(op, axis, "is not known to leave padding alone around")


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
    if axis in value.axes:
        is_last = value.beyond[axis].number == LOWEST
        if not (
            is_last or (value.beyond[axis].is_masked and not _hides_rows(op, value))
        ):
            what = "normalizes over what is not masked of"
            raise refusal(op, axis, what, Mask(0, axis, LOWEST))
    shares = Range(MODERATE.low, 0) if is_log else SHARES
    beyond = {
        other: UNKNOWN if _may_be_empty(one) else shares
        for other, one in value.beyond.items()
    }
    corner = joined([shares, *beyond.values()])
    if axis in value.axes:
        beyond[axis] = Range(float("-inf"), 0) if is_log else ZERO
    return [PaddedValue(value.axes, MODERATE, beyond, corner)]


def _hides_rows(op: NodeOp, value: PaddedValue) -> bool:
    """Whether some rows may be hidden whole, of whose equal scores padding would have a share.

    Those are the rows of hidden words, where what is hidden depends on both words of a score.
    """
    owner, axis = op.inputs[0].owner, op.attributes_view().int("axis")
    if (
        not isinstance(owner, glow.SelectOp)
        or constant_value(owner.inputs[0]) is not None
    ):
        return False
    shape = shape_of(owner.inputs[0])
    shift = len(shape_of(op.inputs[0])) - len(shape)
    sizes = {one: shape[one - shift] for one in value.axes if one >= shift}
    return sum(size > 1 for size in sizes.values()) > 1 and sizes.get(axis, 1) > 1


def _may_be_empty(one: Range) -> bool:
    """Whether a row of such elements may have no share, or none that is a number."""
    return one.may_be_nan or one.low == float("-inf") or one.high == float("inf")


def _reduce(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    attributes = op.attributes_view()
    axes = attributes.ints("axes")
    for axis in axes:
        if axis in value.axes and not _is_neutral(op, value.beyond[axis]):
            number = NEUTRAL.get(type(op))
            masks = () if number is None else (Mask(0, axis, number),)
            raise refusal(op, axis, "reduces", *masks)
    return [reduced(op, value)]


def reduced(op: NodeOp, value: PaddedValue) -> PaddedValue:
    """The result of a reduction that does not see padding."""
    view = op.attributes_view()
    rest = _without(value, view.ints("axes"), view.has("keepdims"))
    return _of_axes(rest, lambda one: _reduced(op, one))


LOWEST = float("-inf")

NEUTRAL: dict[type[Operation], float] = {
    glow.ReduceSumOp: 0.0,
    glow.ReduceMaxOp: LOWEST,
    glow.ReduceMinOp: -LOWEST,
    glow.ReduceProdOp: 1.0,
}
"""What a reduction does not see."""


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
    if axis in value.axes and not _is_last_choice(op, value.beyond[axis]):
        number = LOWEST if isinstance(op, glow.ArgMaxOp) else -LOWEST
        what = "looks for the extreme element of"
        raise refusal(op, axis, what, Mask(0, axis, number))
    last = Range(0, shape_of(op.inputs[0])[axis] - 1)
    rest = _without(value, [axis], attributes.has("keepdims"))
    return [_of_axes(rest, lambda _: last)]


def _is_last_choice(op: NodeOp, one: Range) -> bool:
    """Whether elements of a range are taken for extreme ones after all others."""
    number = -LOWEST if isinstance(op, glow.ArgMinOp) else LOWEST
    return one.number == number and not op.attributes_view().has("select_last")


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


def _across_channels(
    op: NodeOp, operands: Sequence[PaddedValue]
) -> Sequence[PaddedValue]:
    """The same function of the channels of each pixel."""
    if 1 in operands[0].axes:
        raise refusal(op, 1, "computes across")
    return [_moderate(operands[0])]


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
    is_sum = attributes.string("kind") == "sum"
    if not is_sum or value.beyond[axis].number != 0:
        masks = (Mask(0, axis, 0.0),) if is_sum else ()
        raise refusal(op, axis, "begins at the padding of", *masks)
    result = _moderate(value)
    return [replace(result, beyond={**result.beyond, axis: ZERO})]


def _top_k(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    (value,) = operands
    last = len(shape_of(op.inputs[0])) - 1
    number = -LOWEST if op.attributes_view().has("smallest") else LOWEST
    if last in value.axes and value.beyond[last].number != number:
        raise refusal(op, last, "sorts", Mask(0, last, number))
    places = Range(0, shape_of(op.inputs[0])[last] - 1)
    kept = _without(value, [last], keep=True)
    return [kept, _of_axes(kept, lambda _: places)]


def _recurrent(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    """Input [steps, batch, size], states [directions, batch, hidden]: the batch is safe.

    So are steps behind the end of a sequence that is read from its beginning.
    """
    assert isinstance(op, RecurrentOp)
    value, *others = operands
    check_plain(op, others[:3])
    steps, is_only = value.axes.get(0), len(value.axes) == 1
    if steps and steps.is_plain and not (steps.at_front or is_seen(op)) and is_only:
        if not any(one.axes for one in others[3:]):
            return [sequence_of(steps), *[PaddedValue()] * (len(op.results) - 1)]
    for operand in (value, *others[3:]):
        for axis in operand.axes:
            if axis != 1:
                raise refusal(op, axis, "goes on over")
    form = next(one.axes[1] for one in operands if one.axes)
    states = PaddedValue({1: form}, MODERATE, {1: UNKNOWN}, UNKNOWN)
    return [states.shifted(1), *[states] * (len(op.results) - 1)]


def sequence_of(steps: PaddedAxis) -> PaddedValue:
    """The hidden states of a sequence with padding behind it."""
    return PaddedValue({0: steps}, MODERATE, {0: UNKNOWN}, UNKNOWN)


def _each_element(op: NodeOp, operands: Sequence[PaddedValue]) -> Sequence[PaddedValue]:
    """A function of elements with parameters."""
    check_plain(op, operands[1:])
    return [_moderate(operands[0])]


LEAVE_AROUND = frozenset(
    (
        glow.ReshapeOp,
        glow.TransposeOp,
        glow.BroadcastOp,
        glow.ConcatOp,
        glow.SliceOp,
        glow.PadOp,
        glow.MatmulOp,
        glow.GemmOp,
        glow.FullyConnectedOp,
    )
)
"""Nodes whose rules hold wherever padding is."""

Rule = Callable[[NodeOp, Sequence[PaddedValue]], Sequence[PaddedValue]]

RULES: dict[type[Operation], Rule] = {
    **MOVEMENT_RULES,
    **LOOKUP_RULES,
    **PRODUCT_RULES,
    **WINDOW_RULES,
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
    glow.LocalResponseNormOp: _across_channels,
    glow.LstmOp: _recurrent,
    glow.GruOp: _recurrent,
    glow.RnnOp: _recurrent,
    glow.CumulativeOp: _cumulative,
    glow.TopKOp: _top_k,
    glow.RescaleOp: _each_element,
    glow.LookupTableOp: _each_element,
}
"""The rules of the nodes that may see padding."""
