"""Backends in this process: threads of a call, helping callers, memory, random schedules."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper, parser
from support.runtime.host_schedules import run_schedule
from support.runtime.host_testing import (
    ONE,
    doubling,
    open_doubling,
    rows,
    wait_until,
)

import glow
from glow.dialects.errors import GlowError
from glow.host.devices import compile_process, local
from glow.host.devices.compile_process import compile_apart
from glow.host.devices.local import LocalDevice
from glow.host.devices.specification import DeviceSpecification
from glow.host.request import ClosedError, DeviceMemoryError, Request
from glow.runtime.threads import priority

NETWORK = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N, 8] x, float[8, 8] w) => (float[N, 8] y) {
  p = MatMul(x, w)
  y = Relu(p)
}
"""


def device(kind="cpu", **options):
    return LocalDevice(f"{kind}:0", DeviceSpecification(kind, **options))


@pytest.fixture
def cpu():
    made = device()
    yield made
    made.close()


class Recorded:
    """A function that notes the threads of its calls, and waits for a gate."""

    limits_threads = True

    def __init__(self):
        self.gate = threading.Event()
        self.begun = threading.Semaphore(0)
        self.threads = []
        self.callers = []

    def run(self, inputs, threads=None):
        self.threads.append(threads)
        self.callers.append(threading.current_thread())
        self.begun.release()
        assert self.gate.wait(30)
        return [2 * inputs[0]]


def recorded():
    """A model that notes its calls."""
    model = doubling()
    return glow.CompiledModel(model.signature, Recorded())


def begin(made, request="r"):
    assert made.reserve()
    return made.run_reserved("m", [ONE], Request(request))


def test_a_request_has_all_cores_alone_and_one_beside_others(cpu):
    cpu.slots = 3
    model = recorded()
    cpu.load("m", model)
    function = model.function
    first = begin(cpu)
    assert function.begun.acquire(timeout=10)
    others = [begin(cpu), begin(cpu)]
    assert not cpu.reserve()
    for _ in others:
        assert function.begun.acquire(timeout=10)
    function.gate.set()
    assert all(future.result(10) for future in [first, *others])
    wait_until(lambda: cpu.outstanding == 0)
    last = begin(cpu)
    assert last.result(10)
    assert function.threads == [None, 1, 1, None]
    wait_until(lambda: cpu.outstanding == 0)


def test_who_waits_helps_and_quick_networks_need_no_thread(cpu):
    here = threading.current_thread()
    cpu._threads = [here] * cpu.slots  # No others.
    model = recorded()
    cpu.load("m", model)
    model.function.gate.set()
    task = begin(cpu)
    assert not task.done()
    task.help()
    task.help()  # Only the first has an effect.
    assert task.done()
    cpu._networks["m"].note([ONE], 0.0)
    assert begin(cpu).done()
    assert model.function.callers == [here, here]
    cpu._threads = []


def test_one_slow_call_says_little():
    network = local.LoadedNetwork(recorded())
    assert network.seconds([ONE]) == inf
    network.note([ONE], 20e-6)
    network.note([ONE], 1.0)  # It has waited for a core.
    assert network.seconds([ONE]) == pytest.approx(22e-6)
    for _ in range(20):
        network.note([ONE], 1.0)
    assert network.seconds([ONE]) > local.QUICK_SECONDS


def test_times_are_known_by_shapes():
    network = local.LoadedNetwork(SimpleNamespace())
    network.note([np.zeros((1, 2))], 1e-6)
    assert network.seconds([np.zeros((1, 2))]) == 1e-6
    assert network.seconds([np.zeros((8, 2))]) == inf
    for size in range(local.MOST_SHAPES):
        network.note([np.zeros(size)], 1.0)
    assert network.seconds([np.zeros((1, 2))]) == inf


def test_cancelled_and_expired_tasks_are_not_run(cpu):
    model = recorded()
    cpu.load("m", model)
    model.function.gate.set()
    request = Request("1")
    request.cancel()
    assert cpu.reserve()
    unwanted = cpu.run_reserved("m", [ONE], request)
    with pytest.raises(CancelledError):
        unwanted.result(10)
    wait_until(cpu.reserve)
    late = cpu.run_reserved("m", [ONE], Request("2", deadline=0.0))
    with pytest.raises(GlowError, match="request '2' was not done by its deadline"):
        late.result(10)
    assert model.function.threads == []
    wait_until(lambda: cpu.outstanding == 0)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="of Linux")
def test_pinned_threads_stay_on_their_core():
    before = os.sched_getaffinity(0)
    core = min(before)
    pinned = device(cores=(core,))
    model = recorded()
    seen = []
    run = model.function.run
    model.function.run = lambda inputs, threads=None: (
        seen.append(os.sched_getaffinity(0)) or run(inputs, threads)
    )
    model.function.gate.set()
    pinned.load("m", model)
    task = begin(pinned)
    task.help()  # Has no effect from another core.
    assert task.result(10)
    pinned.close()
    assert seen == [{core}]
    assert model.function.threads == [1]
    assert os.sched_getaffinity(0) == before
    with pytest.raises(GlowError, match="core 4000 is not there"):
        device(cores=(4000,))


def test_memory_of_models_and_of_programs_that_come_with_calls():
    small = device(memory_bytes=100)
    with pytest.raises(
        DeviceMemoryError, match="'m' needs 101 bytes on device 'cpu:0'"
    ):
        small.load("m", doubling(101))
    model = open_doubling()
    made = model.specializer.make
    model.specializer.make = lambda shapes, answers: sized(
        made(shapes, answers), shapes
    )
    small.load("m", model)

    def run(count):
        wait_until(small.reserve)
        inputs = [np.ones((count, 2), np.float32)]
        return small.run_reserved("m", inputs, Request("r")).result(10)

    np.testing.assert_array_equal(run(3)[0], np.full((3, 2), 2))
    assert small.memory().used_bytes == 30
    message = (
        r"inputs of \[\[8, 2\]\] needs 80 bytes on device 'cpu:0', where 70 are free"
    )
    with pytest.raises(DeviceMemoryError, match=message):
        run(8)
    assert small.memory().used_bytes == 30
    assert run(7)[0].shape == (7, 2)
    wait_until(lambda: small.outstanding == 0)
    small.unload("m")
    assert small.memory().used_bytes == 0
    with pytest.raises(ClosedError, match="has no network 'm'"):
        small.run("m", [ONE], Request("r"))
    small.close()


def sized(program, shapes):
    """A program of ten bytes a row."""
    program.model.function.memory_bytes = 10 * shapes["x"][0]
    return program


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="of Linux")
def test_a_callback_may_wait_for_another_request():
    with glow.Host([device(cores=(min(os.sched_getaffinity(0)),))]) as host:
        host.add("m", doubling())
        results = []

        def go_on(done):
            x = done.result()["y"]
            results.append(host.run("m", x).result()["y"])

        future = host.run("m", ONE)
        future.add_done_callback(go_on)
        assert future.result(10)
    np.testing.assert_array_equal(results, [4 * ONE])  # By the device's only thread.


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="of Linux")
def test_new_sizes_are_compiled_beside_requests_of_known_ones():
    with glow.Host([device(cores=(min(os.sched_getaffinity(0)),))]) as host:
        model = open_doubling()
        gate, make = threading.Event(), model.specializer.make

        def slowly(shapes, answers):
            assert shapes["x"][0] < 16 or gate.wait(30)
            return make(shapes, answers)

        model.specializer.make = slowly
        host.add("m", model)
        new = [host.run("m", np.ones((16, 2), np.float32)) for _ in range(2)]
        for x in rows(5):  # Though there is one slot.
            np.testing.assert_array_equal(host.run("m", x).result(10)["y"], 2 * x)
        assert not any(future.done() for future in new)
        gate.set()
        assert all(future.result(10)["y"].shape == (16, 2) for future in new)
        assert model.specializer.made.count((16, 2)) == 1


# -- Networks that are compiled


@pytest.fixture(scope="module")
def served():
    """A host with a network on open batches, and the model itself."""
    model = glow.compile(parser.parse_model(NETWORK), threads=1)
    with glow.Host(["cpu", "interpreter"], queue_limit=64) as host:
        host.add("net", model)
        yield host, model


W = np.random.default_rng(0).standard_normal((8, 8), np.float32)


def test_results_are_those_of_the_model_bit_for_bit(served):
    host, model = served
    for count in (1, 3):
        x = np.random.default_rng(count).standard_normal((count, 8), np.float32)
        expected = model(x, W)
        np.testing.assert_array_equal(host.run("net", [x, W]).result()["y"], expected)
        got = asyncio.run(host.run_async("net", {"w": W, "x": x}))
        np.testing.assert_array_equal(got["y"], expected)


def test_read_only_and_scattered_inputs(served):
    host, model = served
    wide = np.ones((3, 16), np.float32)
    fixed = np.frombuffer(bytes(W.tobytes()), np.float32).reshape(8, 8)
    result = host.run("net", [wide[:, ::2], fixed]).result()["y"]
    np.testing.assert_array_equal(result, model(wide[:, ::2].copy(), W))


def test_wrong_inputs_fail_alone(served):
    host, _ = served
    wrong = host.run("net", [np.ones((2, 8)), W])
    with pytest.raises(GlowError, match="'x' must have dtype float32, not float64"):
        wrong.result()
    with pytest.raises(GlowError, match="'x' is declared as Nx8"):
        host.run("net", [np.ones((2, 9), np.float32), W]).result()
    assert host.run("net", [np.ones((2, 8), np.float32), W]).result()


def test_the_same_model_by_two_backends():
    source = parser.parse_model(NETWORK)
    x = np.ones((2, 8), np.float32)
    with glow.Host("interpreter") as host:
        host.add("net", source)
        assert host.models()["net"].devices == ("interpreter:0",)
        by_nodes = host.run("net", [x, W]).result()["y"]
        with pytest.raises(GlowError, match="on 0 devices of backend 'cpu'"):
            host.add("other", source, backend="cpu")
    np.testing.assert_allclose(by_nodes, np.maximum(x @ W, 0), 1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_random_schedules(seed, monkeypatch):
    """`test/fuzz/host_schedules.py` runs thousands."""
    monkeypatch.setattr(local, "QUICK_SECONDS", float(seed % 2))
    run_schedule(seed)


def test_new_sizes_are_compiled_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "100")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3])
        for name in "xy"
    )
    graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "g", [x], [y])
    path = tmp_path / "rows.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    model = glow.compile(str(path), threads=1)
    assert not compile_apart(model, [(4, 3)], lambda: False)
    assert compile_apart(model, [(4, 3)])
    assert model.programs() == []

    def fail(*_, **__):
        raise AssertionError("compiled in this process")

    monkeypatch.setattr("glow.compiler.compile_step", fail)
    rows = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_allclose(model(rows), np.tanh(rows), rtol=1e-6)
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "0")
    assert not compile_apart(model, [(5, 3)])


def test_compilers_leave_the_cores_to_others(monkeypatch):
    tried = []
    monkeypatch.setattr(
        compile_process, "_run_as", lambda way, *_: tried.append(way) or way == "idle"
    )
    compile_process._run(b"", lambda: True)
    assert tried == ["idle", "nice"]  # The first has got no core.
    assert compile_process.core_seconds(os.getpid()) > 0
    assert compile_process.core_seconds(-1) == float("inf")
    calls = []
    monkeypatch.setattr(os, "setpriority", lambda *given: calls.append(given[2]))
    monkeypatch.setattr(
        os, "sched_setscheduler", lambda _, policy, __: calls.append(policy)
    )
    monkeypatch.setattr(os, "getpriority", lambda *_: 3)
    priority.leave_cores("nice")
    assert calls == [priority.LOW_PRIORITY]
    monkeypatch.setattr(os, "getpriority", lambda *_: 15)
    priority.leave_cores("idle")
    assert calls[1:] == [15, os.SCHED_IDLE]
