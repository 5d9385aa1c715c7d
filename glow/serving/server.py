"""Runs the services of a repository in this process, HTTP and gRPC on one loop, until a signal.

The first SIGTERM or Ctrl-C drains: the server says that it is not ready, takes no new requests,
and those that run get their results, for at most `drain_seconds`. The second ends it at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import uvicorn

from glow.dialects.errors import GlowError
from glow.serving.app import make_app
from glow.serving.body import Limits
from glow.serving.http_protocol import LimitedHttp
from glow.serving.metrics import ServerMetrics
from glow.serving.service import Service

if TYPE_CHECKING:
    import grpc.aio
    from fastapi import FastAPI

    from glow.serving.repository import Repository

BACKLOG = 1024
"""Connections that may wait to be accepted."""

GRACE_SECONDS = 1
"""For the last bytes of responses, once requests have ended or their time is over."""

Said: TypeAlias = Callable[[str], None]
"""Is told the addresses that the server listens on, once it takes requests."""


@dataclass(frozen=True)
class ServerOptions:
    """Where a server listens, and how it ends."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 for any that is free."""
    grpc_port: int | None = None
    """0 for any that is free, None for no gRPC."""
    drain_seconds: float = 30.0
    is_shared: bool = False
    """Whether other processes serve on the same port of gRPC."""
    limits: Limits = field(default_factory=Limits)


class Server(uvicorn.Server):
    """Uvicorn, of which a signal drains the repository first."""

    def __init__(self, app: FastAPI, repository: Repository, seconds: float) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedHttp,
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self._repository = repository
        self._seconds = seconds
        self._draining: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: object) -> None:
        """Drain; end at once if that goes on already."""
        if self._repository.is_draining:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
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

    With `is_shared` it only reserves the port, for processes that listen on it together.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM)
        reuse = socket.SO_REUSEPORT if is_shared else socket.SO_REUSEADDR
        found.setsockopt(socket.SOL_SOCKET, reuse, 1)
        found.bind((host, port))
        if not is_shared:
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
    said: Said = print,
    found: socket.socket | None = None,
    metrics: ServerMetrics | None = None,
) -> None:
    """Serve a repository until a signal; `said` is told when requests are taken.

    `found` is a socket that listens already.
    """
    listening = found or listen(options.host, options.port)
    host = repository.host
    metrics = metrics or ServerMetrics(host)
    service = Service(repository, options.limits, metrics, host.tracer)
    server = Server(make_app(service), repository, options.drain_seconds)

    async def run() -> None:
        async with AsyncExitStack() as stack:
            address, port = listening.getsockname()[:2]
            addresses = [f"http://{_bracketed(address)}:{port}"]
            if options.grpc_port is not None:
                started = await start_grpc(service, options)
                addresses.append(f"grpc://{started.address}")
                stack.push_async_callback(started.server.stop, GRACE_SECONDS)
            said(" and ".join(addresses))
            await server.serve([listening])

    with listening:
        before = signal.getsignal(signal.SIGTERM)
        try:
            uvicorn_run(run(), server)
        finally:
            signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True)
class StartedGrpc:
    """The service over gRPC."""

    server: grpc.aio.Server
    address: str


async def start_grpc(service: Service, options: ServerOptions) -> StartedGrpc:
    """Begin to serve over gRPC; raises GlowError for a port that cannot be had."""
    from glow.serving.grpc_service import make_server

    host, port = _bracketed(options.host), options.grpc_port
    server = make_server(service, is_shared=options.is_shared)
    try:
        found = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError:
        found = 0
    if not found:
        raise GlowError(
            f"cannot listen on {host}:{port} for gRPC",
            hint="another port may be free (--grpc-port 0 takes any)",
        )
    await server.start()
    return StartedGrpc(server, f"{host}:{found}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def uvicorn_run(main: Awaitable[None], server: uvicorn.Server) -> None:
    """Run on the loop that uvicorn prefers."""

    async def body() -> None:
        await main

    factory = server.config.get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(body())
