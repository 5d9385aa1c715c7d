"""Weights some outputs at a time, so that what is computed from them stays in a near cache.

In float64 all weights of a layer are memory that the system has to hand out first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from glow.interpreter.shared_work import for_each

ELEMENTS_AT_ONCE = 1 << 17
"""Of eight bytes each."""


def output_parts(weights: npt.NDArray[Any]) -> list[slice]:
    """The rows of [outputs, ...], or another leading axis, in order, in parts of at least one."""
    count = max(1, ELEMENTS_AT_ONCE // max(1, weights[:1].size))
    return [slice(first, first + count) for first in range(0, len(weights), count)]


def for_each_part(
    weights: npt.NDArray[Any], function: Callable[[slice], object]
) -> None:
    """Call a function for each part, which must not depend on what it did for others."""
    for_each(output_parts(weights), function)
