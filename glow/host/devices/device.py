"""What a device is to the host: something that has networks, memory, and runs requests.

A manager knows nothing of queues, batches and partitions. The host asks it for no more than
`slots` requests at a time; others (partitions of networks) may, so it keeps what it cannot
run yet, in the order in which it came.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from threading import Lock, Thread
from typing import TYPE_CHECKING

from glow.host.request import DeviceMemoryError
from glow.host.tracing import NO_TRACE

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.request import Outputs, Request
    from glow.specialized_model import RunnableModel


class Health(Enum):
    """Whether a device takes requests."""

    READY = "ready"
    RESTARTING = "restarting"
    """It comes back with the networks that it has."""
    DEAD = "dead"
    """It never comes back."""


@dataclass(frozen=True)
class DeviceMemory:
    """What networks take on a device, and may take."""

    used_bytes: int
    limit_bytes: int | None
    """None where nobody knows."""

    @property
    def free_bytes(self) -> int | None:
        """What another network may take."""
        if self.limit_bytes is None:
            return None
        return max(0, self.limit_bytes - self.used_bytes)


class DeviceManager(ABC):
    """A device with the networks that are loaded on it; all methods are thread-safe."""

    name: str
    """Unique in a host, and named in every error: `cpu:0`, `process:1`."""
    backend: str
    """The backend that networks for it are compiled with."""
    slots: int
    """How many requests it runs at a time."""
    is_here = False
    """Whether networks run in this process."""

    def __init__(self, name: str, backend: str, slots: int) -> None:
        self.name = name
        self.backend = backend
        self.slots = slots
        self.outstanding = 0
        """How many slots are taken."""
        self.last_used = 0
        """The number, among all reservations, of the last one."""
        self.requests = 0
        """How many were started in all."""
        self.on_change: Callable[[DeviceManager], None] | None = None
        """Told when the health has changed."""
        self.tracer = NO_TRACE
        """Where its lane of a trace is."""
        self.on_slot: Callable[[], None] | None = None
        """Told when a slot may be free again."""
        self._slot_lock = Lock()

    # What a kind of device answers

    @abstractmethod
    def load(self, key: str, model: RunnableModel) -> None:
        """Take a network, which runs of this key are for.

        Raises GlowError where the memory is not there (`DeviceMemoryError`) or the model
        cannot run here.
        """

    @abstractmethod
    def run(self, key: str, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; never blocks.

        The future fails with GlowError for wrong inputs, and with `DeviceError` if the device
        dies; it is cancelled if the request is when it would begin.
        """

    @abstractmethod
    def unload(self, key: str) -> None:
        """Let go of a network; requests in flight end first."""

    @abstractmethod
    def memory(self) -> DeviceMemory:
        """What its networks take."""

    @abstractmethod
    def health(self) -> Health:
        """Whether it takes requests; asked for every one, so it costs nothing."""

    @abstractmethod
    def close(self) -> None:
        """End the requests in flight, and let go of everything."""

    # What all have

    def reserve(self) -> bool:
        """Take a slot, where one is free and the device takes requests."""
        with self._slot_lock:
            if self.outstanding >= self.slots or self.health() is not Health.READY:
                return False
            self._take()
            return True

    def take(self) -> None:
        """Take a slot, whether one is free or not."""
        with self._slot_lock:
            self._take()

    def release(self) -> None:
        """Give back a slot."""
        with self._slot_lock:
            self.outstanding -= 1
        if self.on_slot is not None:
            self.on_slot()

    def submit(self, key: str, inputs: Sequence[Array], request: Request) -> Outputs:
        """`run`, counted as a slot whether or not one is free: for partitions."""
        self.take()
        return self.run_reserved(key, inputs, request)

    def run_into(
        self,
        key: str,
        inputs: Sequence[Array],
        request: Request,
        outputs: Sequence[Array],
    ) -> Outputs:
        """`run`, with memory that the outputs may be written into, or not."""
        return self.run(key, inputs, request)

    def run_reserved(
        self,
        key: str,
        inputs: Sequence[Array],
        request: Request,
        memory: Sequence[Array] = (),
        then: Callable[[Outputs], None] | None = None,
    ) -> Outputs:
        """`run` in a slot that `reserve` has taken; given back when the future is done.

        Large outputs may be written into `memory`; `then` is told before the slot is free.
        """
        try:
            if self.tracer.is_on:
                future = self._run_traced(key, inputs, request, memory)
            elif memory:
                future = self.run_into(key, inputs, request, memory)
            else:
                future = self.run(key, inputs, request)
        except BaseException:
            self.release()
            raise
        future.add_done_callback(self._done if then is None else self._done_after(then))
        return future

    def _run_traced(
        self,
        key: str,
        inputs: Sequence[Array],
        request: Request,
        memory: Sequence[Array],
    ) -> Outputs:
        span = self.tracer.span(self.name, span_name(key), request.id, request.span)
        with span.around():
            future = self.run_into(key, inputs, request, memory)
        future.add_done_callback(lambda done: span.end())
        return future

    def check_room(self, key: str, needed: int) -> None:
        """Raise DeviceMemoryError where a network of so many bytes does not fit."""
        free = self.memory().free_bytes
        if free is not None and needed > free:
            raise DeviceMemoryError(self.name, f"'{key}'", needed, free)

    def start_thread(self, work: Callable[..., None], *arguments: object) -> Thread:
        """A thread of the device, which does not keep the interpreter from its end."""
        name = f"glow-{self.name}"
        thread = Thread(target=work, args=arguments, name=name, daemon=True)
        thread.start()
        return thread

    def changed(self) -> None:
        """Tell the host that the health has changed."""
        if self.on_change is not None:
            self.on_change(self)
        if self.on_slot is not None:
            self.on_slot()

    def _take(self) -> None:
        self.outstanding += 1
        self.requests += 1
        self.last_used = next_reservation()

    def _done(self, future: Outputs) -> None:
        self.release()

    def _done_after(self, then: Callable[[Outputs], None]) -> Callable[[Outputs], None]:
        def done(future: Outputs) -> None:
            try:
                then(future)
            finally:
                self.release()

        return done


def span_name(key: str) -> str:
    """What a trace calls a network: its key without the number that the host gave it."""
    name, _, rest = key.partition("#")
    return name + "".join(rest.partition("/")[1:])


_reservations = iter(range(1 << 62))


def next_reservation() -> int:
    """The number of a reservation: higher for later ones."""
    return next(_reservations)
