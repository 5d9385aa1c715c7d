"""The thread pool: counts, many calls, many callers, crowds, forks."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import glow
from glow.lowering.target.target import PRESETS, host_target
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.threads.thread_pool import (
    MAX_THREADS,
    ThreadPool,
    pool_code,
    thread_pool,
)

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


@dataclass(frozen=True)
class Counter:
    """The program linked to a pool."""

    pool: ThreadPool
    library: Library

    def __call__(self, threads: int) -> tuple[int, int]:
        """Returns how many threads ran, as they counted and as the pool says."""
        total, counters = np.zeros(1, np.int64), np.zeros(256, np.int64)
        address = self.library.address("count")
        used = self.pool.run(
            address, 0, total.ctypes.data, counters.ctypes.data, threads
        )
        return int(total[0]), used


def counter(pool: ThreadPool) -> Counter:
    imports = {"glow_barrier": pool.barrier_address}
    image = compile_object(COUNTER, host_target())
    return Counter(pool, Library([image], ["count"], imports))


def made_pool(shortest: int, longest: int) -> ThreadPool:
    """A pool that rests for so many nanoseconds after crowded calls."""
    code = pool_code(host_target())
    for name, number in (("shortest", shortest), ("longest", longest)):
        constant = f"(@{name}_backoff = private constant i64) \\d+"
        code, found = re.subn(constant, f"\\1 {number}", code)
        assert found == 1
    return ThreadPool(compile_object(code, host_target()))


@pytest.fixture(scope="module")
def count() -> Counter:
    """A pool that gives all threads however crowded the machine is."""
    return counter(made_pool(0, 0))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_every_thread_runs_once(count: Counter, threads: int) -> None:
    assert count(threads) == (threads, threads)


def test_many_calls(count: Counter) -> None:
    assert all(count(2) == (2, 2) for _ in range(100))


def test_changing_counts(count: Counter) -> None:
    """Workers that sit a call out must not join it late."""
    for threads in (3, 1, 2, 4, 2, 3, 1, 4) * 2:
        assert count(threads) == (threads, threads)


def test_count_is_clamped(count: Counter) -> None:
    assert count(0) == (1, 1)
    assert count(-3) == (1, 1)
    total, used = count(100_000)
    assert total == used <= MAX_THREADS


def test_several_callers() -> None:
    """One has the pool, the others run alone; every answer is right."""
    count = counter(thread_pool())
    wrong: list[tuple[int, int]] = []

    def work() -> None:
        for _ in range(50):
            total, used = count(2)
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
def test_fork(count: Counter) -> None:
    """Threads do not survive a fork: the child makes a pool of its own."""
    assert count(2) == (2, 2)
    child = os.fork()
    if child == 0:
        used = counter(thread_pool())(2)
        gc.collect()
        os._exit(0 if used in ((1, 1), (2, 2)) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_calls_beside_others_get_fewer_threads() -> None:
    """While two calls run neither has both cores, and for a while after them."""
    count = counter(made_pool(10**12, 10**12))
    assert count(2) == (2, 2)
    crowded = threading.Event()
    threads = [
        threading.Thread(target=many_calls, args=(count, crowded)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(2) == (1, 1)
    assert count(4) == (2, 2)


def many_calls(count: Counter, crowded: threading.Event) -> None:
    """Call until another thread has called meanwhile."""
    end = time.monotonic() + 60
    while not crowded.is_set() and time.monotonic() < end:
        if count(2) == (1, 1):
            crowded.set()


THREADS = Path("/proc/self/task")


@pytest.mark.skipif(not THREADS.exists(), reason="reads /proc")
def test_idle_workers_park() -> None:
    """A call leaves no thread behind that uses a core."""
    before = set(THREADS.iterdir())
    count = counter(made_pool(0, 0))
    assert count(4) == (4, 4)
    workers = set(THREADS.iterdir()) - before
    assert len(workers) >= 3
    time.sleep(0.1)
    begin = sum(map(processor_seconds, workers))
    time.sleep(0.5)
    assert sum(map(processor_seconds, workers)) - begin < 0.25


def processor_seconds(thread: Path) -> float:
    """What a thread has used; 0 of one that has ended, which may be another test's."""
    try:
        fields = (thread / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("target", list(PRESETS))
def test_code_of_each_target(target: str) -> None:
    assert compile_object(pool_code(PRESETS[target]), PRESETS[target])


def chain_of_products(rows: int, columns: int, layers: int) -> onnx.ModelProto:
    """`x @ w`, then a softmax, several times: large enough for several threads."""
    random = np.random.default_rng(layers)
    weights = random.standard_normal((columns, columns)).astype(np.float32)
    nodes: list[onnx.NodeProto] = []
    for layer in range(layers):
        nodes.append(helper.make_node("MatMul", [f"x{layer}", "w"], [f"p{layer}"]))
        nodes.append(helper.make_node("Softmax", [f"p{layer}"], [f"x{layer + 1}"]))
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [rows, columns])
        for name in ("x0", f"x{layers}")
    ]
    initializers = [numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], initializers)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


def test_two_models_at_once() -> None:
    """Models that run in two Python threads do not disturb each other's results."""
    sizes = ((96, 192, 3), (160, 128, 4))
    models = [glow.compile(chain_of_products(*size), threads=2) for size in sizes]
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(s[:2], dtype=np.float32) for s in sizes]
    expected = [model(x) for model, x in zip(models, inputs, strict=True)]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            if not np.array_equal(models[number](inputs[number]), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
