"""`cpu.recurrence`: steps with packed weights and a scalar region for the gates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact
from glow.interpreter.evaluation import evaluate_region
from glow.interpreter.scalar_functions import element_dtype

Plain = Callable[[GlowOp, Array, Array, tuple[int, ...]], Array]
"""`plain(op, entering, packed, shape)`: the weights in plain order."""


def run_recurrence(
    op: GlowOp,
    entering: Array,
    packed: Array,
    hidden: Array,
    *others: Array,
    plain: Plain,
) -> tuple[Array, ...]:
    """All hidden states, and the last of the other states."""
    attributes, block = op.attributes_view(), op.regions[0].block
    gates, units = attributes.int("gates"), hidden.shape[1]
    weights = exact(plain(op, entering, packed, (units, gates * units)))
    steps = range(len(entering))
    sequence = np.empty((len(entering), *hidden.shape), hidden.dtype)
    values, element = list(others), element_dtype(block.args[0].type)
    for step in reversed(steps) if attributes.has("reverse") else steps:
        sums = (exact(hidden) @ weights).astype(element)
        columns = (np.split(part, gates, axis=1) for part in (sums, entering[step]))
        sums_by_gate, entering_by_gate = columns
        arguments = (*sums_by_gate, *entering_by_gate, hidden, *values)
        hidden, *states = evaluate_region(block, arguments)
        sequence[step] = hidden
        values = [states.pop(0) if x.ndim == 2 else x for x in values]
    return (sequence, *(value for value in values if value.ndim == 2))
