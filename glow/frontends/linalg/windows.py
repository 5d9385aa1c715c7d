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
    if len(space) > 2 or is_whole:
        what = "of three dimensions" if len(space) > 2 else f"by {kind} of integers"
        raise GlowError(f"a pool {what} is not supported")
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
    result = _reduced(builder, moved, kind, same)
    if len(space) == 1:
        batch, channels, _, size = shape_of(result)
        result = builder.reshape(result, [batch, channels, size])
    result = builder.transpose(result, [order.index(at) for at in range(len(order))])
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


HANDLERS: Handlers = {f"linalg.{name}": pool for name in POOLS}
