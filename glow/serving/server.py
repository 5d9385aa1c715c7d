"""Runs the services of a repository in this process, until a signal ends it.

The first SIGTERM or Ctrl-C drains: the server says that it is not ready, takes no new requests,
and those that run get their results, for at most `drain_seconds`. The second ends it at once.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import uvicorn

from glow.dialects.errors import GlowError
from glow.serving.app import make_app
from glow.serving.body import Limits
from glow.serving.metrics import ServerMetrics

if TYPE_CHECKING:
    from fastapi import FastAPI

    from glow.serving.repository import Repository

BACKLOG = 1024
"""Connections that may wait to be accepted."""

Said: TypeAlias = Callable[[str], None]
"""Is told each address that the server listens on."""

StartGrpc: TypeAlias = Callable[[], Awaitable[Callable[[float], Awaitable[None]]]]
"""Begins another service, and gives what ends it within so many seconds."""


@dataclass(frozen=True)
class ServerOptions:
    """Where a server listens, and how it ends."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 for any that is free."""
    drain_seconds: float = 30.0
    limits: Limits = field(default_factory=Limits)


class Server(uvicorn.Server):
    """Uvicorn, of which a signal drains the repository first."""

    def __init__(self, app: FastAPI, repository: Repository, seconds: float) -> None:
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=max(1, round(seconds)),
        )
        super().__init__(config)
        self._repository = repository
        self._seconds = seconds
        self._draining: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: object) -> None:
        """Drain; end at once if that goes on already."""
        if self._draining is not None:
            self.force_exit = self.should_exit = True
            return
        self._repository.is_draining = True
        loop = self._loop
        if loop is None:
            self.should_exit = True
        else:
            loop.call_soon_threadsafe(self._begin_draining)

    _loop: asyncio.AbstractEventLoop | None = None

    def _begin_draining(self) -> None:
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        await self._repository.drain(self._seconds)
        self.should_exit = True

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        self._loop = asyncio.get_running_loop()
        self._repository.attach(self._loop)
        await super().serve(sockets)


def listen(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A socket that listens; raises GlowError for an address that cannot be had.

    `is_shared` lets other processes listen on the same port.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        found.bind((host, port))
        found.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GlowError(
            f"cannot listen on {host}:{port}: {reason.lower()}",
            hint="another port may be free (--port 0 takes any)",
        ) from error
    return found


def serve(
    repository: Repository,
    options: ServerOptions,
    others: Sequence[StartGrpc] = (),
    said: Said = print,
    found: socket.socket | None = None,
) -> None:
    """Serve a repository until a signal; `said` is told when requests are taken.

    `others` are services beside that over HTTP, `found` a socket that listens already.
    """
    listening = found or listen(options.host, options.port)
    metrics = ServerMetrics(repository.host)
    tracer = repository.host.tracer
    app = make_app(repository, options.limits, metrics, tracer)
    server = Server(app, repository, options.drain_seconds)

    async def run() -> None:
        async with AsyncExitStack() as stack:
            for start in others:
                stop = await start()
                stack.push_async_callback(stop, options.drain_seconds)
            address, port = listening.getsockname()[:2]
            said(f"http://{address}:{port}")
            await server.serve([listening])

    with listening:
        before = signal.getsignal(signal.SIGTERM)
        try:
            uvicorn_run(run(), server)
        finally:
            signal.signal(signal.SIGTERM, before)


def uvicorn_run(main: Awaitable[None], server: uvicorn.Server) -> None:
    """Run on the loop that uvicorn prefers."""

    async def body() -> None:
        await main

    factory = server.config.get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(body())
