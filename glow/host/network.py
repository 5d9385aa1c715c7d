"""A loaded model as the host sees it: something that takes requests while slots are free.

`DeviceNetwork` is a whole model on one device, or on several (replicas);
`PartitionedNetwork` (`executor.py`) runs its parts on several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias

from glow.host.devices.device import Health

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.device import DeviceManager
    from glow.host.request import Outputs, Request
    from glow.open_sizes import OpenTensorInfo
    from glow.tensor_info import TensorInfo

    AnyTensorInfo: TypeAlias = TensorInfo | OpenTensorInfo

Start = Callable[["Sequence[Array]", "Request"], "Outputs"]
"""Starts a request in the slot that was reserved for it."""


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
        signature: tuple[Sequence[AnyTensorInfo], Sequence[AnyTensorInfo]],
        memory_bytes: int,
    ) -> None:
        """`signature` are the inputs and the outputs; `memory_bytes` are those on a device."""
        self.key = key
        self.inputs, self.outputs = signature
        self.bytes_each = memory_bytes
        self._devices: tuple[DeviceManager, ...] = ()
        self._lock = Lock()

    @property
    def devices(self) -> Sequence[DeviceManager]:
        """The devices that it is on."""
        return self._devices

    @property
    def memory_bytes(self) -> int:
        """What it takes on all its devices together."""
        return self.bytes_each * len(self._devices)

    def add_device(self, device: DeviceManager) -> None:
        """Note a device that has loaded the model."""
        with self._lock:
            self._devices = (*self._devices, device)

    def remove_device(self, device: DeviceManager) -> None:
        """Forget a device, which is dead."""
        with self._lock:
            self._devices = tuple(one for one in self._devices if one is not device)

    def reserve(self) -> Start | None:
        """Take a slot of the device with most room."""
        devices = self._devices
        if len(devices) > 1:
            devices = sorted(devices, key=_load_of)
        for device in devices:
            if device.reserve():
                return _Place(device, self.key).start
        return None

    def start(self, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; raises DeviceError where no device is left."""
        from glow.host.request import DeviceError

        ready = [one for one in self._devices if one.health() is Health.READY]
        ready = ready or self._devices
        if not ready:
            raise DeviceError("none", f"no device has '{self.key}'")
        device = min(ready, key=_load_of)
        return device.submit(self.key, inputs, request)

    def close(self) -> None:
        """Leave all devices."""
        for device in self._devices:
            device.unload(self.key)


def _load_of(device: DeviceManager) -> tuple[int, int]:
    return device.outstanding, device.last_used


class _Place:
    """A slot of a device, for a network of it."""

    __slots__ = ("device", "key")

    def __init__(self, device: DeviceManager, key: str) -> None:
        self.device = device
        self.key = key

    def start(self, inputs: Sequence[Array], request: Request) -> Outputs:
        """Run in the slot."""
        return self.device.run_reserved(self.key, inputs, request)
