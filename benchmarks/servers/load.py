"""Clients of servers of the inference protocol, and the load that they make.

Arrivals are a Poisson process whose rate does not depend on how soon the server answers, and a
latency counts from when the request should have been sent: a server that stalls is late for all
that come meanwhile, as it is for its users.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np

Send = Callable[[], Awaitable[None]]
"""Sends a request and waits for its response; an error for one that is none."""

MOST = 400
"""More requests at a time mean that the server does not keep up."""


@dataclass(frozen=True)
class Load:
    """What a load came to."""

    rate: float
    """Responses a second."""
    latencies: np.ndarray
    """In seconds."""
    is_kept_up: bool

    @property
    def mean(self) -> float:
        """The mean latency in milliseconds."""
        return 1e3 * float(np.mean(self.latencies))

    def percentile(self, share: float) -> float:
        """A percentile of the latency in milliseconds."""
        return 1e3 * float(np.percentile(self.latencies, share))


class HttpConnection(asyncio.Protocol):
    """A connection that is kept alive, with one request at a time."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.done: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what writes."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Give the response once it is whole."""
        self.buffer += data
        head, found, _ = self.buffer.partition(b"\r\n\r\n")
        if not found or self.done is None:
            return
        # Another header ends in the same words.
        _, _, length = bytes(head).lower().partition(b"\r\ncontent-length:")
        size = int(length.partition(b"\r\n")[0])
        if len(self.buffer) >= len(head) + 4 + size:
            content, self.buffer = bytes(self.buffer), bytearray()
            self.done.set_result(content)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the request that is under way."""
        if self.done is not None and not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))

    async def ask(self, request: bytes) -> bytes:
        """The response with its headers; raises ConnectionError for an error of the server."""
        if self.transport.is_closing():
            raise ConnectionError("the server hung up")
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        response = await self.done
        if not response.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(response[-300:].decode(errors="replace"))
        return response


class HttpClient:
    """As many connections as requests are under way."""

    def __init__(self, port: int, request: bytes) -> None:
        self.port = port
        self.request = request
        self.idle: list[HttpConnection] = []

    async def send(self) -> None:
        """Send the request on a connection that has none."""
        self.idle = [one for one in self.idle if not one.transport.is_closing()]
        if self.idle:
            connection = self.idle.pop()
        else:  # Servers hang up on connections that nobody uses for some seconds.
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(
                HttpConnection, "127.0.0.1", self.port
            )
        await connection.ask(self.request)
        self.idle.append(connection)

    async def close(self) -> None:
        """Hang up."""
        while self.idle:
            self.idle.pop().transport.close()


class GrpcClient:
    """One channel for all requests."""

    def __init__(self, port: int, request: bytes) -> None:
        import grpc.aio

        sizes = [(f"grpc.max_{way}_message_length", -1) for way in ("send", "receive")]
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=sizes)
        self.call = self.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer"
        )
        self.request = request

    async def send(self) -> None:
        """Send the request."""
        await self.call(self.request)

    async def close(self) -> None:
        """Hang up."""
        await self.channel.close()


def http_request(name: str, inputs: dict[str, np.ndarray], *, binary: bool) -> bytes:
    """The text of a request over HTTP."""
    entries = [
        {"name": key, "shape": list(array.shape), "datatype": datatype(array)}
        | (
            {"parameters": {"binary_data_size": array.nbytes}}
            if binary
            else {"data": array.ravel().tolist()}
        )
        for key, array in inputs.items()
    ]
    document = {"inputs": entries, "parameters": {"binary_data_output": binary}}
    text = json.dumps(document).encode()
    body = text + b"".join(a.tobytes() for a in inputs.values() if binary)
    head = f"POST /v2/models/{name}/infer HTTP/1.1\r\nHost: localhost\r\n"
    if binary:
        head += f"Inference-Header-Content-Length: {len(text)}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def grpc_request(name: str, inputs: dict[str, np.ndarray]) -> bytes:
    """The text of a request over gRPC."""
    from glow.serving.messages import message_class

    entries = [
        {"name": key, "shape": array.shape, "datatype": datatype(array)}
        for key, array in inputs.items()
    ]
    raw = [array.tobytes() for array in inputs.values()]
    kind = message_class("ModelInferRequest")
    message = kind(model_name=name, inputs=entries, raw_input_contents=raw)
    return message.SerializeToString()


def datatype(array: np.ndarray) -> str:
    """The protocol's name of a dtype."""
    return str(array.dtype).upper().replace("FLOAT", "FP")


async def open_loop(send: Send, rate: float, seconds: float, seed: int = 0) -> Load:
    """The load of Poisson arrivals."""
    gaps = np.random.default_rng(seed).exponential(1 / rate, int(rate * seconds) + 1)
    latencies: list[float] = []
    running: set[asyncio.Task[None]] = set()
    is_kept_up = True

    async def one(due: float) -> None:
        await send()
        latencies.append(time.perf_counter() - due)

    begin = time.perf_counter()
    for due in begin + np.cumsum(gaps):
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        if len(running) > MOST:
            is_kept_up = False
            break
        task = asyncio.create_task(one(due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    taken = time.perf_counter() - begin
    return Load(len(latencies) / taken, np.array(latencies), is_kept_up)


async def closed_loop(send: Send, clients: int, seconds: float) -> Load:
    """The load of some clients that ask again as soon as they are answered."""
    latencies: list[float] = []
    begin = time.perf_counter()

    async def client() -> None:
        while (start := time.perf_counter()) - begin < seconds:
            await send()
            latencies.append(time.perf_counter() - start)

    await asyncio.gather(*(client() for _ in range(clients)))
    taken = time.perf_counter() - begin
    return Load(len(latencies) / taken, np.array(latencies), True)


async def rate_within(
    send: Send, limit: float, bounds: tuple[float, float], steps: int, seconds: float
) -> float:
    """The highest rate whose 99th percentile is within the limit (in milliseconds)."""
    low, high = bounds
    best = 0.0
    for _ in range(steps):
        rate = (low + high) / 2
        load = await open_loop(send, rate, seconds)
        if load.is_kept_up and load.percentile(99) <= limit:
            best, low = max(best, load.rate), rate
        else:
            high = rate
    return best
