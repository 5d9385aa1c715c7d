"""Reads the body of a request of HTTP, within limits of size and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glow.serving.requests import (
    BAD_REQUEST,
    TIMEOUT,
    TOO_LARGE,
    UNAVAILABLE,
    ServingError,
)

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
    """The longest that a client may take to the first piece of a body, and between two."""
    body_rate: int = 1 << 16
    """The fewest bytes a second of a body that takes longer than that."""
    held_bytes: int = 1 << 30
    """The most bytes of the bodies of all requests at a time, half of them or all read."""


class Bodies:
    """Reads bodies, and knows how many bytes of them are held."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0

    async def read(self, request: Request) -> bytes:
        """The whole body, which is held until it is released.

        Raises ServingError for one that is too long, comes too slowly, or has no room.
        """
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and (
            len(announced) > 18 or int(announced) > self.limits.body_bytes
        ):
            raise self._too_large()
        parts: list[bytes] = []
        try:
            await self._read_parts(request, parts)
        except BaseException:
            self.release(sum(map(len, parts)))
            raise
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def hold(self, size: int) -> None:
        """Take room for bytes that came; raises ServingError where there is none."""
        if self.held + size > self.limits.held_bytes:
            raise ServingError(UNAVAILABLE, "the server has no room for the body", 1)
        self.held += size

    def release(self, size: int) -> None:
        """Give the room of a body to others."""
        self.held -= size

    async def _read_parts(self, request: Request, parts: list[bytes]) -> None:
        limits = self.limits
        loop = asyncio.get_running_loop()
        start, size, more = loop.time(), 0, True
        while more:
            latest = start + limits.body_seconds + size / limits.body_rate
            until = min(latest, loop.time() + limits.body_seconds)
            try:
                async with asyncio.timeout_at(until):
                    message = await request.receive()
            except TimeoutError:
                raise ServingError(TIMEOUT, "the body came too slowly") from None
            if message["type"] == "http.disconnect":
                raise ServingError(BAD_REQUEST, "the client is gone")
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > limits.body_bytes:
                raise self._too_large()
            self.hold(len(part))
            parts.append(part)
            more = message.get("more_body", False)

    def _too_large(self) -> ServingError:
        limit = self.limits.body_bytes
        return ServingError(TOO_LARGE, f"a body has at most {limit} bytes")
