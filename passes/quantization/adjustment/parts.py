"""Weights some outputs at a time, so that what is computed from them stays in a near cache.

In float64 all weights of a layer are memory that the system has to hand out first. Where a
caller has a thread to spare, it takes every second part: NumPy lets go of Python's lock in
loops of that length.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import numpy.typing as npt

ELEMENTS_AT_ONCE = 1 << 17
"""Of eight bytes each."""

_POOL: ContextVar[Executor | None] = ContextVar("glow_weights", default=None)


def output_parts(weights: npt.NDArray[Any]) -> list[slice]:
    """The rows of [outputs, ...], or another leading axis, in order, in parts of at least one."""
    count = max(1, ELEMENTS_AT_ONCE // max(1, weights[:1].size))
    return [slice(first, first + count) for first in range(0, len(weights), count)]


def for_each_part(
    weights: npt.NDArray[Any], function: Callable[[slice], object]
) -> None:
    """Call a function for each part, which must not depend on what it did for others."""
    parts, pool = output_parts(weights), _POOL.get()
    if pool is None or len(parts) < 2:
        for part in parts:
            function(part)
        return
    context = copy_context()  # With what NumPy does about errors.
    others = pool.submit(context.run, lambda: [*map(function, parts[1::2])])
    try:
        for part in parts[::2]:
            function(part)
    finally:
        others.result()


@contextmanager
def shared_with(pool: Executor) -> Generator[None]:
    """A thread of a pool takes a share of the work on weights in a body."""
    token = _POOL.set(pool)
    try:
        yield
    finally:
        _POOL.reset(token)
