"""What both protocols ask of a repository, and what may become of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.compiled_model import Array
from glow.dialects.errors import GlowError
from glow.host.request import (
    ClosedError,
    DeadlineError,
    DeviceError,
    QueueFullError,
    UnknownModelError,
)

if TYPE_CHECKING:
    from glow.host.trace_events import SpanContext


@dataclass(slots=True)
class InferenceRequest:
    """A request for one model."""

    model: str
    inputs: Mapping[str, Array]
    version: str = ""
    """Empty for the newest."""
    id: str = ""
    outputs: Sequence[str] = ()
    """The outputs that are wanted; all if there are none."""
    priority: int = 0
    timeout: float | None = None
    """In seconds."""
    span: SpanContext | None = None
    """The caller's span."""


@dataclass(slots=True)
class InferenceResponse:
    """The outputs of a request by name."""

    model: str
    version: str
    id: str
    outputs: Mapping[str, Array]


class ServingError(Exception):
    """What a client gets instead of a response: one line, and a status of HTTP."""

    def __init__(
        self, status: int, message: str, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after
        """In seconds; for what may go better later."""


BAD_REQUEST, NOT_FOUND, TIMEOUT, TOO_LARGE = 400, 404, 408, 413
CANCELLED, FAILED, UNAVAILABLE, EXPIRED = 499, 500, 503, 504

GRPC_CODES: Mapping[int, str] = {
    BAD_REQUEST: "INVALID_ARGUMENT",
    NOT_FOUND: "NOT_FOUND",
    TIMEOUT: "DEADLINE_EXCEEDED",
    TOO_LARGE: "RESOURCE_EXHAUSTED",
    CANCELLED: "CANCELLED",
    FAILED: "INTERNAL",
    UNAVAILABLE: "UNAVAILABLE",
    EXPIRED: "DEADLINE_EXCEEDED",
}
"""The status of gRPC for that of HTTP."""

STATUSES: Sequence[tuple[type[Exception], int]] = (
    (QueueFullError, UNAVAILABLE),
    (DeadlineError, EXPIRED),
    (UnknownModelError, NOT_FOUND),
    (DeviceError, UNAVAILABLE),
    (ClosedError, UNAVAILABLE),
    (GlowError, BAD_REQUEST),
    (CancelledError, CANCELLED),
    (MemoryError, UNAVAILABLE),
)
"""What the host's errors are to a client: the first that fits."""


def serving_error(error: Exception) -> ServingError:
    """The error that a client gets for one of ours."""
    if isinstance(error, ServingError):
        return error
    for kind, status in STATUSES:
        if isinstance(error, kind):
            retry_after = 1 if status == UNAVAILABLE else None
            return ServingError(status, str(error) or "cancelled", retry_after)
    return ServingError(FAILED, f"internal error: {type(error).__name__}")
