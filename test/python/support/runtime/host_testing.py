"""Devices that run requests when a test says so, and models without a compiler."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import Future

import numpy as np

from glow.compiled_model import CompiledModel
from glow.host import batch_table
from glow.host.batch_table import BatchTable
from glow.host.devices.device import DeviceManager, DeviceMemory, Health
from glow.host.devices.memory import model_memory
from glow.host.request import DeviceError, DeviceMemoryError
from glow.open_sizes import OpenSignature, OpenTensorInfo
from glow.specialized_model import Program, SpecializedModel
from glow.tensor_info import Signature, TensorInfo

FLOAT = np.dtype(np.float32)
ONE = np.ones((1, 2), np.float32)


class Doubling:
    """Twice the input; `memory_bytes` is what it says that it takes."""

    def __init__(self, memory_bytes=0, gate=None):
        self.memory_bytes = memory_bytes
        self.gate = gate
        self.batches = []

    def run(self, inputs):
        """Wait for the gate, if there is one."""
        if self.gate is not None:
            assert self.gate.wait(30)
        self.batches.append(len(inputs[0]))
        return [2 * inputs[0]]


def doubling(memory_bytes=0, gate=None, shape=(1, 2)):
    """A model of x: float32[1, 2] that gives y, twice of it."""
    infos = [(TensorInfo(name, shape, FLOAT),) for name in "xy"]
    return CompiledModel(Signature(*infos), Doubling(memory_bytes, gate))


class OpenDoubling:
    """Makes programs for any sizes; `mixes` has rows depend on others."""

    def __init__(self, mixes=False):
        self.mixes = mixes
        self.made = []

    def make(self, shapes, answers):
        """The program for the shape of x."""
        self.made.append(shapes["x"])
        model = doubling(shape=shapes["x"])
        if self.mixes:
            run = model.function.run
            model.function.run = lambda inputs: [run(inputs)[0] + inputs[0].sum()]
        return Program(model)


def open_doubling(mixes=False, shape=("N", 2), gives=None):
    """A model of x: float32[N, 2] that gives y, twice of it."""
    infos = [
        (OpenTensorInfo(name, sizes, FLOAT),)
        for name, sizes in zip(
            "xy", (shape, shape if gives is None else gives), strict=True
        )
    ]
    return SpecializedModel(OpenSignature(*infos), OpenDoubling(mixes), 16)


class FakeDevice(DeviceManager):
    """A device whose requests end when a test says so."""

    def __init__(self, name="fake:0", slots=1, limit=None, backend="cpu"):
        super().__init__(name, backend, slots)
        self.limit = limit
        self.models = {}
        self.running = []
        self.state = Health.READY
        self.most_outstanding = 0

    def load(self, key, model):
        """Take a model, if there is room."""
        needed, free = model_memory(model, 1), self.memory().free_bytes
        if free is not None and needed > free:
            raise DeviceMemoryError(self.name, f"'{key}'", needed, free)
        self.models[key] = model

    def run(self, key, inputs, request):
        """A future that a test ends."""
        future = Future()
        if request.cancelled():
            future.cancel()
            future.set_running_or_notify_cancel()
            return future
        self.most_outstanding = max(self.most_outstanding, self.outstanding)
        self.running.append((future, self.models[key], inputs, request))
        return future

    def unload(self, key):
        """Let go of a model."""
        del self.models[key]

    def memory(self):
        """What the models say."""
        used = sum(model_memory(model, 1) for model in self.models.values())
        return DeviceMemory(used, self.limit)

    def health(self):
        """What the test says."""
        return self.state

    def close(self):
        """End what runs."""
        while self.running:
            self.end()

    # What tests say

    def ids(self):
        """The requests that run."""
        return [request.id for _, _, _, request in self.running]

    def end(self, number=0, error=None):
        """End a request that runs; returns its inputs."""
        future, model, inputs, _ = self.running.pop(number)
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(model.run_in_order(inputs))
        return inputs

    def end_all(self):
        """End what runs, and what begins then; returns the batches."""
        batches = []
        while self.running:
            batches.append(len(self.end()[0]))
        return batches

    def die(self):
        """Fail what runs, for ever."""
        self.state = Health.DEAD
        while self.running:
            self.end(error=DeviceError(self.name, "it died"))
        self.changed()


def wait_until(condition):
    """Wait for what another thread does: a future wakes those who wait before it calls back."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def rows(count):
    """Inputs that are told apart."""
    return [
        np.full((1, 2), number, np.float32)
        for number in itertools.islice(itertools.count(1), count)
    ]


PAYING = BatchTable({1: 1.0, 2: 1.2, 4: 1.6, 8: 2.0})
COSTLY = BatchTable({1: 1.0, 2: 1.95})


class Table:
    """Measures nothing; makes the programs as a measurement does."""

    def __init__(self, table):
        self.table = table
        self.measured = []

    def __call__(self, model, inputs, clock=None):
        self.measured.append([array.shape for array in inputs])
        for size in self.table.seconds:
            model.prepare([batch_table.mixed_rows(x, size) for x in inputs])
        return self.table
