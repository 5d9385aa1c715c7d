"""A request on its way through the parts of a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from glow.host.request import DeadlineError

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.device import DeviceManager
    from glow.host.network import Replica
    from glow.host.parts.placed_part import PlacedPart, Wiring
    from glow.host.request import Outputs, Request
    from glow.tensor_info import Signature


class RunOwner(Protocol):
    """What a request knows of its network."""

    signature: Signature
    wiring: Wiring

    def submit(self, steps: Iterable[PartStep]) -> None:
        """Have steps run, each on a device of its part."""
        ...

    def memory_for(self, part: PlacedPart) -> Sequence[Array]:
        """Memory for what a part gives, or for nothing."""
        ...

    def end_run(self) -> None:
        """Note that a request is in flight no more."""
        ...


class Run(Future["list[Array]"]):
    """A request in flight: the values that are there, and how many each part waits for."""

    def __init__(
        self,
        network: RunOwner,
        number: int,
        inputs: Sequence[Array],
        request: Request,
    ) -> None:
        """`number` is higher for those that came later."""
        super().__init__()
        self.network = network
        self.request = request
        self.number = number
        names = [info.name for info in network.signature.inputs]
        self._values: dict[str, Array] = dict(zip(names, inputs, strict=True))
        self._missing = list(network.wiring.missing)
        self._uses = dict(network.wiring.uses)
        self._left = len(network.wiring.parts)
        self._has_ended = False
        self._lock = Lock()

    def begin(self) -> None:
        """Start the parts that read inputs only."""
        parts = self.network.wiring.parts
        ready = [part for part in parts if not self._missing[part.number]]
        self.network.submit([PartStep(self, part) for part in ready])

    def operands(self, part: PlacedPart) -> list[Array] | None:
        """The values that a part takes, forgotten where it is the last; None if it is late.

        A request that nobody wants any more, or whose deadline is over, ends here.
        """
        if self.request.cancelled():
            self.stop()
        elif self.request.expired():
            self.fail(DeadlineError(self.request))
        with self._lock:
            if self._has_ended:
                return None
            found = [self._values[name] for name in part.takes]
            for name in dict.fromkeys(part.takes):
                self._count_use(name)
            return found

    def part_done(self, part: PlacedPart, done: Outputs) -> None:
        """Take what a part gives, and start those that have waited for it."""
        error = None if done.cancelled() else done.exception()
        if done.cancelled():
            self.stop()
        elif error is not None:
            self.fail(error)
        else:
            self._take(part, done.result())

    def _take(self, part: PlacedPart, outputs: Sequence[Array]) -> None:
        with self._lock:
            if self._has_ended:
                return
            ready: list[PartStep] = []
            for name, array in zip(part.gives, outputs, strict=True):
                ready += self._keep(name, array)
            self._left -= 1
            results = None if self._left else self._results()
        if results is not None:
            self.network.end_run()
            self.set_result(results)
        self.network.submit(ready)

    def _keep(self, name: str, array: Array) -> list[PartStep]:
        """Keep a value while it has readers; the parts that have waited for it alone."""
        if self._uses.get(name):
            self._values[name] = array
        ready: list[PartStep] = []
        for reader in self.network.wiring.readers.get(name, ()):
            self._missing[reader.number] -= 1
            if not self._missing[reader.number]:
                ready.append(PartStep(self, reader))
        return ready

    def fail(self, error: BaseException) -> None:
        """End with an error; parts that run go on, and nobody reads what they give."""
        if self._end():
            self.set_exception(error)

    def cancel(self) -> bool:
        """Ask for an end before the next part; False, since something may run already."""
        self.request.cancel()
        return False

    def stop(self) -> None:
        """End without a result, which nobody wants."""
        if self._end():
            super().cancel()
            self.set_running_or_notify_cancel()

    def _end(self) -> bool:
        """Whether the caller is who ends the request."""
        with self._lock:
            if self._has_ended:
                return False
            self._has_ended = True
            self._values.clear()
        self.network.end_run()
        return True

    def _results(self) -> list[Array]:
        self._has_ended = True
        results = [self._values[name] for name in self.network.wiring.outputs]
        self._values.clear()
        return results

    def _count_use(self, name: str) -> None:
        self._uses[name] -= 1
        if not self._uses[name]:
            del self._values[name]


class PartStep:
    """A part of a request whose operands are there."""

    __slots__ = ("part", "state", "turn")

    def __init__(self, state: Run, part: PlacedPart) -> None:
        self.state = state
        self.part = part
        self.turn = (-state.request.priority, state.number, part.number)

    @property
    def owner(self) -> RunOwner:
        """The network."""
        return self.state.network

    def run(self, device: DeviceManager) -> None:
        """Run on a device in a slot that is reserved.

        What comes after this part is in its queue before the slot is free: so the device
        goes on with the request that it has begun.
        """
        replica = self.part.on(device)
        operands = None if replica is None else self.state.operands(self.part)
        if replica is not None and operands is not None:
            self._start(replica, operands)
            return
        device.release()
        if replica is None:  # It has left this very moment.
            self.owner.submit([self])

    def _start(self, replica: Replica, operands: Sequence[Array]) -> None:
        memory = self.owner.memory_for(self.part)
        done = partial(self.state.part_done, self.part)
        request = self.state.request
        try:
            replica.device.run_reserved(replica.key, operands, request, memory, done)
        except BaseException as error:
            self.state.fail(error)
