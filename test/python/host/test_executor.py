"""Divided networks: order, overlap, failures, memory, on devices that a test steps."""

import gc
import random
import weakref
from concurrent.futures import CancelledError, wait
from threading import Thread

import numpy as np
import pytest
from support.runtime.divided_testing import Graph, Storm, random_graph
from support.runtime.host_testing import FLOAT, FakeDevice

from glow.dialects.errors import GlowError
from glow.host.devices.local import LocalDevice
from glow.host.devices.specification import DeviceSpecification
from glow.host.request import DeadlineError, DeviceError, Request
from glow.runtime.array_pool import ArrayPool
from glow.runtime.buffers import ALIGNMENT

CHAIN = [("x", "a"), ("a", "y")]
DIAMOND = [("x", "ab"), ("a", "c"), ("b", "d"), ("cd", "y")]


def two(slots=1):
    """Two fake devices."""
    return [FakeDevice(f"fake:{number}", slots) for number in range(2)]


def is_equal(outputs, expected):
    """Whether arrays are the same."""
    return all(map(np.array_equal, outputs, expected))


def test_a_pipeline_keeps_both_devices_busy():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    futures = [graph.start(value) for value in range(4)]
    assert (first.ids(), second.ids()) == (["1"], [])
    first.end()
    assert (first.ids(), second.ids()) == (["2"], ["1"])
    first.end()  # Its second part waits: the device has one slot.
    assert (first.ids(), second.ids()) == (["3"], ["1"])
    second.end()
    assert (first.ids(), second.ids()) == (["3"], ["2"])
    assert futures[0].done()
    while first.running or second.running:
        for device in devices:
            device.end_all()
    for value, future in enumerate(futures):
        assert is_equal(future.result(0), graph.expected(value))
    assert first.outstanding == second.outstanding == 0


def test_parts_without_common_operands_run_side_by_side():
    devices = [FakeDevice(f"fake:{number}") for number in range(4)]
    graph = Graph(DIAMOND, "y", devices)
    future = graph.start()
    devices[0].end()
    assert [device.ids() for device in devices] == [[], ["1"], ["1"], []]
    devices[2].end()
    assert devices[3].ids() == []
    devices[1].end()
    devices[3].end()
    assert is_equal(future.result(0), graph.expected())


def test_a_device_goes_on_with_what_it_has_begun():
    """Part 1 of the first request is before part 0 of the second."""
    device = FakeDevice()
    graph = Graph(CHAIN, "y", [device], places=[[0], [0]])
    first, second = graph.start(), graph.start()
    device.end()
    assert device.ids() == ["1"]
    device.end()
    assert first.done()
    assert not second.done()
    device.end_all()
    assert second.done()


def test_higher_priorities_are_first_at_every_device():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    low = [graph.start() for _ in range(3)]
    high = graph.start(priority=1)
    first.end()
    assert (first.ids(), second.ids()) == (["4"], ["1"])
    first.end()
    first.end()
    second.end()
    assert second.ids() == ["4"]
    second.end()
    assert high.done()
    assert not low[1].done()


def test_requests_in_flight_are_bounded():
    devices = two()
    graph = Graph(CHAIN, "y", devices)
    starts = [graph.network.reserve() for _ in range(graph.network.limit)]
    assert None not in starts
    assert graph.network.reserve() is None
    future = starts[0]([np.ones(2, np.float32)], Request("1"))
    devices[0].end()
    devices[1].end()
    assert future.done()
    assert graph.network.reserve() is not None


def test_a_cancelled_request_stops_at_the_next_part():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    future = graph.start()
    graph.network.reserve()
    assert not future.cancel()
    first.end()
    assert second.ids() == []
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result(0)
    assert first.outstanding == second.outstanding == 0


def test_an_expired_request_stops_at_the_next_part():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    future = graph.start(deadline=0.0)
    assert first.ids() == second.ids() == []
    with pytest.raises(DeadlineError):
        future.result(0)
    assert first.outstanding == 0


def test_an_error_ends_a_request_alone():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    futures = [graph.start(), graph.start(2)]
    first.end(error=GlowError("wrong"))
    with pytest.raises(GlowError, match="wrong"):
        futures[0].result(0)
    first.end()
    second.end()
    assert is_equal(futures[1].result(0), graph.expected(2))
    assert second.requests == 1


def test_a_device_dies_with_what_it_ran_alone():
    """What waits for its parts goes on where they go; what it ran fails with its name."""
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    futures = [graph.start(value) for value in range(3)]
    first.end()
    first.end()
    second.die()  # Which runs part 1 of the first request; that of the second waits.
    with pytest.raises(DeviceError, match="'fake:1' failed"):
        futures[0].result(0)
    graph.network.leave(second, graph.place)
    assert graph.network.devices == [first]
    while first.running:
        first.end()
    for value in (1, 2):
        assert is_equal(futures[value].result(0), graph.expected(value))


def test_a_part_is_compiled_for_another_backend():
    devices = [FakeDevice("fake:0"), FakeDevice("other:0", backend="other")]
    graph = Graph(CHAIN, "y", devices, backends=("cpu", "other"), places=[[0], [0]])
    devices[0].die()
    graph.network.leave(devices[0], graph.place)
    assert graph.compiled[-2:] == [(1, "cpu"), (1, "other")]
    future = graph.start(3)
    devices[1].end_all()
    assert is_equal(future.result(0), graph.expected(3))


def test_where_nothing_has_room_requests_fail_with_the_dead_device():
    devices = [FakeDevice("fake:0", limit=1), FakeDevice("fake:1")]
    graph = Graph(CHAIN, "y", devices)
    waiting = graph.start()
    devices[1].die()
    with pytest.raises(GlowError, match="no room"):
        graph.network.leave(devices[1], graph.place)
    devices[0].end()
    with pytest.raises(DeviceError, match="'fake:1' failed: it had 'n/part1'"):
        waiting.result(0)
    assert graph.network.reserve() is None


def test_what_becomes_ready_while_parts_move_waits_for_them():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    future = graph.start()
    second.die()

    def place(key, model, besides):
        first.end()  # Part 0 ends while part 1 is on no device.
        assert not future.done()
        return graph.place(key, model, besides)

    graph.network.leave(second, place)
    first.end()
    assert is_equal(future.result(0), graph.expected())


def test_replicas_share_requests():
    devices = [FakeDevice(f"fake:{number}") for number in range(3)]
    graph = Graph(CHAIN, "y", devices, places=[[0], [1, 2]])
    futures = [graph.start(value) for value in range(2)]
    devices[0].end()
    devices[0].end()
    assert [len(device.running) for device in devices] == [0, 1, 1]
    devices[1].die()
    graph.network.leave(devices[1], graph.place)
    devices[2].end()
    assert futures[1].done()
    assert futures[0].exception(0).device == "fake:1"


def test_values_are_let_go_of_by_their_last_reader():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    future = graph.start()
    given = []
    future_a, model, inputs, _ = first.running.pop()
    outputs = model.run_in_order(inputs)
    given.append(weakref.ref(outputs[0]))
    future_a.set_result(outputs)
    del outputs, future_a, inputs
    gc.collect()
    assert given[0]() is not None
    second.end()
    gc.collect()
    assert given[0]() is None
    assert future.done()


def test_arrays_go_from_part_to_part_as_they_are():
    first, second = devices = two()
    graph = Graph(CHAIN, "y", devices)
    graph.start()
    future, model, inputs, _ = first.running.pop()
    outputs = model.run_in_order(inputs)
    future.set_result(outputs)
    assert second.running[0][2][0] is outputs[0]


def test_memory_is_used_again_when_nobody_knows_it():
    pool = ArrayPool(2)
    first = pool.take((2, 3), FLOAT)
    view = first[1:]
    address = first.ctypes.data
    del first
    second = pool.take((2, 3), FLOAT)
    assert second.ctypes.data != address
    third = pool.take((2, 3), FLOAT)  # Of more than the limit, which is not kept.
    assert pool.memory_bytes == 2 * (second.nbytes + ALIGNMENT)
    del view, third
    assert pool.take((2, 3), FLOAT).ctypes.data == address
    assert pool.take((3, 2), FLOAT).shape == (3, 2)


@pytest.mark.parametrize("seed", range(60))
def test_random_networks_compute_what_their_parts_do_in_order(seed):
    """Devices end requests in any order, fail some and die; each request ends rightly."""
    storm = Storm(seed)
    for _ in range(200):
        storm.act()
    storm.end()
    for number, future in enumerate(storm.futures):
        assert future.done()
        if future.cancelled() or future.exception(0) is not None:
            assert str(number + 1) in storm.wrong
        else:
            assert is_equal(future.result(0), storm.graph.expected(number))
    for device in storm.devices:
        assert device.outstanding == 0
        assert device.most_outstanding <= device.slots
    assert storm.graph.network.reserve() is not None


@pytest.mark.parametrize("seed", range(4))
def test_many_callers_on_threads(seed):
    """Nothing is lost or mixed up where devices have threads, callers too."""
    specification = DeviceSpecification("cpu")
    devices = [LocalDevice(f"cpu:{number}", specification) for number in range(3)]
    graph = random_graph(random.Random(seed), devices)
    wrong = []
    threads = [
        Thread(target=lambda first=first: wrong.extend(call(graph, first)))
        for first in (0, 100, 200)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []
    finally:
        for device in devices:
            device.close()
    assert [device.outstanding for device in devices] == [0, 0, 0]


def call(graph, first):
    """Some requests at once, of which some are cancelled; returns those that go wrong."""
    values = range(first, first + 40)
    requests = [Request(str(value), value % 3) for value in values]
    futures = [
        graph.network.start([np.full(2, value, np.float32)], request)
        for value, request in zip(values, requests, strict=True)
    ]
    for request in requests[7::10]:
        request.cancel()
    for value, request, future in zip(values, requests, futures, strict=True):
        if is_cancelled(future):
            is_right = request.cancelled()
        else:
            is_right = is_equal(future.result(0), graph.expected(value))
        if not is_right:
            yield value


def is_cancelled(future):
    """Whether a future ends without a result."""
    wait([future], 30)
    return future.cancelled()
