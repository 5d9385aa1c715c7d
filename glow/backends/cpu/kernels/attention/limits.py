"""How much of a head the kernel of attention takes at once, and what it cannot take."""

from __future__ import annotations

BLOCK_ROWS = 8
"""A register tile's: taller blocks are no faster, and their scores need more of the cache."""

MAX_KEY_ELEMENTS = 1 << 16
"""Of the keys of a head, or a block of them, which lie transposed on the stack."""

BLOCK_ELEMENTS = 1 << 15
"""Of a block of keys where there are more: the values beside them stay in a near cache too.
The number says where sums are cut, so it is the same for all machines."""

KEY_STEP = 64
"""Blocks of keys are multiples of this: whole registers of every target, as many as a tile has."""

MAX_SUMS = 1 << 14
"""The elements of the results of queries that wait for the next block of keys."""


def fits_stack(keys: int, depth: int, columns: int) -> bool:
    """Whether a block of such keys, and sums of so many columns, fit the stack."""
    key_elements = min(keys, KEY_STEP) * depth
    sums = BLOCK_ROWS * columns if keys * depth > MAX_KEY_ELEMENTS else 0
    return key_elements <= MAX_KEY_ELEMENTS and sums <= MAX_SUMS
