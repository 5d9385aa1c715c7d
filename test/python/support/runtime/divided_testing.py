"""Divided networks whose parts tell themselves and their operands apart, on fake devices."""

import random

import numpy as np
from support.runtime.host_testing import FLOAT, FakeDevice

from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.devices.device import Health
from glow.host.executor import PartitionedNetwork
from glow.host.parts.device_queue import DeviceQueues
from glow.host.parts.placed_part import PlacedPart
from glow.host.request import Request
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
