"""Gradients of pools, which say with bodies how a window selects and how sums are made.

  %1 = "stablehlo.select_and_scatter"(%x, %g, %zero) ({ compare GE }, { add })
becomes for each place of a window
  %2 = glow.select (glow.equal %chosen, 3), %g, 0
  %3 = glow.add %sum, (%2, apart by the strides, at that place)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import shape_of
from glow.dialects.weight_table import Array
from glow.frontends.stablehlo.hlo_builder import Handlers, HloBuilder
from glow.frontends.stablehlo.reductions import (
    MOST_SLICES,
    Window,
    begins_neutral,
    combiner,
    direction,
)


def select_and_scatter(builder: HloBuilder) -> SSAValue:
    """Sums of numbers at the places that are the largest, or smallest, of windows.

    The gradient of a pool: each element of a window is compared with the best before it, so that
    the first of equal ones wins, and what is chosen is put apart again by the strides.
    """
    op = builder.op
    value, source, start = op.operands
    if combiner(op) != "compare" or combiner(op, 1) != "add":
        raise GlowError("it selects or combines in another way than pools do")
    step = next(iter(op.regions[0].block.ops))
    order = direction(step)
    if order not in ("GE", "LE") or step.operands[0] is not op.regions[0].block.args[0]:
        raise GlowError(f"it selects by {order} of other operands than pools do")
    window = Window(builder, value, "maximum")
    if prod(window.sizes) > MOST_SLICES:
        raise GlowError(f"a window of {prod(window.sizes)} elements is not supported")
    shape, counts = shape_of(value), shape_of(source)
    padded = builder.pad(value, window.low, window.high, 0)
    inside = np.pad(
        np.ones(shape, np.bool_), list(zip(window.low, window.high, strict=True))
    )
    total: SSAValue | None = None
    for offsets, is_best in _best_places(
        builder, window, padded, inside, counts, order
    ):
        zero = builder.number(0, source)
        part = builder.node(glow.SelectOp, is_best, source, zero)
        part = builder.dilate(part, [stride - 1 for stride in window.strides])
        ends = [
            full - offset - size
            for full, offset, size in zip(
                inside.shape, offsets, shape_of(part), strict=True
            )
        ]
        part = builder.pad(part, list(offsets), ends)
        total = part if total is None else builder.node(glow.AddOp, total, part)
    assert total is not None
    total = builder.slice(total, window.low, shape, [1] * len(shape))
    if begins_neutral(builder, start, "add"):
        return total
    return builder.node(glow.AddOp, total, start)


def _best_places(
    builder: HloBuilder,
    window: Window,
    padded: SSAValue,
    inside: Array,
    counts: Sequence[int],
    order: str,
) -> Iterator[tuple[tuple[int, ...], SSAValue]]:
    """Each place of a window with where it is the best one of all."""
    places = list(np.ndindex(*window.sizes))
    chosen = builder.put(np.broadcast_to(np.int64(-1), counts))
    best = builder.slice(padded, places[0], counts, window.strides)
    for number, offsets in enumerate(places):
        part = builder.slice(padded, offsets, counts, window.strides)
        spans = (
            slice(at, at + (count - 1) * step + 1, step)
            for at, count, step in zip(offsets, counts, window.strides, strict=True)
        )
        is_inside = builder.put(np.ascontiguousarray(inside[tuple(spans)]))
        pair = (part, best) if order == "LE" else (best, part)
        is_more = builder.node(glow.LessOp, *pair)
        is_first = builder.node(glow.LessOp, chosen, builder.number(0, chosen))
        is_better = builder.node(
            glow.AndOp, is_inside, builder.node(glow.OrOp, is_more, is_first)
        )
        here = builder.number(number, chosen)
        chosen = builder.node(glow.SelectOp, is_better, here, chosen)
        best = builder.node(glow.SelectOp, is_better, part, best)
    for number, offsets in enumerate(places):
        yield (
            offsets,
            builder.node(glow.EqualOp, chosen, builder.number(number, chosen)),
        )


HANDLERS: Handlers = {"stablehlo.select_and_scatter": select_and_scatter}
