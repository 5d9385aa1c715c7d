"""A backend in this process: threads that take requests, one a slot.

A request has one core while others run, and all of them when it is alone: several side by
side get more done than one after the other on all cores, since nobody waits at barriers.

Three things keep small networks from waiting for threads, which takes 20 to 50 us:
- what is done sooner than a thread is awake runs in the thread that asks for it;
- whoever waits for a task that no thread has begun runs it (`Task.help`);
- what must be compiled first is, by a thread of low priority, and takes no slot meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from math import inf
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING

from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.devices.compile_process import compile_apart
from glow.host.devices.device import DeviceManager, DeviceMemory, Health
from glow.host.devices.memory import model_memory
from glow.host.request import ClosedError, DeviceMemoryError, begins
from glow.host.tracing import current_span
from glow.runtime.memory import memory_bytes
from glow.runtime.threads.cores import available_cores
from glow.runtime.threads.priority import LOW_PRIORITY

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.specification import DeviceSpecification
    from glow.host.request import Outputs, Request
    from glow.specialized_model import RunnableModel

QUICK_SECONDS = 50e-6
"""A network that takes less is done sooner than another thread is awake."""

RISE = 1.1
"""By how much a slow call raises what the next is expected to take: it may have waited for a core
or for Python's lock, as it does where other threads are busy, so one alone says little."""

MOST_SHAPES = 256
"""Of inputs, whose times are known."""


class LoadedNetwork:
    """A network of a device."""

    def __init__(self, model: RunnableModel) -> None:
        self.model = model
        self._seconds: dict[tuple[tuple[int, ...], ...], float] = {}
        """What calls take, by the shapes of inputs where these are open."""

    def run(
        self, inputs: Sequence[Array], threads: int | None, memory: Sequence[Array]
    ) -> list[Array]:
        """The outputs in order, in `memory` where that is given and of use."""
        if isinstance(self.model, CompiledModel):
            return self.model.run_in_order(inputs, threads, memory)
        return self.model.run_in_order(inputs, threads)

    def note(self, inputs: Sequence[Array], seconds: float) -> None:
        """Note what a call took."""
        key = self._key(inputs)
        if len(self._seconds) >= MOST_SHAPES:
            self._seconds.clear()
        self._seconds[key] = min(seconds, RISE * self._seconds.get(key, inf))

    def seconds(self, inputs: Sequence[Array]) -> float:
        """What a call is expected to take; infinity where nothing is known."""
        return self._seconds.get(self._key(inputs), inf)

    def _key(self, inputs: Sequence[Array]) -> tuple[tuple[int, ...], ...]:
        if isinstance(self.model, CompiledModel):
            return ()
        return tuple([array.shape for array in inputs])

    def is_ready(self, inputs: Sequence[Array]) -> bool:
        """Whether it runs without a compiler."""
        if isinstance(self.model, CompiledModel):
            return True
        return self.model.is_ready([array.shape for array in inputs])


class Task(Future["list[Array]"]):
    """The outputs of a request, and what runs it."""

    def __init__(
        self,
        device: LocalDevice,
        network: LoadedNetwork,
        inputs: Sequence[Array],
        request: Request,
        memory: Sequence[Array],
    ) -> None:
        """`memory` are arrays for the outputs, or none."""
        super().__init__()
        self._device = device
        self._unclaimed = [True]
        self.is_cold = False
        """Whether its program has to be compiled first."""
        self.network = network
        self.inputs = inputs
        self.request = request
        self.memory = memory
        self.span = current_span() if device.tracer.is_on else None

    def claim(self) -> bool:
        """Whether the caller is the one who runs it."""
        try:
            return self._unclaimed.pop()
        except IndexError:
            return False

    def help(self) -> None:
        """Run it in this thread, if no other has begun."""
        if self._unclaimed and not self.is_cold:
            self._device.help(self)


class LocalDevice(DeviceManager):
    """A backend in this process."""

    is_here = True

    def __init__(self, name: str, specification: DeviceSpecification) -> None:
        """Threads are pinned where the specification has cores; raises GlowError for others."""
        self._cores = specification.cores
        check_cores(self._cores)
        slots = len(self._cores) or available_cores()
        super().__init__(name, specification.backend, slots)
        self._limit = specification.memory_bytes or memory_bytes()
        self._networks: dict[str, LoadedNetwork] = {}
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._cold: SimpleQueue[Task | None] = SimpleQueue()
        """Tasks whose programs have to be compiled first."""
        self._lock = Lock()
        self._threads: list[threading.Thread] = []
        self._compiler: threading.Thread | None = None
        self._health = Health.READY
        self._here = threading.local()
        """Whether this thread runs a task: what comes up meanwhile is for others."""

    def load(self, key: str, model: RunnableModel) -> None:
        """Take a network; raises DeviceMemoryError where it does not fit."""
        needed = model_memory(model, self.slots)
        with self._lock:
            if self._health is Health.DEAD:
                raise ClosedError(f"device '{self.name}' is closed")
            self.check_room(key, needed)
            self._networks[key] = LoadedNetwork(model)
            while len(self._threads) < self.slots:
                number = len(self._threads)
                self._threads.append(self.start_thread(self._work, number))

    def run(self, key: str, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; blocks no longer than waking a thread takes."""
        return self.run_into(key, inputs, request, ())

    def run_into(
        self,
        key: str,
        inputs: Sequence[Array],
        request: Request,
        outputs: Sequence[Array],
    ) -> Outputs:
        """`run`, of large outputs into memory that is given."""
        network = self._networks.get(key)
        if network is None:
            raise ClosedError(f"device '{self.name}' has no network '{key}'")
        task = Task(self, network, inputs, request, outputs)
        if not network.is_ready(inputs) and not request.is_cancelled:
            self._compile_later(task)
        elif self._is_quick(network, inputs):
            self._run_here(task)
        else:
            self._tasks.put(task)
        return task

    def help(self, task: Task) -> None:
        """Run a task in this thread, which waits for it, unless only others are pinned."""
        if self._is_busy() or not self._cores:
            self._run_here(task)

    def _run_here(self, task: Task) -> None:
        was_busy, self._here.is_busy = self._is_busy(), True
        try:
            self._run(task)
        finally:
            self._here.is_busy = was_busy

    def unload(self, key: str) -> None:
        """Let go of a network; requests that have begun keep it until they end."""
        with self._lock:
            self._networks.pop(key, None)

    def memory(self) -> DeviceMemory:
        """What its networks take."""
        networks = list(self._networks.values())
        used = sum(model_memory(each.model, self.slots) for each in networks)
        return DeviceMemory(used, self._limit)

    def health(self) -> Health:
        """Ready until it is closed."""
        return self._health

    def close(self) -> None:
        """End the requests in flight, and the threads."""
        with self._lock:
            self._health = Health.DEAD
            compiler, threads = self._compiler, list(self._threads)
        if compiler is not None:
            self._cold.put(None)
            _join(compiler)
        for _ in threads:
            self._tasks.put(None)
        for thread in threads:
            _join(thread)
        self._networks.clear()

    def _is_quick(self, network: LoadedNetwork, inputs: Sequence[Array]) -> bool:
        """Whether a network runs in the thread that asks, rather than in one that wakes."""
        if self._cores or self._is_busy():
            return False
        return network.seconds(inputs) < QUICK_SECONDS

    def _is_busy(self) -> bool:
        return getattr(self._here, "is_busy", False)

    def _work(self, number: int) -> None:
        if self._cores:
            os.sched_setaffinity(0, {self._cores[number]})
        self._here.is_busy = True
        while (task := self._tasks.get()) is not None:
            self._run(task)
            del task

    def _run(self, task: Task) -> None:
        """Run a task, unless another thread does or nobody wants it any more."""
        if not task.claim() or not begins(task, task.request):
            return
        threads = 1 if self._cores or self.outstanding > 1 else None
        begin = time.perf_counter()
        try:
            if task.span is None:
                outputs = task.network.run(task.inputs, threads, task.memory)
            else:
                with task.span.around():
                    outputs = task.network.run(task.inputs, threads, task.memory)
        except BaseException as error:
            task.set_exception(error)
            return
        task.network.note(task.inputs, time.perf_counter() - begin)
        task.set_result(outputs)

    # What is compiled first

    def _compile_later(self, task: Task) -> None:
        with self._lock:
            if self._compiler is None:
                self._compiler = self.start_thread(self._compile)
        task.is_cold = True
        self.release()
        self._cold.put(task)
        self.changed()

    def _compile(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOW_PRIORITY)
        while (task := self._cold.get()) is not None:
            try:
                if not task.request.cancelled():
                    self._prepare(task)
            except BaseException as error:
                self.take()
                if task.set_running_or_notify_cancel():
                    task.set_exception(error)
            else:
                self.take()
                task.is_cold = False
                self._tasks.put(task)
            del task

    def _prepare(self, task: Task) -> None:
        """Compile the program of a task; raises DeviceMemoryError where it does not fit."""
        model = task.network.model
        assert not isinstance(model, CompiledModel)
        before = self.memory()
        shapes = [array.shape for array in task.inputs]
        compile_apart(model, shapes, lambda: self._health is not Health.DEAD)
        model.prepare(task.inputs)
        after = self.memory()
        if after.limit_bytes is not None and after.used_bytes > after.limit_bytes:
            model.forget([array.shape for array in task.inputs])
            needed = after.used_bytes - before.used_bytes
            sizes = [list(array.shape) for array in task.inputs]
            what = f"the network for inputs of {sizes}"
            raise DeviceMemoryError(self.name, what, needed, before.free_bytes or 0)


def _join(thread: threading.Thread) -> None:
    if thread is not threading.current_thread():
        thread.join()


def check_cores(cores: Sequence[int]) -> None:
    """Raise GlowError where threads cannot be pinned to these cores."""
    if not cores:
        return
    if not hasattr(os, "sched_setaffinity"):
        raise GlowError("this system does not pin threads to cores")
    there = os.sched_getaffinity(0)
    missing = [core for core in cores if core not in there]
    if missing:
        known = ", ".join(map(str, sorted(there)))
        raise GlowError(f"core {missing[0]} is not there", hint=f"there are {known}")
