"""Reads the body of a request of HTTP, within limits of size and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.serving.requests import BAD_REQUEST, TIMEOUT, TOO_LARGE, ServingError

if TYPE_CHECKING:
    from starlette.requests import Request


@dataclass(frozen=True)
class Limits:
    """What clients may ask for."""

    body_bytes: int = 256 << 20
    """The most bytes of a request."""
    requests: int = 512
    """The most requests of all clients at a time; further ones are told to come again."""
    body_seconds: float = 30.0
    """The longest that a client may take from one piece of a body to the next."""


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body; raises ServingError for one that is too long, or comes too slowly."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.body_bytes:
        raise _too_large(limits)
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        try:
            async with asyncio.timeout(limits.body_seconds):
                message = await request.receive()
        except TimeoutError:
            raise ServingError(TIMEOUT, "the body came too slowly") from None
        if message["type"] == "http.disconnect":
            raise ServingError(BAD_REQUEST, "the client is gone")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limits.body_bytes:
            raise _too_large(limits)
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limits: Limits) -> ServingError:
    return ServingError(TOO_LARGE, f"a body has at most {limits.body_bytes} bytes")
