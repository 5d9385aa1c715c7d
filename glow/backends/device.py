"""The processors that a backend runs networks on, and arrays in their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    import numpy as np

    from glow.dialects.weight_table import Array

NO_DEVICE = "there is no device here"


@dataclass(frozen=True)
class Device:
    """A processor that networks run on."""

    name: str
    """Among all devices of all backends: `cpu:0`."""
    kind: str
    """What it is: `cpu`, `gpu`..."""
    memory_bytes: int | None
    """What networks may take; None where the system does not tell."""
    description: str = ""
    """For people: the model, and its cores."""
    transfer_bytes_per_second: float | None = None
    """At which arrays come into its memory and leave it; None where it reads the host's."""
    problem: str = ""
    """Why nothing can run on it, such as a driver that is too old; empty where it can."""

    @property
    def number(self) -> str:
        """`0` of `cpu:0`."""
        return self.name.rpartition(":")[2]


@runtime_checkable
class Buffer(Protocol):
    """An array in the memory of a device, which functions on that device read in place."""

    @property
    def device(self) -> str:
        """The name of the device."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """As an array's."""
        ...

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """As an array's."""
        ...

    def read(self) -> Array:
        """A copy in the host's memory, behind all work that writes the buffer."""
        ...


class DeviceFunction(Protocol):
    """A `CompiledFunction` of a device with memory of its own: it takes and gives buffers.

    Parts of a network on one device hand over by it without copies.
    """

    device: str
    """The name of the device."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes; thread-safe."""
        ...

    def run_buffers(self, inputs: Sequence[Array | Buffer]) -> Sequence[Buffer]:
        """The outputs in the device's memory, of inputs there or in the host's; thread-safe.

        It may return before they are written: `Buffer.read` waits.
        """
        ...


def find_device(
    backend: str, devices: Sequence[Device], wanted: str | None, reason: str
) -> Device:
    """The device that `wanted` means: a name, a number, or words of one's description.

    None means the first that can be used. Raises GlowError, which lists those there are, for
    another one, and with the `reason` where there is none.
    """
    if not devices:
        raise GlowError(f"backend '{backend}' has no device: {reason}")
    found = devices if wanted is None else _meant(devices, wanted)
    if not found:
        names = ", ".join(_listed(device) for device in devices)
        raise GlowError(f"unknown device '{wanted}'", hint=f"there are {names}")
    usable = next((device for device in found if not device.problem), None)
    if usable is None:
        raise GlowError(f"device '{found[0].name}' cannot be used: {found[0].problem}")
    return usable


def _meant(devices: Sequence[Device], wanted: str) -> Sequence[Device]:
    """The devices of a name or number, else those whose description has the words."""
    exact = [one for one in devices if wanted in (one.name, one.number)]
    if exact or wanted.isdecimal():
        return exact
    return [one for one in devices if wanted.lower() in one.description.lower()]


def _listed(device: Device) -> str:
    return (
        f"{device.name} ({device.description})" if device.description else device.name
    )
