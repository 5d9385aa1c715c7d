"""The rules of windows over a plane or a space: convolutions, poolings, and their transposes.

A window that is kept looks beyond the end only where the node pads the end itself. It sees there
what the node would have added, if the input is masked:

    x [1, 3, 8 of 12]   conv, 3 wide, pads 1 and 1, strides 2   ->   y [1, 4, 4 of 6]

Batches are computed one by one, and channels are no padded axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.padding.element_range import MODERATE, UNKNOWN
from glow.passes.graph.padding.padded_value import PaddedAxis, PaddedValue
from glow.passes.graph.padding.placing import Mask, check_plain, refusal

Values = Sequence[PaddedValue]

SPATIAL = 2
"""The first axis of a plane, behind those of images and channels."""


def _window(op: NodeOp, operands: Values) -> Values:
    """A convolution or a pooling."""
    return [_over_plane(op, operands, _windows)] * len(op.results)


def averaged(op: NodeOp, value: PaddedValue) -> PaddedValue:
    """The result of an average of all of an axis, which is divided by what is kept."""
    return _over_plane(op, [value], _windows, is_rescaled=True)


def _transposed(op: NodeOp, operands: Values) -> Values:
    """A transposed convolution."""
    return [_over_plane(op, operands, _spread)]


def _over_plane(
    op: NodeOp,
    operands: Values,
    of_axis: Callable[[NodeOp, PaddedValue, int], PaddedAxis],
    is_rescaled: bool = False,
) -> PaddedValue:
    value, *others = operands
    check_plain(op, others)
    axes: dict[int, PaddedAxis] = {}
    whole = global_axes(op)
    for axis, given in value.axes.items():
        form = given.merged
        if axis in whole:
            if isinstance(op, glow.AvgPool2dOp) and not is_rescaled:
                raise refusal(op, axis, "averages")
            _check_neutral(op, value, axis, _neutral(op))
            continue
        is_simple = form.is_plain and not form.at_front
        if axis == 1 or (axis > 1 and not is_simple):
            raise refusal(op, axis, "computes across")
        axes[axis] = given if axis == 0 else of_axis(op, value, axis)
    outside = MODERATE if value.outside.is_finite else UNKNOWN
    return PaddedValue(axes, MODERATE, dict.fromkeys(axes, outside), outside)


def _windows(op: NodeOp, value: PaddedValue, axis: int) -> PaddedAxis:
    """The axis of windows over one; refuses those that see what is beyond its end."""
    view, place = op.attributes_view(), axis - SPATIAL
    begin, end = _pads(op, place)
    if view.has("ceil_mode"):
        raise refusal(op, axis, "has windows that end outside of")
    if isinstance(op, glow.AvgPool2dOp) and end and not view.has("count_include_pad"):
        raise refusal(op, axis, "counts the elements of windows along")
    kernel = _kernel(op)[place]
    stride, dilation = (view.ints(n)[place] for n in ("strides", "dilations"))
    if end:
        _check_neutral(op, value, axis, _neutral(op))
    span = dilation * (kernel - 1) + 1
    return value.axes[axis].merged.windows(begin + end - span + stride, stride)


def _spread(op: NodeOp, value: PaddedValue, axis: int) -> PaddedAxis:
    """The axis that the elements of one add to; refuses those from beyond its end."""
    view, place = op.attributes_view(), axis - SPATIAL
    begin, end = _pads(op, place)
    stride, dilation, more = (
        view.ints(name)[place] for name in ("strides", "dilations", "output_padding")
    )
    span = dilation * (_kernel(op)[place] - 1) + 1
    if span - stride + more - end > 0:
        _check_neutral(op, value, axis, 0.0)
    found = value.axes[axis].merged.spread(span - stride + more - begin - end, stride)
    if found is None:
        raise refusal(op, axis, "spreads what strides have thinned along")
    return found


def global_axes(op: NodeOp) -> list[int]:
    """The axes that one window of a pooling is as long as: it is so for all sizes."""
    if not isinstance(op, glow.Pool2dOp):
        return []
    shape = shape_of(op.inputs[0])[SPATIAL : SPATIAL + 2]
    return [
        place + SPATIAL
        for place, (size, kernel) in enumerate(zip(shape, _kernel(op), strict=True))
        if size == kernel and not any(_pads(op, place))
    ]


def _neutral(op: NodeOp) -> float:
    return float("-inf") if isinstance(op, glow.MaxPool2dOp) else 0.0


def _pads(op: NodeOp, place: int) -> tuple[int, int]:
    pads = op.attributes_view().ints("pads")
    return pads[place], pads[place + len(pads) // 2]


def _kernel(op: NodeOp) -> Sequence[int]:
    view = op.attributes_view()
    if isinstance(op, glow.Pool2dOp):
        return view.ints("kernel")
    return shape_of(op.inputs[1])[SPATIAL:]


def _check_neutral(op: NodeOp, value: PaddedValue, axis: int, number: float) -> None:
    """Refuse elements beyond the end of an axis that are not a number."""
    beyond = value.beyond[axis]
    corner = [value.corner] if len(value.axes) > 1 else []
    if any(one.number != number for one in (beyond, *corner)):
        raise refusal(op, axis, "computes across", Mask(0, axis, number))


Rule = Callable[[NodeOp, Values], Values]

WINDOW_RULES: dict[type[Operation], Rule] = {
    glow.Conv2dOp: _window,
    glow.Conv3dOp: _window,
    glow.MaxPool2dOp: _window,
    glow.AvgPool2dOp: _window,
    glow.ConvTranspose2dOp: _transposed,
    glow.ConvTranspose3dOp: _transposed,
}
