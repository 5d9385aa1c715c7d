"""Strassen's product of matrices in quadrants: seven half-size products instead of eight.

Quadrants are numbered by rows: 0 1 / 2 3. Product p multiplies the sum LEFT[p] of the left
matrix's quadrants with the sum RIGHT[p] of the right one's; quadrant q of the result is the
sum RESULT[q] of products. With two levels each product is made the same way: product 7 p + r
of the 49 multiplies the sums r of the quadrants of the sums p. Errors grow norm-wise: about
twofold for a level at random, more where columns differ much in size (Higham, Accuracy and
Stability of Numerical Algorithms, section 23.2.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glow.interpreter.arrays import Array

Sum = tuple[tuple[int, int], ...]
"""Terms (number, sign)."""

PRODUCTS = 7
QUADRANTS = 4

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


def place(number: int, levels: int) -> tuple[int, int]:
    """(row, column) of a quadrant of quadrants: digits of base four, the outer one first."""
    row = column = 0
    for level in reversed(range(levels)):
        down, right = divmod(number // QUADRANTS**level % QUADRANTS, 2)
        row, column = 2 * row + down, 2 * column + right
    return row, column


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


def left_sums(matrix: Array, levels: int) -> Iterator[Array]:
    """The left factors of all products."""
    for parts, terms in _factors(matrix, levels, LEFT):
        yield signed_sum(parts, terms)


def right_sums(matrix: Array, levels: int) -> Iterator[tuple[Sequence[Array], Sum]]:
    """The right factors of all products, as the sums of parts that they are."""
    return _factors(matrix, levels, RIGHT)


def _factors(
    matrix: Array, levels: int, sums: Sequence[Sum]
) -> Iterator[tuple[Sequence[Array], Sum]]:
    parts = quadrants(matrix)
    for terms in sums:
        if levels == 1:
            yield parts, terms
        else:
            yield from _factors(signed_sum(parts, terms), levels - 1, sums)


def result_of(products: Sequence[Array]) -> Array:
    """The matrix product of all products of one level or two."""
    if len(products) == 1:
        return products[0]
    size = len(products) // PRODUCTS
    inner = [result_of(products[i * size : (i + 1) * size]) for i in range(PRODUCTS)]
    a, b, c, d = (signed_sum(inner, terms) for terms in RESULT)
    return np.block([[a, b], [c, d]])
