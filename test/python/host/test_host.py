"""Requests of a host on devices that end them when the test says so."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from concurrent.futures import CancelledError, Future, wait

import numpy as np
import pytest
from support.runtime.host_testing import ONE, FakeDevice, doubling, rows, wait_until

import glow
from glow.dialects.errors import GlowError
from glow.host.request import (
    ClosedError,
    DeadlineError,
    DeviceError,
    QueueFullError,
    UnknownModelError,
)
from glow.host.trace_events import SpanContext
from glow.host.tracing import Tracer


@pytest.fixture
def device():
    return FakeDevice()


@pytest.fixture
def host(device):
    with glow.Host([device], queue_limit=3) as host:
        host.add("m", doubling())
        yield host


def figures(host, name="m"):
    return host.statistics()["models"][name]


def test_inputs_by_name_in_order_or_alone(host, device):
    given = [ONE, [ONE], (ONE,), {"x": ONE}]
    for inputs in given:
        future = host.run("m", inputs)
        device.end()
        np.testing.assert_array_equal(future.result()["y"], 2 * ONE)
    assert figures(host)["succeeded"] == len(given)


def test_refusals_name_what_is_wrong(host):
    with pytest.raises(UnknownModelError, match="no model 'n'; there are m"):
        host.run("n", ONE)
    with pytest.raises(GlowError, match="no input 'z'"):
        host.run("m", {"z": ONE})
    with pytest.raises(GlowError, match="takes 1 inputs, not 2"):
        host.run("m", [ONE, ONE])
    with pytest.raises(GlowError, match="a model 'm' already"):
        host.add("m", doubling())
    with pytest.raises(GlowError, match="batching is 'auto' or 'off'"):
        host.add("o", doubling(), batching="on")
    with pytest.raises(GlowError, match="compiled already: threads has no effect"):
        host.add("o", doubling(), threads=2)
    with pytest.raises(UnknownModelError):
        host.remove("o")


def test_a_full_queue_refuses_and_goes_on(host, device):
    futures = [host.run("m", x) for x in rows(4)]
    with pytest.raises(QueueFullError, match="3 requests wait already"):
        host.run("m", ONE)
    assert host.statistics()["queue"] == {"waiting": 3, "limit": 3}
    device.end_all()
    assert [f.result()["y"][0, 0] for f in futures] == [2, 4, 6, 8]
    assert figures(host)["refused"] == 1
    assert figures(host)["requests"] == figures(host)["succeeded"] == 4
    assert device.most_outstanding == 1


def test_a_full_queue_refuses_nobody_for_whom_a_slot_is_free():
    devices = [FakeDevice("fake:0"), FakeDevice("fake:1", limit=10)]
    with glow.Host(devices, queue_limit=1) as host:
        host.add("m", doubling(20))
        futures = [host.run("m", ONE) for _ in range(2)]
        with pytest.raises(QueueFullError):
            host.run("m", ONE)
        host.add("o", doubling(), replicas=2)
        futures.append(host.run("o", ONE))
        assert len(devices[1].running) == 1
        for device in devices:
            device.end_all()
        assert all(future.result() for future in futures)


def test_higher_priorities_are_first_then_who_came_first(host, device):
    host.run("m", ONE, request_id="running")
    for priority, name in ((0, "a"), (5, "b"), (5, "c")):
        host.run("m", ONE, priority=priority, request_id=name)
    order = []
    while device.running:
        order += device.ids()
        device.end()
    assert order == ["running", "b", "c", "a"]


def test_cancelled_requests_free_their_place(host, device):
    first, *others = [host.run("m", ONE, request_id=str(n)) for n in range(4)]
    assert not first.cancel()
    assert all(future.cancel() for future in others[:2])
    assert host.statistics()["queue"]["waiting"] == 1
    last = host.run("m", ONE, request_id="last")
    device.end()
    assert device.ids() == ["3"]
    device.end_all()
    assert last.result()
    with pytest.raises(CancelledError):
        others[0].result()
    assert figures(host)["cancelled"] == 2


def test_a_caller_that_comes_back_at_once_does_not_push_others_out(host, device):
    host.add("n", doubling())
    again = []

    def come_back(done):
        again.append(host.run("m", ONE, request_id="again"))

    host.run("m", ONE, request_id="first").add_done_callback(come_back)
    host.run("n", ONE, request_id="other")
    device.end()
    assert device.ids() == ["other"]
    device.end_all()
    assert again[0].result()


def test_a_request_that_is_cancelled_while_it_is_taken_gives_its_slot_back(
    host, device
):
    _, second, third = [host.run("m", ONE, request_id=str(n)) for n in range(3)]
    assert Future.cancel(second)  # Nobody has told the queue.
    device.end()
    assert device.ids() == ["2"]
    device.end()
    assert third.result()
    assert device.outstanding == 0
    assert figures(host)["batches"] == {1: 2}


def test_a_deadline_passes_while_a_request_waits_and_while_it_runs(host, device):
    running = host.run("m", ONE, request_id="r", timeout=0.02)
    waiting = host.run("m", ONE, request_id="w", timeout=0.02)
    patient = host.run("m", ONE, request_id="p", timeout=60)
    for future, name in ((running, "r"), (waiting, "w")):
        with pytest.raises(DeadlineError, match=f"request '{name}' was not done"):
            future.result()
    assert device.ids() == ["r"]  # Whose slot is free when it ends.
    device.end()
    assert device.ids() == ["p"]
    device.end()
    assert patient.result()
    assert figures(host)["expired"] == 2
    assert figures(host)["succeeded"] == 1


def test_a_model_is_removed_under_load(host, device):
    futures = [host.run("m", ONE) for _ in range(3)]
    host.add("n", doubling())
    other = host.run("n", ONE)
    remover = threading.Thread(target=host.remove, args=("m",))
    remover.start()
    with pytest.raises(ClosedError, match="'m' was removed"):
        futures[1].result(10)
    with pytest.raises(UnknownModelError):
        host.run("m", ONE)
    assert not futures[0].done()
    device.end()
    remover.join(10)
    assert not remover.is_alive()
    assert futures[0].result()
    device.end()
    assert other.result()
    assert len(device.models) == 1
    host.add("m", doubling())  # The name is free.
    assert host.models()["m"].state == "ready"


def test_futures_are_those_of_the_library(host, device):
    futures = [host.run("m", x) for x in rows(2)]
    seen = []
    futures[0].add_done_callback(lambda future: seen.append(future.result()))
    assert not wait(futures, timeout=0).done
    device.end_all()
    assert wait(futures, timeout=10).done == set(futures)
    assert seen[0]["y"][0, 0] == 2

    async def both():
        wrapped = asyncio.wrap_future(host.run("m", ONE))
        device.end()
        return await wrapped

    assert asyncio.run(both())["y"][0, 0] == 2


def test_async_requests_are_cancelled_with_their_task(host, device):
    async def scenario():
        first = asyncio.create_task(host.run_async("m", ONE, request_id="1"))
        second = asyncio.create_task(host.run_async("m", ONE, request_id="2"))
        await asyncio.sleep(0)
        assert host.statistics()["queue"]["waiting"] == 1
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert host.statistics()["queue"]["waiting"] == 0
        device.end()
        return await first

    assert asyncio.run(scenario())["y"][0, 0] == 2


def test_a_failed_request_harms_no_other(host, device):
    futures = [host.run("m", ONE) for _ in range(2)]
    device.end(error=GlowError("index 7 of 5 rows"))
    device.end()
    with pytest.raises(GlowError, match="index 7"):
        futures[0].result()
    assert futures[1].result()
    assert (figures(host)["failed"], figures(host)["succeeded"]) == (1, 1)


def test_requests_leave_nothing_to_the_collector_of_cycles(host, device):
    gc.disable()
    try:
        futures = [host.run("m", x) for x in rows(2)]
        device.end_all()
        outputs = weakref.ref(futures[1].result()["y"])
        known = weakref.ref(futures[1])
        futures.clear()
        assert known() is None
        assert outputs() is None
    finally:
        gc.enable()


# -- Devices


def test_replicas_share_by_fewest_outstanding_then_least_recent():
    devices = [FakeDevice(f"fake:{n}", slots=2) for n in range(2)]
    with glow.Host(devices) as host:
        host.add("m", doubling(), replicas=2)
        for name in "abc":
            host.run("m", ONE, request_id=name)
        assert [device.ids() for device in devices] == [["a", "c"], ["b"]]
        devices[0].end_all()
        host.run("m", ONE, request_id="d")
        assert devices[0].ids() == ["d"]
        assert host.models()["m"].devices == ("fake:0", "fake:1")
        for device in devices:
            device.end_all()


def test_memory_is_counted_before_a_model_is_placed():
    devices = [FakeDevice("fake:0", limit=100), FakeDevice("fake:1", limit=50)]
    with glow.Host(devices) as host:
        host.add("a", doubling(60))
        host.add("b", doubling(45))  # To the one that has less.
        assert host.models()["b"].devices == ("fake:1",)
        message = (
            r"'c#3' does not fit on the devices: 45 bytes needed and 5 free on "
            r"'fake:1', 45 bytes needed and 40 free on 'fake:0'"
        )
        with pytest.raises(GlowError, match=message):
            host.add("c", doubling(45))
        with pytest.raises(GlowError, match="2 times, only 1 times: 30 bytes"):
            host.add("d", doubling(30), replicas=2)
        assert devices[0].memory().used_bytes == 60  # The one that fitted has left.
        with pytest.raises(GlowError, match="cannot have 3 replicas on 2 devices"):
            host.add("e", doubling(), replicas=3)
        with pytest.raises(GlowError, match="needs 20 bytes, and its limit is 10"):
            host.add("f", doubling(20), memory_limit=10)
        host.remove("a")
        host.add("d", doubling(30))
        assert set(host.models()) == {"b", "d"}


def test_one_device_is_named_where_there_is_one():
    with glow.Host([FakeDevice(limit=10)]) as host:
        message = "'m#1' needs 11 bytes on device 'fake:0', where 10 are free"
        with pytest.raises(GlowError, match=message):
            host.add("m", doubling(11))


def test_a_device_dies_and_its_models_go_elsewhere():
    devices = [FakeDevice(f"fake:{n}", limit=100) for n in range(2)]
    with glow.Host(devices) as host:
        host.add("small", doubling(40))
        host.add("large", doubling(80))
        running = host.run("small", ONE)
        waiting = host.run("small", ONE)
        other = host.run("large", ONE)
        devices[0].limit = 0  # It has room for nothing once it is dead.
        devices[1].limit = 120
        devices[0].die()
        with pytest.raises(DeviceError, match="device 'fake:0' failed: it died"):
            running.result(10)
        wait_until(lambda: host.models()["small"].devices == ("fake:1",))
        devices[1].end_all()
        assert other.result(10)
        wait_until(lambda: devices[1].running or waiting.done())
        devices[1].end_all()
        assert waiting.result(10)
        assert host.statistics()["devices"]["fake:0"]["health"] == "dead"


def test_a_model_without_room_elsewhere_fails_and_others_go_on():
    devices = [FakeDevice("fake:0", limit=100), FakeDevice("fake:1", limit=10)]
    with glow.Host(devices) as host:
        host.add("m", doubling(80))
        host.add("n", doubling(10))
        running, waiting = (host.run("m", ONE) for _ in range(2))
        devices[0].die()
        for future in (running, waiting):
            with pytest.raises(DeviceError, match="device 'fake:0' failed"):
                future.result(10)
        wait_until(lambda: host.models()["m"].state == "failed")
        with pytest.raises(DeviceError, match="'fake:0' failed: it had the model 'm'"):
            host.run("m", ONE)
        fine = host.run("n", ONE)
        devices[1].end()
        assert fine.result()
        host.remove("m")


def test_a_replica_that_dies_leaves_the_other():
    devices = [FakeDevice(f"fake:{n}") for n in range(2)]
    with glow.Host(devices) as host:
        host.add("m", doubling(), replicas=2)
        devices[0].die()
        wait_until(lambda: host.models()["m"].devices == ("fake:1",))
        future = host.run("m", ONE)
        devices[1].end()
        assert future.result()


def test_a_closed_host_takes_nothing():
    host = glow.Host([FakeDevice()])
    host.add("m", doubling())
    host.close()
    host.close()
    with pytest.raises(ClosedError):
        host.add("m", doubling())
    with pytest.raises(UnknownModelError):
        host.run("m", ONE)


def test_a_trace_has_the_queue_and_the_device():
    tracer = Tracer()
    device = FakeDevice()
    caller = SpanContext("1" * 32, "2" * 16)
    with glow.Host([device], tracer=tracer) as host:
        host.add("m", doubling())
        futures = [host.run("m", ONE, request_id=name, span=caller) for name in "ab"]
        device.end_all()
        assert all(future.result() for future in futures)
    events = [event for event in tracer.events() if event.request_id == "b"]
    by_lane = {event.lane: event for event in events}
    assert by_lane.keys() == {"host", "queue", "fake:0"}
    around = by_lane["host"]
    assert around.parent == caller
    assert by_lane["queue"].parent == by_lane["fake:0"].parent == around.context
    assert around.begin <= by_lane["queue"].end <= by_lane["fake:0"].end <= around.end
