"""A backend in this process: threads that take requests, one a slot.

A request has one core while others run, and all of them when it is alone: several side by
side get more done than one after the other on all cores, since nobody waits at barriers.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.devices.device import DeviceManager, DeviceMemory, Health
from glow.host.request import ClosedError, DeviceMemoryError
from glow.runtime.memory import memory_bytes
from glow.runtime.threads.cores import available_cores

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.specification import DeviceSpecification
    from glow.host.request import Outputs, Request
    from glow.specialized_model import RunnableModel


class Task:
    """A request that waits for a thread of the device."""

    __slots__ = ("future", "inputs", "model", "request")

    def __init__(
        self, model: RunnableModel, inputs: Sequence[Array], request: Request
    ) -> None:
        self.model = model
        self.inputs = inputs
        self.request = request
        self.future: Outputs = Future()


class LocalDevice(DeviceManager):
    """A backend in this process."""

    def __init__(self, name: str, specification: DeviceSpecification) -> None:
        slots = len(specification.cores) or available_cores()
        super().__init__(name, specification.backend, slots)
        self._limit = specification.memory_bytes or memory_bytes()
        self._models: dict[str, RunnableModel] = {}
        self._sizes: dict[str, int] = {}
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._lock = Lock()
        self._threads: list[threading.Thread] = []
        self._health = Health.READY

    def load(self, key: str, model: RunnableModel) -> None:
        """Take a network; raises DeviceMemoryError where it does not fit."""
        needed = model_bytes(model, self.slots)
        with self._lock:
            free = self.memory().free_bytes
            if free is not None and needed > free:
                raise DeviceMemoryError(self.name, f"'{key}'", needed, free)
            self._models[key] = model
            self._sizes[key] = needed
            while len(self._threads) < self.slots:
                thread = threading.Thread(
                    target=self._work, name=f"glow-{self.name}", daemon=True
                )
                thread.start()
                self._threads.append(thread)

    def run(self, key: str, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; never blocks."""
        model = self._models.get(key)
        if model is None:
            raise ClosedError(f"device '{self.name}' has no network '{key}'")
        task = Task(model, inputs, request)
        self._tasks.put(task)
        return task.future

    def unload(self, key: str) -> None:
        """Let go of a network; requests that have begun keep it until they end."""
        with self._lock:
            self._models.pop(key, None)
            self._sizes.pop(key, None)

    def memory(self) -> DeviceMemory:
        """What its networks take."""
        return DeviceMemory(sum(self._sizes.values()), self._limit)

    def health(self) -> Health:
        """Ready until it is closed."""
        return self._health

    def close(self) -> None:
        """End the requests in flight, and the threads."""
        self._health = Health.DEAD
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._models.clear()
        self._sizes.clear()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._run(task)

    def _run(self, task: Task) -> None:
        """Run a task, unless nobody wants it any more."""
        if task.request.cancelled():
            task.future.cancel()
        if not task.future.set_running_or_notify_cancel():
            return
        try:
            outputs = run_model(task.model, task.inputs)
        except BaseException as error:
            task.future.set_exception(error)
        else:
            task.future.set_result(outputs)


def run_model(model: RunnableModel, inputs: Sequence[Array]) -> list[Array]:
    """The outputs in order; raises GlowError for wrong inputs."""
    results = model(*inputs)
    return list(results) if isinstance(results, tuple) else [results]


def model_bytes(model: RunnableModel, calls: int) -> int:
    """The bytes that a model takes while so many calls of it run at a time."""
    if not isinstance(model, CompiledModel):
        return 0  # Its programs come with its calls.
    program = getattr(model.function, "program", None)
    if program is None:
        return 0
    try:
        per_call = program.mutables_size + program.activations_size
        return int(program.constants.nbytes + calls * per_call)
    except AttributeError as error:
        raise GlowError(f"the size of {model!r} is unknown") from error
