"""What several backends as one tell of a network: who made it, or each of its parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, CompiledFunction

if TYPE_CHECKING:
    from glow.compiled_model import CompiledModel
    from glow.runtime.caches.network_part import NetworkPart
    from glow.tensor_info import Signature

    Parts = Mapping[NetworkPart, CompiledModel]

KNOWN_PARTS: ContextVar[Parts] = ContextVar("known_parts")
"""Those that a compilation need not compile, as the cache of models has them."""


class DividedBackend(Backend):
    """Several backends, of which each compiles parts of a network."""

    @abstractmethod
    def maker(self, function: CompiledFunction) -> Backend | None:
        """The one that has made a function alone; None where several did."""

    @abstractmethod
    def parts_of(
        self, function: CompiledFunction
    ) -> Sequence[tuple[NetworkPart, CompiledModel]]:
        """The parts of a function that several have made."""

    @abstractmethod
    def joined(
        self, signature: Signature, parts: Sequence[tuple[NetworkPart, CompiledModel]]
    ) -> CompiledFunction:
        """The function of a network in parts; that of a single one as it is."""

    @abstractmethod
    def own_device(self, member: Backend, device: str | None) -> str | None:
        """The name of a device that is the member's own; raises GlowError for an unknown one."""


def maker_name(backend: Backend, function: CompiledFunction) -> str:
    """The name of the backend that made a function, of all where several did."""
    maker = backend.maker(function) if isinstance(backend, DividedBackend) else backend
    return backend.name if maker is None else maker.name
