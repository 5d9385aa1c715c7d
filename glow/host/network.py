"""A loaded model as the host sees it: something that takes requests while slots are free.

`DeviceNetwork` is a whole model on one device, or on several (replicas);
`PartitionedNetwork` (`executor.py`) runs its parts on several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias

from glow.dialects.errors import GlowError
from glow.host.devices.device import Health
from glow.host.devices.memory import model_memory
from glow.host.request import DeviceError

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.device import DeviceManager
    from glow.host.request import Outputs, Request
    from glow.open_sizes import OpenTensorInfo
    from glow.specialized_model import RunnableModel
    from glow.tensor_info import TensorInfo

    AnyTensorInfo: TypeAlias = TensorInfo | OpenTensorInfo

Start = Callable[["Sequence[Array]", "Request"], "Outputs"]
"""Starts a request in the slot that was reserved for it."""

PlaceAgain = Callable[
    [str, "RunnableModel", "Sequence[DeviceManager]"], "DeviceManager"
]
"""Loads a model under a key on a device other than these, which compiled for its backend;
raises GlowError where nothing has room."""


class Network(Protocol):
    """A model that is loaded; all methods are thread-safe."""

    @property
    def inputs(self) -> Sequence[AnyTensorInfo]:
        """The inputs in order."""
        ...

    @property
    def outputs(self) -> Sequence[AnyTensorInfo]:
        """The outputs in order."""
        ...

    @property
    def memory_bytes(self) -> int:
        """What it takes on all its devices together."""
        ...

    @property
    def devices(self) -> Sequence[DeviceManager]:
        """The devices that it is on."""
        ...

    def reserve(self) -> Start | None:
        """Take a slot for one request, or a batch; None while all are taken.

        What is returned starts the request and must be called once: the slot is free again
        when the future of that call is done.
        """
        ...

    def start(self, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; starts at once, whether a slot is free or not."""
        ...

    def leave(self, device: DeviceManager, place: PlaceAgain) -> None:
        """Go elsewhere from a device that is dead; GlowError where nothing has room.

        What was running there has failed with DeviceError.
        """
        ...

    def close(self) -> None:
        """Leave the devices; requests in flight end first."""
        ...


class DeviceNetwork:
    """A model on one device or more, each of which has all of it.

    A request goes to the device with the fewest outstanding ones, of these to the one that
    was used least recently.
    """

    def __init__(
        self,
        key: str,
        inputs: Sequence[AnyTensorInfo],
        outputs: Sequence[AnyTensorInfo],
    ) -> None:
        """`key` is what devices know it by."""
        self.key = key
        self.inputs = inputs
        self.outputs = outputs
        self._replicas: tuple[Replica, ...] = ()
        self._lock = Lock()

    @property
    def devices(self) -> Sequence[DeviceManager]:
        """The devices that it is on."""
        return [replica.device for replica in self._replicas]

    @property
    def memory_bytes(self) -> int:
        """What it takes on all its devices together."""
        return sum(
            model_memory(replica.model, replica.device.slots)
            for replica in self._replicas
        )

    def add(self, device: DeviceManager, model: RunnableModel) -> None:
        """Note a device that has loaded the model."""
        replica = Replica(device, self.key, model)
        with self._lock:
            self._replicas = (*self._replicas, replica)

    def reserve(self) -> Start | None:
        """Take a slot of the device with most room."""
        replicas = self._replicas
        if len(replicas) > 1:
            replicas = sorted(replicas, key=Replica.load)
        for replica in replicas:
            if replica.device.reserve():
                return replica.start
        return None

    def start(self, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; raises DeviceError where no device is left."""
        ready = [one for one in self._replicas if one.device.health() is Health.READY]
        if not ready:
            raise DeviceError("none", f"nothing that is ready has '{self.key}'")
        replica = min(ready, key=Replica.load)
        return replica.device.submit(self.key, inputs, request)

    def leave(self, device: DeviceManager, place: PlaceAgain) -> None:
        """Go elsewhere from a device that is dead, with one replica less if need be."""
        with self._lock:
            gone = [one for one in self._replicas if one.device is device]
            self._replicas = tuple(one for one in self._replicas if one not in gone)
        for replica in gone:
            try:
                self.add(place(self.key, replica.model, self.devices), replica.model)
            except GlowError:
                if not self._replicas:
                    raise

    def close(self) -> None:
        """Leave all devices."""
        for device in self.devices:
            device.unload(self.key)


@dataclass(frozen=True)
class Replica:
    """A model on a device."""

    device: DeviceManager
    key: str
    model: RunnableModel

    def start(self, inputs: Sequence[Array], request: Request) -> Outputs:
        """Run a request in a slot that was reserved."""
        return self.device.run_reserved(self.key, inputs, request)

    def load(self) -> tuple[int, int]:
        """What is least for the device that is next."""
        return self.device.outstanding, self.device.last_used
