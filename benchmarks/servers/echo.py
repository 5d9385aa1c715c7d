"""A gRPC server that answers with what it is sent: what any answer costs at least."""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio

from glow.serving.messages import SERVICE


async def _echo(request: bytes, context: object) -> bytes:
    return request


async def serve() -> None:
    """Answer on a port that is free, which is printed, until the process is ended."""
    server = grpc.aio.server()
    methods = {"ModelInfer": grpc.unary_unary_rpc_method_handler(_echo)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, methods),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve())
