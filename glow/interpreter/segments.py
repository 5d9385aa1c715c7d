"""Sums of bags of rows."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.segments import wrong_lengths
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.scalar_functions import Function


def run_lengths_sum(op: GlowOp, rows: Array, lengths: Array) -> Array:
    """`glow.lengths_sum`: rows are added one after the other, as kernels do."""
    counts = [int(length) for length in lengths]
    if any(count < 0 for count in counts) or sum(counts) != len(rows):
        raise GlowError(wrong_lengths(len(rows)))
    sums = np.zeros((len(counts), *rows.shape[1:]), rows.dtype)
    np.add.at(sums, np.repeat(np.arange(len(counts)), counts), rows)
    return sums


NODES: dict[type[Operation], Function] = {glow.LengthsSumOp: run_lengths_sum}
