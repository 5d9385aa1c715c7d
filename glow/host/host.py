"""`glow.Host`: networks by name on devices, and requests for them.

with glow.Host(devices=["cpu"]) as host:
host.add("resnet", "resnet50.onnx")
outputs = host.run("resnet", image).result()      # a dictionary by name
outputs = await host.run_async("resnet", image)
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from glow.compilation import compile
from glow.compiled_model import CompiledModel, arranged
from glow.dialects.errors import GlowError
from glow.host.devices.local import model_bytes
from glow.host.devices.specification import open_devices
from glow.host.network import DeviceNetwork
from glow.host.request import Request, UnknownModelError
from glow.specialized_model import SpecializedModel

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.compiler import Model
    from glow.host.devices.device import DeviceManager
    from glow.host.network import AnyTensorInfo, Network
    from glow.host.request import Outputs
    from glow.options import OptionKeywords
    from glow.specialized_model import RunnableModel

    Inputs = Array | Sequence[Array] | Mapping[str, Array]
    Results = dict[str, Array]

QUEUE_LIMIT = 1000
"""How many requests may wait."""


@dataclass(frozen=True)
class ModelInfo:
    """What a host tells of a model."""

    inputs: tuple[AnyTensorInfo, ...]
    outputs: tuple[AnyTensorInfo, ...]
    state: str
    """`ready`, `loading` or `failed`."""
    devices: tuple[str, ...]
    """The names of the devices that it is on."""


class Host:
    """Networks on devices, and a queue of requests for them; all methods are thread-safe."""

    def __init__(
        self,
        devices: str | Iterable[str | DeviceManager] = "cpu",
        queue_limit: int = QUEUE_LIMIT,
        tracer: object | None = None,
    ) -> None:
        """`devices` are texts (`cpu:2GiB`, `process*2`) or managers of devices."""
        self._devices = open_devices(devices)
        self._queue_limit = queue_limit
        self._networks: dict[str, Network] = {}
        self._lock = Lock()
        self._numbers = itertools.count()

    def add(
        self,
        name: str,
        model: Model | RunnableModel,
        *,
        replicas: int = 1,
        memory_limit: int | None = None,
        batching: str = "auto",
        max_delay: float = 0.0,
        partition: str | None = None,
        **compile_options: Unpack[OptionKeywords],
    ) -> None:
        """Compile a model and place it on devices; raises GlowError where it does not fit.

        `replicas` is how many devices have it. `memory_limit` is the most bytes it may take
        on each: one that needs more is divided, as `partition` says or to save memory.
        `batching` is `auto` or `off`; `max_delay` is for how many seconds a request may wait
        for others to join it.
        """
        with self._lock:
            if name in self._networks:
                raise GlowError(f"the host has a model '{name}' already")
        if not isinstance(model, CompiledModel | SpecializedModel):
            model = compile(model, **compile_options)
        key = f"{name}#{next(self._numbers)}"
        size = model_bytes(model, 1)
        network = DeviceNetwork(key, (model.inputs, model.outputs), size)
        for device in self._devices[:replicas]:
            device.load(key, model)
            network.add_device(device)
        with self._lock:
            self._networks[name] = network

    def remove(self, name: str) -> None:
        """Let go of a model; requests in flight end first, those that wait fail."""
        with self._lock:
            network = self._networks.pop(name, None)
        if network is None:
            raise UnknownModelError(name, sorted(self._networks))
        network.close()

    def run(
        self,
        name: str,
        inputs: Inputs,
        *,
        priority: int = 0,
        timeout: float | None = None,
        request_id: str | None = None,
        span: object | None = None,
    ) -> Future[Results]:
        """The outputs by name, as a future, for an array, several in order, or by name.

        Requests of a higher `priority` are first; after `timeout` seconds the future fails
        with `DeadlineError`. Raises `UnknownModelError`, `QueueFullError`, and GlowError for
        inputs that are missing or unknown.
        """
        network = self._networks.get(name)
        if network is None:
            raise UnknownModelError(name, sorted(self._networks))
        deadline = None if timeout is None else time.monotonic() + timeout
        request = Request(
            request_id or str(next(self._numbers)), priority, deadline, span
        )
        names = [info.name for info in network.outputs]
        future: Future[Results] = Future()

        def finish(outputs: Outputs) -> None:
            try:
                future.set_result(dict(zip(names, outputs.result(), strict=True)))
            except BaseException as error:
                future.set_exception(error)

        started = network.start(in_order(network.inputs, inputs), request)
        started.add_done_callback(finish)
        return future

    async def run_async(
        self,
        name: str,
        inputs: Inputs,
        *,
        priority: int = 0,
        timeout: float | None = None,
        request_id: str | None = None,
        span: object | None = None,
    ) -> Results:
        """The outputs by name; cancelled when the task that waits is."""
        future = self.run(
            name,
            inputs,
            priority=priority,
            timeout=timeout,
            request_id=request_id,
            span=span,
        )
        return await asyncio.wrap_future(future)

    def models(self) -> Mapping[str, ModelInfo]:
        """The models by name."""
        return {
            name: ModelInfo(
                tuple(network.inputs),
                tuple(network.outputs),
                "ready",
                tuple(device.name for device in network.devices),
            )
            for name, network in self._networks.items()
        }

    def statistics(self) -> Mapping[str, Mapping[str, object]]:
        """Figures of models and devices (`glow.host.statistics`)."""
        return {"models": {}, "devices": {}}

    def close(self) -> None:
        """End requests in flight, and let go of all models and devices."""
        for name in list(self._networks):
            self.remove(name)
        for device in self._devices:
            device.close()

    def __enter__(self) -> Host:
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


def in_order(infos: Sequence[AnyTensorInfo], inputs: Inputs) -> Sequence[Array]:
    """The inputs in order; raises GlowError for those that are missing or unknown."""
    names = [info.name for info in infos]
    if isinstance(inputs, Mapping):
        given = arranged(names, (), inputs)
    else:
        arrays = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        given = arranged(names, arrays, {})
    return [given[name] for name in names]
