"""Weights some outputs at a time, so that what is computed from them stays in a near cache.

In float64 all weights of a layer are memory that the system has to hand out first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

ELEMENTS_AT_ONCE = 1 << 17
"""Of eight bytes each."""


def output_parts(weights: npt.NDArray[Any]) -> Iterator[slice]:
    """The rows of [outputs, ...], or another leading axis, in order, in parts of at least one."""
    count = max(1, ELEMENTS_AT_ONCE // max(1, weights[:1].size))
    for first in range(0, len(weights), count):
        yield slice(first, first + count)
