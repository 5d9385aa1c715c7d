"""HTTP as uvicorn reads it, with limits on the headers of a request.

Uvicorn keeps whatever comes before the end of the headers, and waits for it for ever: a client
that never ends them would cost memory without a bound, and a connection that says nothing would
stay. Bodies have limits of their own.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 64 << 10
"""Of a request, behind the first piece that came of them."""
HEADER_SECONDS = 30.0
"""The longest from a connection's first moment, or a request's first byte, to those headers."""


class LimitedHttp(HttpToolsProtocol):
    """A connection that ends where headers are too long or too slow."""

    _header_bytes = 0
    _reads_headers = False
    _has_begun = False
    """Whether the headers began in the latest piece, which may hold the end of a body too."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._forget_deadline()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to count the bytes of headers."""
        super().on_message_begin()
        self._reads_headers = self._has_begun = True
        self._header_bytes = 0
        if self._deadline is None:
            self._await_headers()

    def on_headers_complete(self) -> None:
        """Count no more."""
        self._reads_headers = False
        self._forget_deadline()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Parse what came; refuse headers that are too long."""
        self._has_begun = False
        super().data_received(data)
        if self._reads_headers and not self._has_begun:
            self._header_bytes += len(data)
            if self._header_bytes > MOST_HEADER_BYTES:
                self._reads_headers = False
                self.send_400_response("The headers are too long.")

    def _await_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
