"""The thread pool: counts, many calls, many callers, forks."""

from __future__ import annotations

import gc
import os
import sys
import threading

import numpy as np
import pytest

from glow.lowering.target import host_target
from glow.runtime.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.thread_pool import MAX_THREADS, thread_pool

# Each thread adds one to its own counter and, behind a barrier, thread 0 sums them up.
COUNTER = """
declare void @glow_barrier(ptr, i64)
define void @count(ptr %constants, ptr %mutables, ptr %activations, i64 %thread,
                   i64 %threads, ptr %barrier) {
entry:
  %place = getelementptr i64, ptr %activations, i64 %thread
  store i64 1, ptr %place
  call void @glow_barrier(ptr %barrier, i64 %threads)
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %sum, label %done
sum:
  %k = phi i64 [ 0, %entry ], [ %next, %sum ]
  %total = phi i64 [ 0, %entry ], [ %added, %sum ]
  %where = getelementptr i64, ptr %activations, i64 %k
  %value = load i64, ptr %where
  store i64 0, ptr %where
  %added = add i64 %total, %value
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %threads
  br i1 %more, label %sum, label %stored
stored:
  store i64 %added, ptr %mutables
  br label %done
done:
  ret void
}
"""


@pytest.fixture(scope="module")
def library() -> Library:
    imports = {"glow_barrier": thread_pool().barrier_address}
    return Library([compile_object(COUNTER, host_target())], ["count"], imports)


def count(library: Library, threads: int) -> tuple[int, int]:
    """Returns how many threads ran, as they counted and as the pool says."""
    total, counters = np.zeros(1, np.int64), np.zeros(256, np.int64)
    used = thread_pool().run(
        library.address("count"), 0, total.ctypes.data, counters.ctypes.data, threads
    )
    return int(total[0]), used


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_thread_runs_once(library: Library, threads: int) -> None:
    assert count(library, threads) == (threads, threads)


def test_many_calls(library: Library) -> None:
    assert all(count(library, 2) == (2, 2) for _ in range(300))


def test_changing_counts(library: Library) -> None:
    """Workers that sit a call out must not join it late."""
    for threads in (3, 1, 2, 4, 2, 3, 1, 4) * 5:
        assert count(library, threads) == (threads, threads)


def test_count_is_clamped(library: Library) -> None:
    assert count(library, 0) == (1, 1)
    assert count(library, -3) == (1, 1)
    total, used = count(library, 100_000)
    assert total == used <= MAX_THREADS


def test_several_callers(library: Library) -> None:
    """One has the pool, the others run alone; every answer is right."""
    wrong: list[tuple[int, int]] = []

    def work() -> None:
        for _ in range(50):
            total, used = count(library, 2)
            if total != used or used not in (1, 2):
                wrong.append((total, used))

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="warns about threads")
def test_fork(library: Library) -> None:
    """Threads do not survive a fork: the child makes a pool of its own."""
    assert count(library, 2) == (2, 2)
    child = os.fork()
    if child == 0:
        thread_pool()
        gc.collect()
        os._exit(0 if count(library, 2) == (2, 2) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
