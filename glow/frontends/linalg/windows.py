"""Pools by name: `pooling_nhwc_max` and so on; the second operand only gives the window."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.linalg.operations import POOLS
from glow.dialects.node import shape_of
from glow.dialects.weight_table import dtype_of
from glow.frontends.linalg.generics import begin_with
from glow.frontends.linalg.linalg_builder import Handlers, LinalgBuilder


def pool(builder: LinalgBuilder) -> SSAValue:
    """The largest or smallest element or the sum of each window."""
    name = builder.op.name.partition("pooling_")[2]
    layout, kind = name.split("_", 1)
    space = [one for one in layout if one in "dhw"]
    is_whole = dtype_of(builder.result.element_type).kind in "biu" and kind != "max"
    if is_whole:
        raise GlowError(f"a pool by {kind} of integers is not supported")
    value, window = builder.ins
    order = [layout.index(one) for one in ("n", "c", *space)]
    moved = builder.transpose(value, order)
    ones = [1] * len(space)
    same = {
        "kernel": list(shape_of(window)),
        "strides": builder.op.integers("strides", ones),
        "dilations": builder.op.integers("dilations", ones),
    }
    if len(space) == 1:
        batch, channels, size = shape_of(moved)
        moved = builder.reshape(moved, [batch, channels, 1, size])
        same = {key: [1, *numbers] for key, numbers in same.items()}
    wanted = [builder.result.get_shape()[axis] for axis in order]
    reduce = _volume if len(space) == 3 else _reduced
    result = reduce(builder, moved, kind, same)
    if len(space) == 1:
        batch, channels, _, size = shape_of(result)
        result = builder.reshape(result, [batch, channels, size])
    # Results may stop before the last window that fits.
    rank = len(wanted)
    result = builder.slice(result, [0] * rank, wanted, [1] * rank)
    result = builder.transpose(result, [order.index(at) for at in range(rank)])
    return begin_with(builder, result, {"sum": "add"}.get(kind, kind), 0)


def _reduced(
    builder: LinalgBuilder, value: SSAValue, kind: str, window: dict[str, list[int]]
) -> SSAValue:
    if kind == "max":
        return builder.node(glow.MaxPool2dOp, value, **window)
    if kind == "min":
        negated = builder.node(glow.NegOp, value)
        return builder.node(
            glow.NegOp, builder.node(glow.MaxPool2dOp, negated, **window)
        )
    mean = builder.node(glow.AvgPool2dOp, value, **window, count_include_pad=True)
    count = builder.number(prod(window["kernel"]), mean)
    return builder.node(glow.MulOp, mean, count)


def _volume(
    builder: LinalgBuilder, value: SSAValue, kind: str, window: dict[str, list[int]]
) -> SSAValue:
    """A pool over planes, then one over what that makes of each plane."""
    batch, channels, depth, *plane = shape_of(value)
    flat = builder.reshape(value, [batch, channels * depth, *plane])
    inner = {key: numbers[1:] for key, numbers in window.items()}
    pooled = _reduced(builder, flat, kind, inner)
    plane = list(shape_of(pooled)[2:])
    lines = builder.reshape(pooled, [batch, channels, depth, prod(plane)])
    outer = {key: [numbers[0], 1] for key, numbers in window.items()}
    result = _reduced(builder, lines, kind, outer)
    return builder.reshape(result, [batch, channels, shape_of(result)[2], *plane])


HANDLERS: Handlers = {f"linalg.{name}": pool for name in POOLS}
