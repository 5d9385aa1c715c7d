"""Pools of worker threads: every worker runs the whole program.

Generated code calls `glow_barrier` between dependent kernels. A call that finds the pool
busy runs with one thread, and where cores are short calls get fewer (`contention.ll`):
results do not depend on the thread count. The pool is native code (`pool.ll`, which tells
of its memory model), so no worker ever takes the GIL.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from glow.runtime.caches.runtime_objects import runtime_object
from glow.runtime.linking.library import Library
from glow.runtime.native_text import (
    architecture_of,
    cores_of,
    native_text,
    parking_of,
    system_of,
)

if TYPE_CHECKING:
    from glow.lowering.target.target import Target

MAX_THREADS = 255
"""The thread count takes eight bits of the published word."""

CYCLES_BEFORE_PARKING = 2_000_000
"""About half a millisecond, what it takes to wake a thread that sleeps."""

CYCLES_BEFORE_YIELDING = 200_000

_Run = Callable[[int, int, int, int, int], int]
_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_int64
_PROTOTYPE = ctypes.CFUNCTYPE(_COUNT, _POINTER, _POINTER, _POINTER, _POINTER, _COUNT)


def looks_code(target: Target) -> str:
    """The LLVM IR that says how often waiting threads look, by what a pause takes."""
    pause = target.core.pause_cycles
    return (
        f"@looks_before_yielding = private constant i32 {CYCLES_BEFORE_YIELDING // pause}\n"
        f"@spin_limit = private constant i64 {CYCLES_BEFORE_PARKING // pause}\n"
    )


def barrier_code(target: Target) -> str:
    """The LLVM IR of `glow_barrier`, which ahead-of-time code links too."""
    code = native_text("threads", "barrier", architecture_of(target))
    return f"{looks_code(target)}{code}"


def pool_code(target: Target) -> str:
    """The LLVM IR of the pool and the barrier."""
    machine = parking_of(target), cores_of(target), system_of(target)
    parts = native_text("threads", "pool", "contention", "clock", *machine)
    return f"{barrier_code(target)}\n{parts}"


_pools: list[ThreadPool] = []
"""All pools ever made, which keeps their code: workers and programs stay in it."""


class ThreadPool:
    """Worker threads that run native programs; they start with the first call for them.

    Threads do not survive a fork: in the child the pool begins anew with a copy of its
    code, and keeps the old one, to whose barrier programs are linked.
    """

    def __init__(self, image: bytes) -> None:
        """`image` is the object of `pool_code`."""
        self._image = image
        self._libraries: list[Library] = []
        self._beginning = threading.Lock()
        self._run: _Run | None = None
        self._begin()
        self.barrier_address: int = self._libraries[0].address("glow_barrier")
        _pools.append(self)

    def run(
        self,
        program: int,
        constants: int,
        mutables: int,
        activations: int,
        threads: int,
    ) -> int:
        """Runs the native function at address `program` once on every thread.

        The other arguments are the addresses that it gets, `threads` the number of
        threads wanted. Returns the number used, which is less while others need cores.
        """
        wanted = min(max(threads, 1), MAX_THREADS)
        run = self._run or self._begin()
        return run(program, constants, mutables, activations, wanted)

    def _begin(self) -> _Run:
        """Link the code, whose data say that there are no workers."""
        with self._beginning:
            if self._run is None:
                library = Library([self._image], ["glow_run", "glow_barrier"])
                self._libraries.append(library)
                self._run = _PROTOTYPE(library.address("glow_run"))
            return self._run

    def forget_workers(self) -> None:
        """Begin anew with the next call, in a child process."""
        self._beginning = threading.Lock()
        self._run = None


_creation = threading.Lock()
_only_pool: ThreadPool | None = None


def thread_pool() -> ThreadPool:
    """The pool of this process, for all who have none of their own."""
    return _only_pool or _new_pool()


def _new_pool() -> ThreadPool:
    global _only_pool
    with _creation:
        if _only_pool is None:
            _only_pool = ThreadPool(runtime_object("thread pool", pool_code))
        return _only_pool


def _forget_workers() -> None:
    global _creation
    _creation = threading.Lock()
    for pool in _pools:
        pool.forget_workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
