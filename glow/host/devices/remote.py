"""What devices in other processes have in common: networks there, and a health that changes."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from glow.compiled_model import CompiledModel
from glow.host.devices.device import DeviceManager, DeviceMemory, Health
from glow.host.devices.memory import model_memory
from glow.host.devices.slot_arrays import SlotLayout
from glow.host.request import ClosedError

if TYPE_CHECKING:
    from glow.specialized_model import RunnableModel


class RemoteNetwork:
    """A network of a device."""

    def __init__(self, number: int, model: RunnableModel, slots: int) -> None:
        self.number = number
        self.layout = SlotLayout(model.inputs, model.outputs)
        self.memory_bytes = model_memory(model, slots)
        self.has_variables = isinstance(model, CompiledModel) and bool(model.variables)
        self.lost: str | None = None
        """Why it cannot run any more."""


NetworkT = TypeVar("NetworkT", bound=RemoteNetwork)


class RemoteDevice(DeviceManager, Generic[NetworkT]):
    """A device whose networks are in another process, which may die and begin again."""

    def __init__(self, name: str, backend: str, slots: int, limit: int | None) -> None:
        """`limit` are the bytes that networks may take, where anybody knows."""
        super().__init__(name, backend, slots)
        self._limit = limit
        self._networks: dict[str, NetworkT] = {}
        self._numbers = itertools.count(1)
        self._health = Health.RESTARTING
        self._reason = ""
        """Why it is dead."""
        self._is_closed = False
        self._changes = threading.Condition()
        """Guards what changes, and tells of it."""

    def memory(self) -> DeviceMemory:
        """What its networks take."""
        networks = list(self._networks.values())
        return DeviceMemory(sum(one.memory_bytes for one in networks), self._limit)

    def health(self) -> Health:
        """Ready, or why not."""
        return self._health

    def _network(self, key: str) -> NetworkT:
        """The network of a key; raises ClosedError."""
        network = self._networks.get(key)
        if network is None:
            raise ClosedError(f"device '{self.name}' has no network '{key}'")
        return network

    def _lose_variables(self) -> None:
        """Networks with variables cannot run any more: their values were in the process."""
        for network in self._networks.values():
            if network.has_variables:
                network.lost = "the values of the network's variables were lost"
