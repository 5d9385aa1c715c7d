"""Divided networks: order, overlap, failures, memory, on devices that a test steps."""

import gc
import random
import weakref
from concurrent.futures import CancelledError

import numpy as np
import pytest
from support.host_testing import FLOAT, FakeDevice

from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.array_pool import ArrayPool
from glow.host.device_queue import DeviceQueues
from glow.host.devices.device import Health
from glow.host.executor import PartitionedNetwork
from glow.host.placed_part import PlacedPart
from glow.host.request import DeadlineError, DeviceError, Request
from glow.tensor_info import Signature, TensorInfo


class Mixing:
    """A function of some arrays that tells its parts and their operands apart."""

    def __init__(self, number, count, memory_bytes=0):
        self.number = number
        self.count = count
        self.memory_bytes = memory_bytes

    def run(self, inputs):
        """Sums of the inputs, each with a number of its own."""
        total = sum((k + 2) * array for k, array in enumerate(inputs))
        return [total + 10 * self.number + k for k in range(self.count)]


def infos(names):
    """Descriptions of values: float32[2] each."""
    return tuple(TensorInfo(name, (2,), FLOAT) for name in names)


class Graph:
    """A divided network on fake devices."""

    def __init__(self, parts, outputs, devices, backends=("cpu",), places=None):
        """`parts` are pairs of names that each takes and gives."""
        self.devices = devices
        self.compiled = []
        self.placed = []
        for number, (takes, gives) in enumerate(parts):
            model_for = self.compiler(number, takes, gives)
            name = f"part{number}"
            self.placed.append(PlacedPart(name, f"n/{name}", takes, gives, model_for))
        places = places or [[k % len(devices)] for k in range(len(parts))]
        for part, numbers in zip(self.placed, places, strict=True):
            for number in numbers:
                part.load(devices[number])
        signature = Signature(infos("x"), infos(outputs))
        self.network = PartitionedNetwork(
            "n", signature, self.placed, DeviceQueues(), backends
        )
        self.count = 0

    def compiler(self, number, takes, gives):
        """Compiles a part, and notes for which backends."""

        def model_for(backend):
            self.compiled.append((number, backend))
            function = Mixing(number, len(gives), memory_bytes=1)
            return CompiledModel(
                Signature(infos(takes), infos(gives)), function, backend
            )

        return model_for

    def start(self, value=1.0, **options):
        """The future of a request."""
        self.count += 1
        request = Request(str(self.count), **options)
        return self.network.start([np.full(2, value, np.float32)], request)

    def expected(self, value=1.0):
        """The outputs, one part after the other."""
        values = {"x": np.full(2, value, np.float32)}
        for number, part in enumerate(self.placed):
            given = Mixing(number, len(part.gives)).run([values[n] for n in part.takes])
            values |= dict(zip(part.gives, given, strict=True))
        return [values[info.name] for info in self.network.outputs]

    def place(self, key, model, besides):
        """Load a model on another device that is alive."""
        for device in self.devices:
            alive = device.health() is not Health.DEAD and device not in besides
            if alive and device.backend == model.backend:
                try:
                    device.load(key, model)
                    return device
                except GlowError:
                    continue
        raise GlowError("no room")


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
    running = first.running[0][3]
    running.cancel()
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
    assert pool.memory_bytes == 2 * second.nbytes
    del view, third
    assert pool.take((2, 3), FLOAT).ctypes.data == address
    assert pool.take((3, 2), FLOAT).shape == (3, 2)


def random_graph(chance, devices):
    """A network of random parts, each of which reads what others give."""
    names = iter("abcdefghijklmnopqrstuvwyz")
    known, parts = ["x"], []
    for _ in range(chance.randint(1, 7)):
        takes = [chance.choice(known) for _ in range(chance.randint(1, 3))]
        gives = [next(names) for _ in range(chance.randint(1, 2))]
        parts.append((takes, gives))
        known += gives
    outputs = chance.sample(known[1:], chance.randint(1, len(known) - 1))
    numbers = range(len(devices))
    places = [chance.sample(numbers, chance.choice([1, 1, 2])) for _ in parts]
    return Graph(parts, outputs, devices, places=places)


class Storm:
    """Random requests, ends, failures and deaths on four devices."""

    def __init__(self, seed):
        self.chance = chance = random.Random(seed)
        self.devices = [FakeDevice(f"fake:{k}", chance.randint(1, 3)) for k in range(4)]
        self.graph = random_graph(chance, self.devices)
        self.futures = []
        self.wrong = set()
        """The requests that may fail."""

    def act(self):
        """Something happens."""
        action, chance = self.chance.random(), self.chance
        alive = [one for one in self.devices if one.state is Health.READY]
        if action < 0.15 and len(self.futures) < 20:
            value, priority = len(self.futures), chance.randint(0, 2)
            self.futures.append(self.graph.start(value, priority=priority))
        elif action < 0.17 and len(alive) > 1:
            device = chance.choice(alive)
            self.wrong |= set(device.ids())
            device.die()
            self.graph.network.leave(device, self.graph.place)
        running = [device for device in self.devices if device.running]
        if running:
            self.end_one(chance.choice(running))

    def end_one(self, device):
        """A part ends, rightly or not."""
        number, kind = self.chance.randrange(len(device.running)), self.chance.random()
        request = device.running[number][3]
        error = GlowError(f"no {request.id}") if kind < 0.02 else None
        if kind < 0.04:
            self.wrong.add(request.id)
        if 0.02 <= kind < 0.04:
            request.cancel()
        device.end(number, error)

    def end(self):
        """All ends."""
        while any(device.running for device in self.devices):
            for device in self.devices:
                device.end_all()


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
