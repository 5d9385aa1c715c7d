"""A part of a divided network on its devices, and who reads which value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError
from glow.host.network import Replica
from glow.host.request import DeviceError

if TYPE_CHECKING:
    from glow.host.devices.device import DeviceManager
    from glow.host.network import PlaceAgain
    from glow.specialized_model import RunnableModel


@dataclass(eq=False)
class PlacedPart:
    """A part of a network, and the devices that have it."""

    name: str
    key: str
    """What devices know it by."""
    takes: Sequence[str]
    """The values that it reads, in the order of its inputs."""
    gives: Sequence[str]
    """The values that it computes, in the order of its outputs."""
    model_for: Callable[[str], RunnableModel]
    """The part compiled for a backend, when that is asked for first."""
    replicas: tuple[Replica, ...] = ()
    number: int = 0
    """Its place in the order of all parts."""

    def on(self, device: DeviceManager) -> Replica | None:
        """It, on a device; None where it is not there."""
        return next((each for each in self.replicas if each.device is device), None)

    def remove(self, device: DeviceManager) -> bool:
        """Forget a device, which is dead; whether it was there."""
        left = tuple(each for each in self.replicas if each.device is not device)
        found, self.replicas = len(left) < len(self.replicas), left
        return found

    def lost(self, device: str) -> DeviceError:
        """The error of a request for it while it is on no device any more."""
        return DeviceError(device, f"it had '{self.key}', for which no other has room")

    def load(self, device: DeviceManager) -> None:
        """Load it on one more device; raises GlowError."""
        model = self.model_for(device.backend)
        device.load(self.key, model)
        self.replicas = (*self.replicas, Replica(device, self.key, model))

    def unload(self) -> None:
        """Leave all devices; requests in flight end first."""
        for replica in self.replicas:
            replica.device.unload(self.key)

    def place_again(
        self, backends: Iterable[str], besides: Sequence[DeviceManager], to: PlaceAgain
    ) -> Replica:
        """Load it on a device of the first backend that compiles it and has room.

        Raises the GlowError of that backend which was asked first.
        """
        errors: list[GlowError] = []
        for backend in backends:
            try:
                model = self.model_for(backend)
                return Replica(to(self.key, model, besides), self.key, model)
            except GlowError as error:
                errors.append(error)
        raise errors[0]


@dataclass
class Wiring:
    """Who reads which value: the same for all requests."""

    parts: Sequence[PlacedPart]
    outputs: Sequence[str]
    readers: Mapping[str, Sequence[PlacedPart]] = field(init=False)
    missing: Sequence[int] = field(init=False)
    """Of each part: how many of its operands other parts give."""
    uses: Mapping[str, int] = field(init=False)
    """Of each value: how many read it, callers among them."""

    def __post_init__(self) -> None:
        given = {name for part in self.parts for name in part.gives}
        readers: dict[str, list[PlacedPart]] = {}
        for number, part in enumerate(self.parts):
            part.number = number
            for name in dict.fromkeys(part.takes):
                readers.setdefault(name, []).append(part)
        self.readers = readers
        self.missing = [len(given & set(part.takes)) for part in self.parts]
        uses = Counter({name: len(parts) for name, parts in readers.items()})
        uses.update(self.outputs)
        self.uses = uses
