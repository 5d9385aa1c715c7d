"""Remembers what functions of attributes, types and shapes return, for a while.

A process that compiles one network after another would otherwise keep every shape and
number that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

KeyT = TypeVar("KeyT")
ResultT = TypeVar("ResultT")

SIZE = 4096

bounded_cache = lru_cache(maxsize=SIZE)
"""Decorates a function; more results than the largest network asks for in a row."""


def identity_cache(function: Callable[[KeyT], ResultT]) -> Callable[[KeyT], ResultT]:
    """Decorates a function of one object that does not change, as types and attributes do not.

    What it returned is found by the object's identity, as hashing these takes microseconds;
    an equal object is another one.
    """
    # An object that is kept has its identity to itself.
    known: dict[int, tuple[KeyT, ResultT]] = {}

    @wraps(function)
    def cached(key: KeyT) -> ResultT:
        entry = known.get(id(key))
        if entry is None:
            if len(known) >= SIZE:
                known.clear()
            entry = known[id(key)] = (key, function(key))
        return entry[1]

    return cached
