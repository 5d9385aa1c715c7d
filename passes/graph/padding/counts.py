"""Numbers that networks compute from a size: how many elements a mean or a variance is of.

%n = glow.splat 1.25 {glow.counts = array<f32: 1.5, 2.0>}      n / (n - 1) of 5; 3 of it are kept
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.passes.graph.padding.padded_value import PaddedAxis
from glow.passes.rewriting.node_builder import NodeBuilder


class Count(NamedTuple):
    """A number of n elements: powers of n and of n - 1, of 1 or of 1 / 2."""

    of_all: float = 0
    of_others: float = 0

    def number(self, size: int) -> float:
        """The number for a size."""
        return size**self.of_all * (size - 1) ** self.of_others


WHOLE = (Count(1), Count(0, 1))
COUNTS = (*WHOLE, Count(1, -1), Count(-1), Count(0, -1), Count(0.5), Count(-0.5))
"""The numbers that are known. Integers are the first two."""


def count_of(
    op: glow.SplatOp, shorter: float, added: int, forms: Iterable[PaddedAxis]
) -> tuple[PaddedAxis, Count] | None:
    """The axis whose size a number counts, and how: it is `shorter` with so much padding.

    None where axes have such sizes that will not be the same for others.
    """
    dtype = dtype_of(element_of(op.result))
    numbers = np.array([shorter, op.number], np.float32)
    known: dict[PaddedAxis, Count] = {}
    for form in forms:
        sizes = form.shrinking.size(form.size, added), form.size
        for count in WHOLE if dtype.kind in "iu" else COUNTS:
            found = [count.number(size) if size > 1 else np.nan for size in sizes]
            if np.array_equal(np.array(found, np.float32), numbers):
                known.setdefault(form, count)
    return next(iter(known.items())) if len(known) == 1 else None


def counted(op: glow.SplatOp, count: Count, length: SSAValue) -> SSAValue:
    """The number for a size that is a tensor<1xi64>."""
    builder, shape = NodeBuilder(op), shape_of(op.result)
    types = [tensor_type((1,), element_of(op.result))]
    others = builder.node(glow.SubOp, length, builder.splat(1, i64))
    number: SSAValue | None = None
    for size, power in ((length, count.of_all), (others, count.of_others)):
        if not power:
            continue
        factor = builder.create(glow.ConvertOp, [size], {}, types=types)
        if abs(power) < 1:
            factor = builder.node(glow.SqrtOp, factor)
        if number is None and power > 0:
            number = factor
            continue
        first = builder.splat(1, element_of(factor)) if number is None else number
        number = builder.node(glow.MulOp if power > 0 else glow.DivOp, first, factor)
    assert number is not None
    number = builder.reshape(number, (1,) * len(shape))
    return builder.create(glow.BroadcastOp, [number], {}, types=[op.result.type])
