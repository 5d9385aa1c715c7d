"""Strassen's product of matrices in quadrants: seven half-size products instead of eight.

Quadrants are numbered by rows: 0 1 / 2 3. Those of the left matrix and of the result take every
other row, so that neighbouring rows of a matrix come from neighbouring rows of all quadrants:
the thread that computed some rows of one has those of the other.

Product p multiplies the sum LEFT[p] of the left matrix's quadrants with the sum RIGHT[p] of
the right one's; quadrant q of the result is the sum RESULT[q] of products. With two levels
each product is made the same way: product 7 p + r of the 49 multiplies the sums r of the
quadrants of the sums p. Errors grow norm-wise: about
twofold for a level at random, more where rows or columns differ much in size (Higham, Accuracy
and Stability of Numerical Algorithms, section 23.2.2). So rows of the left matrix are multiplied
by powers of two first, which is exact, and those of the result by their inverses.

The right matrix can be had back from its sums, up to a rounding: quadrant q is the sum
ORIGINAL[q] of the right factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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


ORIGINAL: Sequence[Sum] = (
    ((1, 1),),
    ((2, 1), (4, 1)),
    ((3, 1), (1, 1)),
    ((4, 1),),
)


Halves = Callable[[Array], tuple[Array, Array]]


def upper_and_lower(matrix: Array) -> tuple[Array, Array]:
    """The halves of the rows, one below the other."""
    half = matrix.shape[0] // 2
    return matrix[:half], matrix[half:]


def even_and_odd(matrix: Array) -> tuple[Array, Array]:
    """The halves of the rows, one row each in turn."""
    return matrix[::2], matrix[1::2]


def quadrants(matrix: Array, halves: Halves) -> list[Array]:
    """The quadrants of a matrix with even sides."""
    columns = matrix.shape[1] // 2
    return [
        part
        for half in halves(matrix)
        for part in (half[:, :columns], half[:, columns:])
    ]


def place(number: int, levels: int) -> tuple[int, int]:
    """(row in turn, column) of a quadrant of quadrants: digits of base four, the outer one
    first; it counts least for rows, which are taken in turn, and most for columns.
    """
    row = column = 0
    for level in range(levels):
        down, right = divmod(number // QUADRANTS**level % QUADRANTS, 2)
        row, column = 2 * row + down, column + (right << level)
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
    for parts, terms in _factors(matrix, levels, LEFT, even_and_odd):
        yield signed_sum(parts, terms)


def right_sums(matrix: Array, levels: int) -> Iterator[tuple[Sequence[Array], Sum]]:
    """The right factors of all products, as the sums of parts that they are."""
    return _factors(matrix, levels, RIGHT, upper_and_lower)


def original(factors: Sequence[Array]) -> Array:
    """The right matrix whose factors these are."""
    if len(factors) == 1:
        return factors[0]
    size = len(factors) // PRODUCTS
    inner = [original(factors[i * size : (i + 1) * size]) for i in range(PRODUCTS)]
    a, b, c, d = (signed_sum(inner, terms) for terms in ORIGINAL)
    return np.block([[a, b], [c, d]])


def factors_of_part(row: int, column: int, levels: int) -> list[int]:
    """The numbers of the factors whose sum is the part (row, column) of the right matrix."""
    numbers = [0]
    for level in reversed(range(levels)):
        down, right = row >> level & 1, column >> level & 1
        terms = ORIGINAL[2 * down + right]
        numbers = [PRODUCTS * n + factor for n in numbers for factor, _ in terms]
    return numbers


def row_scales(matrix: Array, levels: int) -> tuple[Array, Array]:
    """Powers of two that bring the largest of each row into [1, 2), and their inverses.

    The inverses are NaN for all rows that share sums with an infinity or NaN. Rows of extreme
    size are brought as near as two normal f32 that are inverse to each other can.
    """
    largest = np.abs(matrix).max(1, initial=0).astype(np.float64)
    finite = np.isfinite(largest)
    bounded = np.clip(np.where(finite, largest, np.inf), 2.0**-126, 2.0**126)
    exponents = np.frexp(bounded)[1] - 1
    all_finite = finite.reshape(-1, 2**levels).all(1).repeat(2**levels)
    inverses = np.where(all_finite, np.ldexp(1.0, exponents), np.nan)
    return np.ldexp(1.0, -exponents), inverses


def _factors(
    matrix: Array, levels: int, sums: Sequence[Sum], halves: Halves
) -> Iterator[tuple[Sequence[Array], Sum]]:
    parts = quadrants(matrix, halves)
    for terms in sums:
        if levels == 1:
            yield parts, terms
        else:
            yield from _factors(signed_sum(parts, terms), levels - 1, sums, halves)
