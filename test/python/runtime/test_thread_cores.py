"""Threads of a call claim cores: what a worker asks of a system that the test plays."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from glow.lowering.target.target import host_target
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.threads.thread_pool import ThreadPool, pool_code

CORE = 5
"""The core on which the system has all threads."""

NOTHING = """
define void @nothing(ptr %constants, ptr %mutables, ptr %activations, i64 %thread,
                     i64 %threads, ptr %barrier) {
  ret void
}
"""

SYSTEM = """
define i32 @sched_getcpu() {
  ret i32 CORE
}
define i32 @sched_getaffinity(i32 %thread, i64 %size, ptr %cores) {
  call void @llvm.memset.p0.i64(ptr %cores, i8 0, i64 %size, i1 false)
  store i64 ALLOWED, ptr %cores
  ret i32 0
}
define i32 @sched_setaffinity(i32 %thread, i64 %size, ptr %cores) {
  %log = inttoptr i64 LOG to ptr
  %count = atomicrmw add ptr %log, i64 1 monotonic
  %next = add i64 %count, 1
  %place = getelementptr i64, ptr %log, i64 %next
  %asked = load i64, ptr %cores
  store i64 %asked, ptr %place
  ret i32 0
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
"""A system that has threads on `CORE`, lets them run on `ALLOWED`, and notes at `LOG` what they
ask for."""

DECLARED = (
    "declare i32 @sched_getcpu()",
    "declare i32 @sched_getaffinity(i32, i64, ptr)",
    "declare i32 @sched_setaffinity(i32, i64, ptr)",
)

pytestmark = pytest.mark.skipif(
    "linux" not in host_target().triple, reason="cores are known on Linux"
)


def nothing(pool: ThreadPool, threads: int) -> int:
    """The threads that a call gets which asks for so many, and does nothing."""
    image = compile_object(NOTHING, host_target())
    library = Library([image], ["nothing"])
    return pool.run(library.address("nothing"), 0, 0, 0, threads)


def asked_of(allowed: int, core: int = CORE, threads: int = 2) -> list[int]:
    """The sets of cores, as bits, that the workers of a call ask for."""
    log = np.zeros(16, np.int64)
    system = SYSTEM.replace("CORE", str(core)).replace("ALLOWED", str(allowed))
    code = pool_code(host_target())
    for line in DECLARED:
        assert line in code
        code = code.replace(line, "")
    code += system.replace("LOG", str(log.ctypes.data))
    pool = ThreadPool(compile_object(code, host_target()))
    assert nothing(pool, threads) == threads
    return log[1 : 1 + log[0]].tolist()


def test_a_worker_leaves_the_core_of_its_caller() -> None:
    """It may run everywhere again once it has."""
    allowed = 0b11 << CORE
    assert asked_of(allowed) == [allowed & ~(1 << CORE), allowed]


def test_a_worker_whose_only_core_is_taken_asks_for_none() -> None:
    """Which the system refuses: the worker stays where it is."""
    assert asked_of(1 << CORE) == [0, 1 << CORE]


def test_every_worker_leaves_a_core_that_is_claimed() -> None:
    assert len(asked_of(0b1111 << CORE, threads=4)) == 6


def test_cores_that_have_no_bit_are_not_watched() -> None:
    assert asked_of(1, core=64) == []
    assert asked_of(1, core=-1) == []


def test_workers_may_run_where_their_caller_may() -> None:
    """Also after they have moved."""
    threads = Path("/proc/self/task")
    before = set(threads.iterdir())
    pool = ThreadPool(compile_object(pool_code(host_target()), host_target()))
    for _ in range(100):
        nothing(pool, 2)
    for worker in set(threads.iterdir()) - before:
        assert os.sched_getaffinity(int(worker.name)) == os.sched_getaffinity(0)
