"""Remembers what functions of attributes, types and shapes return, for a while.

A process that compiles one network after another would otherwise keep every shape and
number that it has seen.
"""

from __future__ import annotations

from functools import lru_cache

bounded_cache = lru_cache(maxsize=4096)
"""Decorates a function; more results than the largest network asks for in a row."""
