"""A gRPC server that answers with what it is sent: what any answer costs at least.

    python -m benchmarks.servers.echo loop|threads

The methods run on an event loop, or in threads as those of our server.
"""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import grpc.aio

from glow.serving.messages import SERVICE


async def _echo(request: bytes, context: object) -> bytes:
    return request


def _echo_here(request: bytes, context: object) -> bytes:
    return request


def _listen(server: grpc.Server | grpc.aio.Server, method: object) -> int:
    """Give the server its method and a port that is free."""
    methods = {"ModelInfer": grpc.unary_unary_rpc_method_handler(method)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, methods),)
    )
    return server.add_insecure_port("127.0.0.1:0")


async def serve_on_loop() -> None:
    """Answer on a port, which is printed, until the process is ended."""
    server = grpc.aio.server()
    port = _listen(server, _echo)
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


def serve_in_threads() -> None:
    """Answer on a port, which is printed, until the process is ended."""
    server = grpc.server(ThreadPoolExecutor(8))
    port = _listen(server, _echo_here)
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1:] == ["threads"]:
        serve_in_threads()
    else:
        asyncio.run(serve_on_loop())
