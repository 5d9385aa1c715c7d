"""Work that a second thread takes a share of: NumPy lets go of Python's lock in long loops."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

Item = TypeVar("Item")

_POOL: ContextVar[Executor | None] = ContextVar("glow_shared_work", default=None)


def for_each(
    items: Sequence[Item], function: Callable[[Item], object], *, is_long: bool = True
) -> None:
    """Call a function for each item, which must not depend on what it did for others.

    Where a caller has a thread to spare (`shared_with`), and the work `is_long`, it takes every
    second one.
    """
    pool = _POOL.get()
    if pool is None or not is_long or len(items) < 2:
        for item in items:
            function(item)
        return
    context = copy_context()  # With what NumPy does about errors.
    others = pool.submit(context.run, lambda: [*map(function, items[1::2])])
    try:
        for item in items[::2]:
            function(item)
    finally:
        others.result()


@contextmanager
def shared_with(pool: Executor) -> Generator[None]:
    """A thread of a pool takes a share of the work in a body."""
    token = _POOL.set(pool)
    try:
        yield
    finally:
        _POOL.reset(token)
