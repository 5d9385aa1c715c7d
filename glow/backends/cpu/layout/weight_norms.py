"""Whether weights are even enough for methods whose errors are those of a whole matrix.

A sum of quadrants of weights keeps the digits of its larger terms. So a row of weights (what one
feature is multiplied by) or a column (what makes one output) that is much smaller than others
loses digits. Features can be as much larger as their weights are smaller, and then the row's loss
is one of the whole result; nothing at run time can tell. So such weights have direct sums.
"""

from __future__ import annotations

import numpy as np

from glow.dialects.weights import Array

MOST_UNEVEN = 256.0
"""The most by which norms may differ. Strassen's product may lose 8e-8 of a row for each unit of
it, measured: 2e-5, a fifth of the budget of default numerics."""

SIZES = (2.0**-100, 2.0**100)
"""Sums of other weights could overflow, or lose digits of subnormal numbers."""

CHUNK_ELEMENTS = 1 << 16
"""How much is looked at a time: it stays in the L2."""


def largest_of(matrix: Array) -> tuple[Array, Array]:
    """The largest magnitude of each row and of each column; NaN where there is one."""
    rows, columns = matrix.shape
    of_rows = np.zeros(rows, matrix.dtype)
    of_columns = np.zeros(columns, matrix.dtype)
    step = max(CHUNK_ELEMENTS // max(columns, 1), 1)
    for first in range(0, rows, step):
        chunk = np.abs(matrix[first : first + step])
        of_rows[first : first + step] = chunk.max(1, initial=0)
        np.maximum(of_columns, chunk.max(0, initial=0), out=of_columns)
    return of_rows, of_columns


def are_even(matrix: Array) -> bool:
    """Whether all rows of a matrix are of a size, and all columns."""
    low, high = SIZES
    return all(
        low < norms.max(initial=0) < high and norms.max() <= MOST_UNEVEN * norms.min()
        for norms in largest_of(matrix)
    )
