"""Runs divided networks: each part on its device, as soon as its operands are there.

    caller   inputs ──> [part0 cpu:0] ──> [part1 cpu:1] ──> outputs      request 1
                            inputs ──> [part0 cpu:0] ──> [part1 cpu:1]   request 2, meanwhile

A request is one object (`Run`), which the callbacks of devices move on: no thread waits for
it. A part that is ready waits in the queue of its device (`parts/device_queue.py`). So requests
follow each other through the devices as through a pipeline; `limit` bounds how many are in
flight. A value is let go of when the last part that reads it has begun, and its memory serves
later requests (`glow/runtime/array_pool.py`); parts on one device, and devices of one process,
hand over arrays as they are. Section 6 of the paper calls this the Executor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from glow.dialects.errors import GlowError
from glow.host.devices.device import Health
from glow.host.devices.memory import model_memory
from glow.host.parts.partitioned_run import Run
from glow.host.parts.placed_part import Wiring
from glow.host.request import ClosedError
from glow.runtime.array_pool import ArrayPool
from glow.runtime.buffers import IN_PLACE_BYTES

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.device import DeviceManager
    from glow.host.network import AnyTensorInfo, PlaceAgain, Start
    from glow.host.parts.device_queue import DeviceQueue, DeviceQueues
    from glow.host.parts.partitioned_run import PartStep
    from glow.host.parts.placed_part import PlacedPart
    from glow.host.request import Outputs, Request
    from glow.tensor_info import Signature


class PartitionedNetwork:
    """A network in parts, a `glow.host.network.Network`."""

    def __init__(
        self,
        key: str,
        signature: Signature,
        parts: Sequence[PlacedPart],
        queues: DeviceQueues,
        backends: Sequence[str] = (),
    ) -> None:
        """Parts are placed already; `backends` may have them when devices have died."""
        self.key = key
        self.signature = signature
        self.parts = parts
        self.wiring = Wiring(parts, [info.name for info in signature.outputs])
        self._queues = queues
        self._backends = backends
        self._in_flight = 0
        self._lock = Lock()
        self._homeless: list[PartStep] = []
        """What waits for a part that is on no device at the moment."""
        self._lost = ""
        """The device that died with a part for which no other has room."""
        self.limit = self._bound()
        self._pool = ArrayPool(2 * self.limit)
        self._memory = [given_memory(part, self.wiring.outputs) for part in parts]

    @property
    def inputs(self) -> Sequence[AnyTensorInfo]:
        """The inputs in order."""
        return self.signature.inputs

    @property
    def outputs(self) -> Sequence[AnyTensorInfo]:
        """The outputs in order."""
        return self.signature.outputs

    @property
    def devices(self) -> Sequence[DeviceManager]:
        """The devices that parts are on."""
        devices = (each.device for part in self.parts for each in part.replicas)
        return list(dict.fromkeys(devices))

    @property
    def memory_bytes(self) -> int:
        """What it takes on all its devices together."""
        placed = [each for part in self.parts for each in part.replicas]
        models = sum(model_memory(one.model, one.device.slots) for one in placed)
        return models + self._pool.memory_bytes

    # Requests

    def reserve(self) -> Start | None:
        """Let one more request in; None while as many are in flight as keep devices busy."""
        with self._lock:
            if self._in_flight >= self.limit or self._lost:
                return None
            self._in_flight += 1
        return self._begin

    def start(self, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; starts at once, however many are in flight."""
        with self._lock:
            self._in_flight += 1
        return self._begin(inputs, request)

    def _begin(self, inputs: Sequence[Array], request: Request) -> Outputs:
        run = Run(self, self._queues.next_number(), inputs, request)
        run.begin()
        return run

    def end_run(self) -> None:
        """Note that a request is in flight no more."""
        with self._lock:
            self._in_flight -= 1

    def submit(self, steps: Iterable[PartStep]) -> None:
        """Have steps run, each on the device of its part that has most room."""
        queues = [self._push(step) for step in steps]
        for queue in queues:
            if queue is not None:
                queue.dispatch()

    def _push(self, step: PartStep) -> DeviceQueue | None:
        """The queue that a step now waits in; None while its part is on no device."""
        with self._lock:
            ready = [
                each
                for each in step.part.replicas
                if each.device.health() is not Health.DEAD
            ] or step.part.replicas
            if ready:
                queues = [self._queues.of(each.device) for each in ready]
                queue = min(queues, key=lambda queue: queue.load())
                queue.push(step)
                return queue
            lost = self._lost
            if not lost:
                self._homeless.append(step)
        if lost:
            step.state.fail(step.part.lost(lost))
        return None

    def memory_for(self, part: PlacedPart) -> Sequence[Array]:
        """Memory for what a part gives, used before where it only goes to other parts.

        Nothing for a part with open sizes, and where an allocation costs nothing.
        """
        return [
            np.empty(shape, dtype) if is_result else self._pool.take(shape, dtype)
            for is_result, shape, dtype in self._memory[part.number]
        ]

    # Devices

    def leave(self, device: DeviceManager, place: PlaceAgain) -> None:
        """Bring the parts of a dead device to others; what waits for them goes on there.

        A part is compiled again where only devices of another backend have room. Raises
        GlowError where none has: then all that needs the part fails.
        """
        with self._lock:
            gone = [part for part in self.parts if part.remove(device)]
        failures = [one for part in gone if (one := self._place(part, device, place))]
        with self._lock:
            self._lost = device.name if failures else self._lost
            self.limit = self._bound()
            steps = [*self._homeless, *self._queues.of(device).take(self)]
            self._homeless.clear()
        self.submit(steps)
        if failures:
            raise failures[0]

    def _place(
        self, part: PlacedPart, device: DeviceManager, place: PlaceAgain
    ) -> GlowError | None:
        """Bring a part to another device; why that cannot be, where none has it then."""
        backends = dict.fromkeys([device.backend, *self._backends])
        besides = [each.device for each in part.replicas]
        try:
            found = part.place_again(backends, besides, place)
        except GlowError as error:
            return None if part.replicas else error
        with self._lock:
            part.replicas = (*part.replicas, found)
        return None

    def close(self) -> None:
        """Leave all devices; what is still in flight and has begun on a device ends there."""
        error = ClosedError(f"'{self.key}' was removed")
        with self._lock:
            left = [*self._homeless]
            self._homeless.clear()
        for device in self.devices:
            left += self._queues.of(device).take(self)
        for step in left:
            step.state.fail(error)
        for part in self.parts:
            part.unload()

    def _bound(self) -> int:
        """How many requests keep all devices busy: one in each slot, one more at each device."""
        return sum(device.slots + 1 for device in self.devices) or 1


def given_memory(
    part: PlacedPart, outputs: Sequence[str]
) -> Sequence[tuple[bool, tuple[int, ...], np.dtype[np.generic]]]:
    """Of each value that a part gives: whether it is a result, its shape and dtype."""
    found: list[tuple[bool, tuple[int, ...], np.dtype[np.generic]]] = []
    nbytes = 0
    infos = part.replicas[0].model.outputs
    for name, info in zip(part.gives, infos, strict=True):
        shape = tuple(size for size in info.shape or () if isinstance(size, int))
        if info.shape is None or len(shape) < len(info.shape):
            return ()
        found.append((name in outputs, shape, info.dtype))
        nbytes += prod(shape) * info.dtype.itemsize
    return found if nbytes >= IN_PLACE_BYTES else ()
