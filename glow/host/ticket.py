"""What a caller gets for a request: a future that knows where the request is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.request import Outputs, Request
    from glow.host.served_model import ServedModel

Results = dict[str, "Array"]
"""Outputs by name."""


class Ticket(Future[Results]):
    """The results of a request, as any future of `concurrent.futures`.

    Whoever waits for a result that nobody computes yet, though a core is free, computes it:
    that is sooner done than another thread is awake.
    """

    def __init__(
        self,
        model: ServedModel,
        inputs: Sequence[Array],
        request: Request,
        on_cancel: Callable[[Ticket], None],
    ) -> None:
        super().__init__()
        self.model = model
        self.inputs = inputs
        self.request = request
        self.is_waiting = False
        """Whether it is in the queue."""
        self.is_batched = False
        """Whether it is among those that may join a batch."""
        self.has_alarm = False
        """Whether somebody looks again when it has waited for others long enough."""
        self.since = 0.0
        """When it came, and when it was started, in seconds of `time.monotonic`."""
        self.waited = 0.0
        """For how many seconds it was in the queue."""
        self.started: Outputs | None = None
        """The outputs of the network, once it was started."""
        self._on_cancel = on_cancel

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the inputs: those of one batch are alike."""
        return tuple([array.shape for array in self.inputs])

    def cancel(self) -> bool:
        """Leave the queue; False for a request that has begun."""
        if not super().cancel():
            return False
        self.request.cancel()
        self._on_cancel(self)
        return True

    def abandon(self) -> None:
        """Cancel, or let what has begun end as soon as it can: nobody reads the results."""
        if not self.cancel():
            self.request.cancel()

    def result(self, timeout: float | None = None) -> Results:
        """The outputs by name; raises what went wrong."""
        started = self.started
        if timeout is None and started is not None and not self.done():
            help_ = getattr(started, "help", None)
            if help_ is not None:
                help_()
        return super().result(timeout)

    def finish(self, names: Sequence[str], outputs: Sequence[Array]) -> None:
        """Tell the outputs, unless it is too late."""
        self._set(dict(zip(names, outputs, strict=True)))

    def let_go(self) -> None:
        """Forget the inputs and what ran them, which knows the ticket too.

        Else both would stay until the collector of cycles comes, with all their arrays.
        """
        if self.done():
            self.started = None
            self.inputs = ()

    def fail(self, error: BaseException) -> bool:
        """Tell what went wrong; False where it is too late."""
        with suppress(InvalidStateError):
            self.set_exception(error)
            return True
        return False

    def _set(self, results: Mapping[str, Array]) -> None:
        with suppress(InvalidStateError):  # The deadline was over first.
            self.set_result(dict(results))
