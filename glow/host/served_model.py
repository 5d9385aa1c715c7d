"""A model of a host: its network, its figures, and how its requests join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.host.request import ClosedError, DeviceError
from glow.host.statistics import ModelStatistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glow.host.batching import BatchPolicy
    from glow.host.network import AnyTensorInfo, Network

READY, LOADING, FAILED, CLOSED = "ready", "loading", "failed", "closed"


@dataclass(frozen=True)
class ModelInfo:
    """What a host tells of a model."""

    inputs: tuple[AnyTensorInfo, ...]
    outputs: tuple[AnyTensorInfo, ...]
    state: str
    """`ready`; `loading` while it moves to another device; `failed` where there is none."""
    devices: tuple[str, ...]
    """The names of the devices that it is on."""


class ServedModel:
    """A model of a host; the scheduler's lock guards what changes."""

    def __init__(
        self,
        name: str,
        network: Network,
        batching: BatchPolicy,
    ) -> None:
        self.name = name
        self.network = network
        self.batching = batching
        self.input_names = [info.name for info in network.inputs]
        self.output_names = [info.name for info in network.outputs]
        self.statistics = ModelStatistics()
        self.waited_since_idle = 0
        """How many requests have waited since one found a free slot."""
        self.state = READY
        self.lost_device = ""
        """The device that died with the model, where it is on no other."""

    def check(self) -> None:
        """Raise GlowError where the model takes no requests."""
        if self.state is FAILED:
            raise self.lost()
        if self.state is CLOSED:
            raise ClosedError(f"the model '{self.name}' is being removed")

    def lost(self) -> DeviceError:
        """The error of requests for a model that is on no device any more."""
        reason = f"it had the model '{self.name}', for which no other has room"
        return DeviceError(self.lost_device, reason)

    def info(self) -> ModelInfo:
        """What the host tells of it."""
        devices: Sequence[str] = [device.name for device in self.network.devices]
        return ModelInfo(
            tuple(self.network.inputs),
            tuple(self.network.outputs),
            self.state,
            tuple(devices),
        )
