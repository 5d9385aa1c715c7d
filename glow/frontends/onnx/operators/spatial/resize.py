"""Handlers of Resize and Upsample: one axis after the other, by tables that import makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isclose

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from glow.dialects.glow import ClipOp, GatherOp, RoundOp, SampleOp, SelectOp
from glow.dialects.glow.elementwise import is_integer
from glow.dialects.node import fail_unless
from glow.dialects.weight_table import dtype_of
from glow.frontends.formulas.interpolation import (
    REACH,
    ROUNDINGS,
    TRANSFORMATIONS,
    Floats,
    ResizedAxis,
    cubic,
    linear,
    nearest,
    neighbours,
    positions,
)
from glow.frontends.onnx.graph import BUDGET
from glow.frontends.onnx.node import (
    Constant,
    OnnxNode,
    Operand,
    Value,
    element_type,
    shape,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op

FULL_RESIZE = 11
"""From this opset on Resize says how coordinates are transformed."""


@dataclass(frozen=True)
class Method:
    """How a tensor is resized."""

    mode: str
    transformation: str
    rounding: str
    factor: float
    antialias: bool
    exclude_outside: bool


@onnx_op("Upsample")
def upsample(node: OnnxNode) -> Value:
    """Resize by scales, an attribute before opset 9."""
    scales = node.attr_floats("scales") if node.opset < UPSAMPLE_BY_INPUT else None
    if scales is None:
        scales = [float(scale) for scale in node.array(1, "scales").ravel()]
    refuse_if(min(scales, default=1.0) < 1, f"scales {scales}")
    sizes = node.shape(0)
    axes = _by_scales(sizes, range(len(sizes)), scales)
    mode = node.attr_string("mode", "nearest")
    method = Method(mode, "asymmetric", "floor", -0.75, False, False)
    return _resized(node, axes, _checked(method))


UPSAMPLE_BY_INPUT = 9


@onnx_op("Resize")
def resize(node: OnnxNode) -> Value:
    """Each axis in turn becomes longer or shorter; scales or sizes say how much."""
    if node.opset < FULL_RESIZE:
        return _old_resize(node)
    sizes = node.shape(0)
    given = node.attr_ints("axes")
    axes = [node.positive(axis, len(sizes)) for axis in given or range(len(sizes))]
    fail_unless(len(set(axes)) == len(axes), f"axes {given} repeat")
    method = _checked(
        Method(
            node.attr_string("mode", "nearest"),
            node.attr_string("coordinate_transformation_mode", "half_pixel"),
            node.attr_string("nearest_mode", "round_prefer_floor"),
            node.attr_float("cubic_coeff_a", -0.75),
            bool(node.attr_int("antialias", 0)),
            bool(node.attr_int("exclude_outside", 0)),
        )
    )
    resized = _resized_axes(node, sizes, axes)
    if method.transformation == "tf_crop_and_resize":
        resized = _cropped(node, resized)
    return _resized(node, resized, method)


def _old_resize(node: OnnxNode) -> Value:
    """Before coordinates could be chosen; a shrinking axis rounds up, as others read it."""
    sizes = node.shape(0)
    scales = [float(scale) for scale in node.array(1, "scales").ravel()]
    axes = _by_scales(sizes, range(len(sizes)), scales)
    mode = node.attr_string("mode", "nearest")
    method = Method(mode, "asymmetric", "simple", -0.75, False, False)
    return _resized(node, axes, _checked(method))


def _checked(method: Method) -> Method:
    """The method; UnsupportedError names what ONNX does not define."""
    refuse_if(method.mode not in ("nearest", *REACH), f"mode '{method.mode}'")
    known = method.transformation in TRANSFORMATIONS
    what = f"coordinate_transformation_mode '{method.transformation}'"
    refuse_if(not known, what)
    known = method.rounding in (*ROUNDINGS, "simple")
    refuse_if(not known, f"nearest_mode '{method.rounding}'")
    refuse_if(method.antialias and method.mode == "nearest", "antialias of 'nearest'")
    return method


def _resized_axes(
    node: OnnxNode, sizes: Sequence[int], axes: Sequence[int]
) -> dict[int, ResizedAxis]:
    """How the axes change, by the scales or the sizes that are given."""
    by_scales = _is_given(node, 2)
    fail_unless(
        by_scales != _is_given(node, 3),
        "one of the inputs scales and sizes must be given",
    )
    if by_scales:
        scales = [float(scale) for scale in node.array(2, "scales").ravel()]
        return _by_scales(sizes, axes, scales)
    wanted = node.integers(3, "sizes")
    fail_unless(
        len(wanted) == len(axes) and min(wanted, default=0) >= 0,
        f"sizes {wanted} do not suit {len(axes)} axes",
    )
    policy = node.attr_string("keep_aspect_ratio_policy", "stretch")
    fail_unless(policy in POLICIES, f"keep_aspect_ratio_policy '{policy}' is unknown")
    scales = [
        count / max(sizes[axis], 1) for axis, count in zip(axes, wanted, strict=True)
    ]
    if policy != "stretch" and scales:
        scales = [POLICIES[policy](scales)] * len(axes)
        wanted = [
            int(scale * sizes[axis] + 0.5)
            for axis, scale in zip(axes, scales, strict=True)
        ]
    return {
        axis: ResizedAxis(sizes[axis], count, scale)
        for axis, count, scale in zip(axes, wanted, scales, strict=True)
    }


POLICIES = {"stretch": max, "not_larger": min, "not_smaller": max}
"""How one scale for all axes is chosen."""


def _is_given(node: OnnxNode, index: int) -> bool:
    """Whether an input is there, and not the empty one that opset 11 asks for."""
    return node.has(index) and node.shape(index) != (0,)


def _by_scales(
    sizes: Sequence[int], axes: Sequence[int], scales: Sequence[float]
) -> dict[int, ResizedAxis]:
    fail_unless(
        len(scales) == len(axes) and all(0 < scale < inf for scale in scales),
        f"scales {list(scales)} do not suit {len(axes)} axes",
    )
    return {
        axis: ResizedAxis(sizes[axis], int(scale * sizes[axis]), scale)
        for axis, scale in zip(axes, scales, strict=True)
    }


def _cropped(node: OnnxNode, axes: dict[int, ResizedAxis]) -> dict[int, ResizedAxis]:
    """The axes with the part that the input `roi` has of each: all starts, then all ends."""
    roi = [float(number) for number in node.array(1, "roi").ravel()]
    fail_unless(
        len(roi) == 2 * len(axes), f"roi needs {2 * len(axes)} numbers, not {roi}"
    )
    parts = zip(axes.items(), roi[: len(axes)], roi[len(axes) :], strict=True)
    return {
        axis: ResizedAxis(old.size, old.count, old.scale, start, end)
        for (axis, old), start, end in parts
    }


def _resized(node: OnnxNode, axes: dict[int, ResizedAxis], method: Method) -> Value:
    """The input with its axes resized, those first that make it smaller."""
    changed = {axis: each for axis, each in axes.items() if not _is_same(each)}
    for each in changed.values():
        fail_unless(each.size > 0 or each.count == 0, "an empty axis cannot grow")
        fail_unless(
            each.count <= BUDGET, f"an axis of {each.count} elements is too long"
        )
    value, element = node.value(0), element_type(node.value(0))
    is_moved = method.mode == "nearest"
    compute = f32 if is_narrow(value) else f64
    rounds = is_integer(element) and not is_moved
    value = node.convert(value, compute) if rounds else value
    for axis in sorted(changed, key=lambda axis: _order(axis, changed[axis])):
        places = positions(changed[axis], method.transformation)
        if is_moved:
            value = _nearest(node, value, axis, changed[axis], places, method)
        else:
            value = _interpolated(node, value, axis, changed[axis], places, method)
    if rounds:
        value = rounded(node, value, element)
    return _extrapolated(node, value, changed, method)


def is_narrow(value: Operand) -> bool:
    """Whether f32 holds all values of the elements, or they are floats."""
    dtype = dtype_of(element_type(value))
    return dtype.kind not in "iu" or dtype.itemsize < WORD


WORD = 4


def _order(axis: int, resized: ResizedAxis) -> tuple[float, int]:
    """Where elements become fewer, outer axes come first, whose rows are vectors."""
    return resized.scale, axis if resized.scale < 1 else -axis


def _is_same(axis: ResizedAxis) -> bool:
    """Whether an axis stays as it is."""
    is_whole = isclose(axis.start, 0, abs_tol=1e-8) and isclose(axis.end, 1)
    return isclose(axis.scale, 1) and axis.count == axis.size and is_whole


def _nearest(
    node: OnnxNode,
    value: Operand,
    axis: int,
    resized: ResizedAxis,
    places: Floats,
    method: Method,
) -> Operand:
    """The nearest element of each: a movement."""
    rounding = method.rounding
    if rounding == "simple":
        rounding = "ceil" if resized.scale < 1 else "floor"
    indices = Constant(nearest(resized, places, rounding), "places")
    return node.emit(GatherOp, value, indices, axis=axis)


def _interpolated(
    node: OnnxNode,
    value: Operand,
    axis: int,
    resized: ResizedAxis,
    places: Floats,
    method: Method,
) -> Operand:
    """The weighted sum of the neighbours of each."""
    indices, weights = neighbours(
        resized,
        places,
        REACH[method.mode],
        linear if method.mode == "linear" else cubic(method.factor),
        antialias=method.antialias,
        exclude_outside=method.exclude_outside,
    )
    dtype = np.float64 if element_type(value) == f64 else np.float32
    return node.emit(
        SampleOp,
        value,
        Constant(indices, "places"),
        Constant(weights.astype(dtype), "weights"),
        axis=axis,
    )


def rounded(node: OnnxNode, value: Operand, element: Attribute) -> Operand:
    """Numbers as the nearest integers of a type, within its limits."""
    limits = np.iinfo(str(dtype_of(element)))
    value = node.emit(RoundOp, value)
    value = node.emit(ClipOp, value, low=float(limits.min), high=float(limits.max))
    return node.convert(value, element)


def _extrapolated(
    node: OnnxNode, value: Operand, axes: dict[int, ResizedAxis], method: Method
) -> Operand:
    """With a number of the user's where `tf_crop_and_resize` reads outside of the input."""
    if method.transformation != "tf_crop_and_resize":
        return value
    sizes = shape(value)
    outside = np.zeros([1] * len(sizes), np.bool_)
    for axis, resized in axes.items():
        places = positions(resized, method.transformation)
        along = [size if a == axis else 1 for a, size in enumerate(sizes)]
        beyond = (places < 0) | (places > resized.size - 1)
        outside = outside | beyond.reshape(along)
    if not outside.any():
        return value
    number = node.number(node.attr_float("extrapolation_value", 0.0), value)
    return node.emit(SelectOp, Constant(outside, "outside"), number, value)
