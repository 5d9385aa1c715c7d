"""Compiles models for the backends of devices, and finds devices that have room for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from glow.backends.backend import DEFAULT_BACKEND
from glow.compiled_model import CompiledModel
from glow.dialects.errors import GlowError
from glow.host.devices.device import Health
from glow.host.network import DeviceNetwork
from glow.host.parts.device_queue import DeviceQueues
from glow.host.request import DeviceMemoryError, NoRoomError
from glow.specialized_model import SpecializedModel

if TYPE_CHECKING:
    from glow.host.devices.device import DeviceManager
    from glow.host.executor import PartitionedNetwork
    from glow.host.partition_plan import Part, PartitionPlan
    from glow.options import CompileOptions
    from glow.passes.graph.partition.devices import PartitionDevice
    from glow.specialized_model import RunnableModel

ModelFor = Callable[[str], "RunnableModel"]
"""The model compiled for a backend, by its name; compiled when it is asked for first."""


class Provisioner:
    """Places models on the devices of a host."""

    def __init__(self, devices: Sequence[DeviceManager]) -> None:
        self.devices = devices
        self.queues = DeviceQueues()
        """Of the parts of networks."""
        self.has_kernels = False
        """Whether models are compiled to tell a trace of their kernels."""

    def place(
        self, key: str, model_for: ModelFor, replicas: int, backend: str | None = None
    ) -> DeviceNetwork:
        """A network on `replicas` devices, only those of one backend where it is given.

        Of devices that have room, first those of the backend that is listed first, of these
        those whose networks take least. Raises GlowError, which tells of each device what
        is needed and what is there, where too few have room: then none has it.
        """
        candidates = list(self._candidates(backend))
        check_replicas(key, replicas, len(candidates), backend)
        loaded = load(key, model_for, candidates, replicas)
        first = loaded[0][1]
        network = DeviceNetwork(key, first.inputs, first.outputs)
        for device, model in loaded:
            network.add(device, model)
        return network

    def place_parts(
        self, key: str, plan: PartitionPlan, options: CompileOptions
    ) -> PartitionedNetwork:
        """The network of a plan, its parts compiled and loaded on their devices.

        `options` are those of the whole. Raises GlowError as `compile` does, and where a part
        does not fit: then none is loaded.
        """
        from glow.host.executor import PartitionedNetwork
        from glow.host.parts.placed_part import PlacedPart

        by_name = {device.name: device for device in self.devices}
        check_devices(plan, by_name)
        placed: list[PlacedPart] = []
        try:
            for part in plan.parts:
                compiled = cache(partial(self._compile_part, part, options))
                own = f"{key}/{part.name}"
                placed.append(
                    PlacedPart(part.name, own, part.takes, part.gives, compiled)
                )
                for name in (part.device, *part.replicas):
                    placed[-1].load(by_name[name])
        except BaseException:
            for part in placed:
                part.unload()
            raise
        backends = list(dict.fromkeys(device.backend for device in self.devices))
        return PartitionedNetwork(key, plan.signature, placed, self.queues, backends)

    def _compile_part(
        self, part: Part, options: CompileOptions, backend: str
    ) -> RunnableModel:
        """A part of a model for a backend; raises GlowError as `compile` does."""
        from glow.compiler import compile_model
        from glow.host.partition_plan import part_options

        chosen = replace(part_options(options, part), backend=backend)
        timed = None
        if self.has_kernels:
            from glow.host.kernel_traces import compile_timed

            timed = compile_timed(part.module, chosen)
        return timed or compile_model(part.module, chosen)

    def partition_devices(self, limit: int | None) -> list[PartitionDevice]:
        """The devices that are alive, as those that a network is divided between.

        `limit` is the most bytes that it may take on each of them.
        """
        from glow.passes.graph.partition.devices import PartitionDevice

        devices: list[PartitionDevice] = []
        for device in self.devices:
            if device.health() is not Health.DEAD:
                free = device.memory().free_bytes
                room = min(
                    (one for one in (free, limit) if one is not None), default=None
                )
                devices.append(PartitionDevice(device.name, device.backend, room))
        return devices

    def first_backend(self, backend: str | None) -> str:
        """The backend of the device that is the first choice, if there is any."""
        candidates = [device.backend for device in self._candidates(backend)]
        return candidates[0] if candidates else backend or DEFAULT_BACKEND

    def place_again(
        self, key: str, model: RunnableModel, besides: Sequence[DeviceManager]
    ) -> DeviceManager:
        """Load a model on another device of its backend; GlowError where none has room."""
        refusals: list[GlowError] = []
        for device in self._candidates(backend_of(model)):
            if device in besides:
                continue
            try:
                device.load(key, model)
                return device
            except GlowError as error:
                refusals.append(error)
        raise no_room(key, 1, 0, refusals)

    def _candidates(self, backend: str | None) -> Iterable[DeviceManager]:
        """Devices that take networks, the first choice first."""
        ready = [one for one in self.devices if one.health() is not Health.DEAD]
        backends = list(dict.fromkeys(device.backend for device in self.devices))

        def order(device: DeviceManager) -> tuple[int, int]:
            return backends.index(device.backend), device.memory().used_bytes

        known = [device for device in ready if backend in (None, device.backend)]
        return sorted(known, key=order)


def check_replicas(key: str, replicas: int, there: int, backend: str | None) -> None:
    """Raise GlowError where there are not so many devices of a backend."""
    if not 1 <= replicas <= there:
        of = f" of backend '{backend}'" if backend else ""
        devices = f"{there} device{'s' * (there != 1)}{of}"
        raise GlowError(f"'{key}' cannot have {replicas} replicas on {devices}")


def check_devices(plan: PartitionPlan, known: Iterable[str]) -> None:
    """Raise GlowError for a part on a device that a host does not have."""
    for part in plan.parts:
        for name in (part.device, *part.replicas):
            if name not in known:
                raise GlowError(
                    f"@{part.name} is for device '{name}', which the host does not have",
                    hint=f"it has {', '.join(known)}",
                )


def load(
    key: str, model_for: ModelFor, devices: Iterable[DeviceManager], replicas: int
) -> list[tuple[DeviceManager, RunnableModel]]:
    """Loads a model on the first of these devices that have room, so many of them.

    Raises GlowError where too few have; then none has it.
    """
    loaded: list[tuple[DeviceManager, RunnableModel]] = []
    refusals: list[GlowError] = []
    try:
        for device in devices:
            model = model_for(device.backend)
            try:
                device.load(key, model)
                loaded.append((device, model))
            except DeviceMemoryError as error:
                refusals.append(error)
            if len(loaded) == replicas:
                return loaded
        raise no_room(key, replicas, len(loaded), refusals)
    except BaseException:
        for device, _ in loaded:
            device.unload(key)
        raise


def no_room(
    key: str, replicas: int, placed: int, refusals: Sequence[GlowError]
) -> NoRoomError:
    """The error of a model for which there is no room."""
    first = refusals[0] if refusals else None
    if replicas == len(refusals) == 1 and isinstance(first, NoRoomError):
        return first
    wanted = "" if replicas == 1 else f" {replicas} times, only {placed} times"
    reasons = ", ".join(
        f"{error.needed} bytes needed and {error.available} free on '{error.device}'"
        if isinstance(error, DeviceMemoryError)
        else error.message
        for error in refusals
    )
    text = f"'{key}' does not fit on the devices{wanted}: "
    return NoRoomError(text + (reasons or "there is no other device"))


def backend_of(model: RunnableModel) -> str:
    """The backend that a model was compiled with."""
    if isinstance(model, CompiledModel):
        return model.backend or DEFAULT_BACKEND
    assert isinstance(model, SpecializedModel)
    options = getattr(model.specializer, "options", None)
    return getattr(options, "backend", DEFAULT_BACKEND)
