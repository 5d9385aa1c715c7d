"""Sums and largest elements of bags of rows."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.segments import wrong_lengths
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.scalar_functions import Function


def bags_of(rows: Array, lengths: Array) -> Array:
    """The bag of each row; GlowError for lengths that are not those of the rows."""
    counts = [int(length) for length in lengths]
    if any(count < 0 for count in counts) or sum(counts) != len(rows):
        raise GlowError(wrong_lengths(len(rows)))
    return np.repeat(np.arange(len(counts)), counts)


def run_lengths_sum(op: GlowOp, rows: Array, lengths: Array) -> Array:
    """`glow.lengths_sum`: rows are added one after the other, as kernels do."""
    sums = np.zeros((len(lengths), *rows.shape[1:]), rows.dtype)
    np.add.at(sums, bags_of(rows, lengths), rows)
    return sums


def run_lengths_max(op: GlowOp, rows: Array, lengths: Array) -> Array:
    """`glow.lengths_max`."""
    largest = np.full((len(lengths), *rows.shape[1:]), -np.inf, rows.dtype)
    np.maximum.at(largest, bags_of(rows, lengths), rows)
    return largest


NODES: dict[type[Operation], Function] = {
    glow.LengthsSumOp: run_lengths_sum,
    glow.LengthsMaxOp: run_lengths_max,
}
