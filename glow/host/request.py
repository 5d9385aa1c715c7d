"""One request on its way through the host, and what may become of it other than a result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from glow.dialects.errors import GlowError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from glow.compiled_model import Array
    from glow.host.trace_events import SpanContext

    Outputs = Future[list[Array]]
    """The outputs of a network, in order, as they will be."""


@dataclass(slots=True, eq=False)
class Request:
    """What a device knows of a request beside its inputs."""

    id: str
    """The caller's name for it, else one that the host made."""
    priority: int = 0
    """Those with a higher one are first."""
    deadline: float | None = None
    """When nobody waits for the result any more, in seconds of `time.monotonic`."""
    span: SpanContext | None = None
    """The parent of its spans in a trace."""
    is_cancelled: bool = False
    """Whether somebody has called `cancel`."""

    def cancel(self) -> None:
        """Say that nobody wants the result."""
        self.is_cancelled = True

    def cancelled(self) -> bool:
        """Whether nobody wants the result."""
        return self.is_cancelled

    def expired(self) -> bool:
        """Whether the deadline is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline


class RequestKeywords(TypedDict, total=False):
    """How a request is run: keyword arguments of `Host.run`."""

    priority: int
    """Those with a higher one are first; 0 unless it is given."""
    timeout: float | None
    """After so many seconds it fails with `DeadlineError`, whether it waits or runs."""
    request_id: str | None
    """The caller's name for it."""
    span: SpanContext | None
    """The parent of its spans in a trace."""


def new_request(
    number: int,
    priority: int = 0,
    timeout: float | None = None,
    request_id: str | None = None,
    span: SpanContext | None = None,
) -> Request:
    """A request that comes now, known by its id, else by its trace's, else by its number."""
    deadline = None if timeout is None else time.monotonic() + timeout
    known = request_id or (span.trace_id if span else str(number))
    return Request(known, priority, deadline, span)


class QueueFullError(GlowError):
    """As many requests as may wait do so already."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the host is busy: {limit} requests wait already",
            hint="try again later, or raise queue_limit",
        )


class DeadlineError(GlowError):
    """The deadline of a request was over before there was a result."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"request '{request.id}' was not done by its deadline")


class UnknownModelError(GlowError):
    """No model has this name."""

    def __init__(self, name: str, known: list[str]) -> None:
        there = f"there are {', '.join(known)}" if known else "there is none"
        super().__init__(f"the host has no model '{name}'", hint=there)


class ClosedError(GlowError):
    """The host, or the model that a request is for, goes away."""


class DeviceError(GlowError):
    """A device failed: the request that it was running is lost, the host goes on."""

    def __init__(self, device: str, reason: str) -> None:
        self.device = device
        super().__init__(f"device '{device}' failed: {reason}")


class NoRoomError(GlowError):
    """A network takes more memory than there is, or than it may."""


class DeviceMemoryError(NoRoomError):
    """A network does not fit on a device."""

    def __init__(self, device: str, what: str, needed: int, available: int) -> None:
        self.device = device
        self.needed = needed
        self.available = available
        super().__init__(
            f"{what} needs {needed} bytes on device '{device}', where {available} are free",
            hint="give the device more memory, or divide the network (partition=...)",
        )


def begins(future: Outputs, request: Request) -> bool:
    """Whether somebody wants the outputs of a request, which then is running.

    Else the future is cancelled, or fails with `DeadlineError`.
    """
    if request.is_cancelled:
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return False
    if request.expired():
        future.set_exception(DeadlineError(request))
        return False
    return True
