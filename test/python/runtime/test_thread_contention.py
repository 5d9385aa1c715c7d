"""Calls whose threads lose their cores get fewer, by clocks that the test sets."""

from __future__ import annotations

import numpy as np
import pytest

from glow.lowering.target.target import host_target
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.threads.thread_pool import ThreadPool, pool_code

MILLISECOND = 1_000_000

WORK = """
declare void @glow_barrier(ptr, i64)
define void @work(ptr %constants, ptr %cells, ptr %activations, i64 %thread,
                  i64 %threads, ptr %barrier) {
  call void @glow_barrier(ptr %barrier, i64 %threads)
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %advance, label %done
advance:
  %cells_now = load <2 x i64>, ptr %cells
  %steps_place = getelementptr i64, ptr %cells, i64 2
  %steps = load <2 x i64>, ptr %steps_place
  %sums = add <2 x i64> %cells_now, %steps
  store <2 x i64> %sums, ptr %cells
  br label %done
done:
  call void @glow_barrier(ptr %barrier, i64 %threads)
  ret void
}
"""
"""A call that lasts for the third cell, in which each thread loses the fourth."""

CLOCKS = """
define i32 @clock_gettime(i32 %clock, ptr %now) {
  %cells = inttoptr i64 CELLS to ptr
  %lost_place = getelementptr i64, ptr %cells, i64 1
  %wall = load volatile i64, ptr %cells
  %lost = load volatile i64, ptr %lost_place
  %wall_clock = load i32, ptr @wall_clock
  %is_wall = icmp eq i32 %clock, %wall_clock
  %ran = sub i64 %wall, %lost
  %time = select i1 %is_wall, i64 %wall, i64 %ran
  %fraction = getelementptr i64, ptr %now, i64 1
  store i64 0, ptr %now
  store i64 %time, ptr %fraction
  ret i32 0
}
"""
"""The first cell is the time; the second is how much of it each thread did not run."""


class Machine:
    """A pool on clocks that only calls move."""

    def __init__(self) -> None:
        self.cells = np.zeros(4, np.int64)
        address = self.cells.ctypes.data
        declared = "declare i32 @clock_gettime(i32, ptr)"
        code = pool_code(host_target())
        assert declared in code
        code = code.replace(declared, CLOCKS.replace("CELLS", str(address)))
        self.pool = ThreadPool(compile_object(code, host_target()))
        imports = {"glow_barrier": self.pool.barrier_address}
        image = compile_object(WORK, host_target())
        self.library = Library([image], ["work"], imports)

    def call(self, milliseconds: float, lost: float = 0.0) -> int:
        """The threads of a call that takes so long, of which each thread loses a part."""
        self.cells[2:] = milliseconds * MILLISECOND, lost * MILLISECOND
        work, cells = self.library.address("work"), self.cells.ctypes.data
        return self.pool.run(work, 0, cells, 0, 2)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_one_slow_call_among_fast_ones_takes_no_threads(machine: Machine) -> None:
    calls = [(2.0, 0.0)] * 9 + [(5.0, 1.5)]
    assert {machine.call(*call) for call in calls * 20} == {2}


def test_calls_that_lose_their_cores_get_fewer_threads(machine: Machine) -> None:
    """Soon, and then but for one call that retries now and then."""
    for _ in range(100):
        machine.call(2)
    slow = [machine.call(6, 2) for _ in range(400)]
    assert 1 in slow[:15]
    assert slow[100:].count(2) < 300 // 20


def test_threads_are_back_with_the_cores(machine: Machine) -> None:
    for _ in range(400):
        machine.call(6, 2)
    fast = [machine.call(2) for _ in range(200)]
    assert set(fast[101:]) == {2}
