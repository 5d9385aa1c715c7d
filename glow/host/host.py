"""`glow.Host`: networks by name on devices, and requests for them.

with glow.Host(devices=["cpu"]) as host:
host.add("resnet", "resnet50.onnx")
outputs = host.run("resnet", image).result()      # a dictionary by name
outputs = await host.run_async("resnet", image)
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from threading import Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from glow.dialects.errors import GlowError
from glow.host.adding import Adding, AddKeywords
from glow.host.background import Background
from glow.host.devices.device import Health
from glow.host.devices.opening import open_devices
from glow.host.inputs import in_order
from glow.host.provisioner import Provisioner
from glow.host.request import ClosedError, UnknownModelError, new_request
from glow.host.scheduler import Scheduler
from glow.host.served_model import FAILED, LOADING, READY
from glow.host.statistics import device_figures
from glow.host.ticket import Ticket
from glow.host.tracing import NO_TRACE
from glow.runtime.threads.switch_interval import frequent_switches

if TYPE_CHECKING:
    from glow.compiler import Model
    from glow.host.devices.device import DeviceManager
    from glow.host.inputs import Inputs
    from glow.host.request import RequestKeywords
    from glow.host.served_model import ModelInfo, ServedModel
    from glow.host.ticket import Results
    from glow.host.tracing import Tracer
    from glow.specialized_model import RunnableModel

QUEUE_LIMIT = 1000
"""How many requests may wait."""


class Host:
    """Networks on devices, and a queue of requests for them; all methods are thread-safe."""

    def __init__(
        self,
        devices: str | Iterable[str | DeviceManager] = "cpu",
        queue_limit: int = QUEUE_LIMIT,
        tracer: Tracer | None = None,
    ) -> None:
        """`devices` are texts (`cpu:2GiB`, `process*2`) or managers of devices."""
        self.tracer = tracer or NO_TRACE
        self.devices = open_devices(devices)
        self.provisioner = Provisioner(self.devices)
        are_here = all(device.is_here for device in self.devices)
        self.provisioner.has_kernels = self.tracer.kernels and are_here
        self._scheduler = Scheduler(queue_limit, self.tracer)
        self._background = Background()
        self._adding = Adding(self.provisioner, self._background)
        self._models: dict[str, ServedModel] = {}
        self._loading: set[str] = set()
        self._lock = Lock()
        self._leaving = Lock()
        """Held while models leave one device: the next that dies may be where they went."""
        self._numbers = itertools.count(1)
        self._is_closed = False
        for device in self.devices:
            device.on_change = self._device_changed
            device.tracer = self.tracer
        self._open = ExitStack()
        # A thread that comes back from native code starts the next request: a core is idle
        # while another thread does not give up Python's lock.
        self._open.enter_context(frequent_switches())

    def add(
        self, name: str, model: Model | RunnableModel, **options: Unpack[AddKeywords]
    ) -> None:
        """Compile a model and place it on devices; raises GlowError where it does not fit.

        `replicas` is how many devices have it, 1 by default. `memory_limit` is the most bytes
        it may take on each: one that needs more is divided, as `partition` says or to save
        memory. `batching` is `auto` or `off`; `max_delay` is for how many seconds a request
        may wait for others to join it, 0 by default. All other options are those of
        `glow.compile`.
        """
        with self._lock:
            if self._is_closed:
                raise ClosedError("the host is closed")
            if name in self._models or name in self._loading:
                raise GlowError(f"the host has a model '{name}' already")
            self._loading.add(name)
        try:
            served = self._adding.add(name, model, options)
            with self._lock:
                if not self._is_closed:
                    self._models[name] = served
                    return
            served.network.close()
            raise ClosedError("the host was closed meanwhile")
        finally:
            with self._lock:
                self._loading.discard(name)

    def remove(self, name: str) -> None:
        """Let go of a model; requests in flight end first, those that wait fail."""
        with self._lock:
            served = self._models.pop(name, None)
        if served is None:
            raise UnknownModelError(name, sorted(self._models))
        self._scheduler.remove(served)
        served.network.close()

    def run(self, name: str, inputs: Inputs, **how: Unpack[RequestKeywords]) -> Ticket:
        """The outputs by name, as a future, for an array, several in order, or by name.

        `RequestKeywords` tells of `priority`, `timeout`, `request_id` and `span`. Arrays must
        stay as they are until the future is done. Raises `UnknownModelError`,
        `QueueFullError`, and GlowError for inputs that are missing or unknown; what is wrong
        with their shapes and dtypes the future tells.
        """
        served = self._models.get(name)
        if served is None:
            raise UnknownModelError(name, sorted(self._models))
        request = new_request(next(self._numbers), **how)
        arrays = in_order(served.input_names, inputs)
        ticket = Ticket(served, arrays, request, self._scheduler.cancel)
        if self.tracer.is_on:
            around = self.tracer.span("host", name, request.id, request.span)
            request.span = around.context
            ticket.add_done_callback(lambda done: around.end())
        self._scheduler.submit(ticket)
        return ticket

    async def run_async(
        self, name: str, inputs: Inputs, **how: Unpack[RequestKeywords]
    ) -> Results:
        """The outputs by name, as `run`; the request is cancelled if the caller's task is."""
        ticket = self.run(name, inputs, **how)
        if not ticket.done():
            loop = asyncio.get_running_loop()
            done = loop.create_future()
            ticket.add_done_callback(partial(_wake, loop, done))
            try:
                await done
            except asyncio.CancelledError:
                ticket.abandon()
                raise
        return ticket.result()

    def models(self) -> Mapping[str, ModelInfo]:
        """The models by name."""
        with self._lock:
            return {name: served.info() for name, served in self._models.items()}

    def statistics(self) -> Mapping[str, Mapping[str, object]]:
        """Figures of models, devices and the queue (`glow.host.statistics`)."""
        with self._lock:
            models = dict(self._models)
        devices = {device.name: device_figures(device) for device in self.devices}
        scheduler = self._scheduler
        with scheduler.lock:
            queue = {"waiting": scheduler.queue.size, "limit": scheduler.queue.limit}
            waiting = {name: scheduler.queue.waiting(m) for name, m in models.items()}
            figures = {name: m.statistics.as_mapping() for name, m in models.items()}
        for name, served in models.items():
            figures[name] |= {
                "waiting": waiting[name],
                "memory_bytes": served.network.memory_bytes,
                "devices": [device.name for device in served.network.devices],
                "batching": served.batching.figures(),
            }
        return {"models": figures, "devices": devices, "queue": queue}

    def close(self) -> None:
        """End requests in flight, and let go of all models and devices."""
        with self._lock:
            self._is_closed = True
        for name in list(self._models):
            with suppress(UnknownModelError):  # Which somebody removes meanwhile.
                self.remove(name)
        self._background.close()
        self._scheduler.deadlines.close()
        for device in self.devices:
            device.on_change = None
            device.close()
        self._open.close()

    def __enter__(self) -> Self:
        """The host itself, which is closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _device_changed(self, device: DeviceManager) -> None:
        """Start what can be started, elsewhere where a device died."""
        if device.health() is Health.DEAD and not self._is_closed:
            name = f"glow-leave-{device.name}"
            Thread(target=self._leave, args=(device,), name=name, daemon=True).start()
        self._scheduler.dispatch()

    def _leave(self, device: DeviceManager) -> None:
        """Move the models of a device that died to others."""
        with self._leaving:
            with self._lock:
                models = list(self._models.values())
            for served in models:
                if device in served.network.devices and served.state == READY:
                    self._move(served, device)

    def _move(self, served: ServedModel, device: DeviceManager) -> None:
        served.lost_device = device.name
        served.state = LOADING
        try:
            served.network.leave(device, self.provisioner.place_again)
            served.state = READY
        except GlowError:
            served.state = FAILED
            self._scheduler.lose(served)
        self._scheduler.dispatch()


def _wake(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[None], ticket: object
) -> None:
    """Tell a loop that a ticket is done; the loop may be closed by now."""
    try:
        loop.call_soon_threadsafe(_set_done, done)
    except RuntimeError:
        return


def _set_done(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
