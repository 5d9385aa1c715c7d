"""Strassen's product of matrices in quadrants: seven half-size products instead of eight.

Quadrants are numbered by rows: 0 1 / 2 3. Product p multiplies the sum LEFT[p] of the left
matrix's quadrants with the sum RIGHT[p] of the right one's; quadrant q of the result is the
sum RESULT[q] of products. Errors grow norm-wise: about twofold at random, more where columns
differ much in size (Higham, Accuracy and Stability of Numerical Algorithms, section 23.2.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glow.interpreter.arrays import Array

Sum = tuple[tuple[int, int], ...]
"""Terms (number, sign)."""

PRODUCTS = 7

LEFT: Sequence[Sum] = (
    ((0, 1), (3, 1)),
    ((2, 1), (3, 1)),
    ((0, 1),),
    ((3, 1),),
    ((0, 1), (1, 1)),
    ((2, 1), (0, -1)),
    ((1, 1), (3, -1)),
)

RIGHT: Sequence[Sum] = (
    ((0, 1), (3, 1)),
    ((0, 1),),
    ((1, 1), (3, -1)),
    ((2, 1), (0, -1)),
    ((3, 1),),
    ((0, 1), (1, 1)),
    ((2, 1), (3, 1)),
)

RESULT: Sequence[Sum] = (
    ((0, 1), (3, 1), (4, -1), (6, 1)),
    ((2, 1), (4, 1)),
    ((1, 1), (3, 1)),
    ((0, 1), (1, -1), (2, 1), (5, 1)),
)


def quadrants(matrix: Array) -> list[Array]:
    """The quadrants of a matrix with even sides."""
    rows, columns = (size // 2 for size in matrix.shape)
    return [
        matrix[:rows, :columns],
        matrix[:rows, columns:],
        matrix[rows:, :columns],
        matrix[rows:, columns:],
    ]


def signed_sum(parts: Sequence[Array], terms: Sum, out: Array | None = None) -> Array:
    """The sum of some of the arrays, written to `out` if given; the first sign is positive."""
    (first, _), *others = terms
    if out is None:
        out = np.empty_like(parts[first])
    if not others:
        out[...] = parts[first]
    total = parts[first]
    for number, sign in others:
        combine = np.add if sign > 0 else np.subtract
        total = combine(total, parts[number], out=out)
    return out
