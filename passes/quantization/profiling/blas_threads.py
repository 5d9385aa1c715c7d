"""Keeps NumPy's matrix products on the thread that asks for them.

OpenBLAS shares a product of some hundred microseconds between threads that wait for each other
in a loop. Calibration has one such product a layer: where other processes run it takes several
times as long, and always twice the processor time.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

PREFIXES = ("scipy_openblas", "openblas")
SUFFIXES = ("64_", "")

_lock = threading.Lock()
_before: list[int] = []
"""The number of threads outside of all contexts, once for each context that is open."""

Functions = tuple[Callable[[], int], Callable[[int], None]]


@cache
def _thread_functions() -> Functions | None:
    """What tells and sets the number of threads of NumPy's OpenBLAS; None for other libraries."""
    path = import_module("numpy._core._multiarray_umath").__file__
    library = ctypes.CDLL(path)
    for prefix in PREFIXES:
        for suffix in SUFFIXES:
            names = (f"{prefix}_{verb}_num_threads{suffix}" for verb in ("get", "set"))
            read, write = (getattr(library, name, None) for name in names)
            if read is not None and write is not None:
                return read, write
    return None


@contextmanager
def products_on_one_thread() -> Generator[None]:
    """Run a body whose matrix products use one thread; contexts nest, of several threads too."""
    functions = _thread_functions()
    if functions is None:
        yield
        return
    read, write = functions
    with _lock:
        _before.append(_before[0] if _before else read())
        write(1)
    try:
        yield
    finally:
        with _lock:
            threads = _before.pop()
            if not _before:
                write(threads)
