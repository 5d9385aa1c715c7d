"""Clients that do wrong, against a server of its own: one that does right must not notice.

    python test/fuzz/serving/serving_faults.py [--connections 10000] [--seconds 5]

They connect and say nothing, announce a gigabyte and send it slowly or all of it, close half of a
connection in the middle of a body, send headers without an end, ask again and again and read no
answer, and send bytes that are no HTTP; much of that over gRPC too (`grpc_faults.py`).
Meanwhile two clients ask for results, one by each protocol. Printed are their requests, the
slowest, and how the memory of the server grew.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import grpc
from grpc_faults import GrpcFaults

from glow.serving.messages import SERVICE, message_class

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "examples" / "digits" / "mlp.onnx"
START = "from glow.tools.start import glow; glow()"
INFER = "/v2/models/mlp/infer"
GIGABYTE = 1 << 30
MOST_GROWTH = 800 << 20
"""Of the server's memory: 256 MiB of a body, and some 20 KiB a connection, 100 over gRPC."""

ENTRY = {"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [1] * 64}
REQUEST = json.dumps({"inputs": [ENTRY]}).encode()


@contextmanager
def server():
    """A server and its address; it is stopped whatever happens."""
    command = [sys.executable, "-c", START, "serve", str(MODEL), "--port", "0"]
    command += ["--grpc-port", "0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = child.stdout.readline()
        http, rpc = map(urlsplit, re.findall(r"\w+://\S+", line))
        yield child.pid, http, (rpc.hostname, rpc.port)
    finally:
        child.terminate()
        try:
            child.communicate(timeout=40)
        finally:
            child.kill()


def peak_bytes(pid):
    """The most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) << 10


def connect(address):
    """A connection to the server."""
    return socket.create_connection((address.hostname, address.port), timeout=10)


def head(size, content="application/json"):
    """The beginning of a request with a body."""
    lines = [f"POST {INFER} HTTP/1.1", "Host: t", f"Content-Type: {content}"]
    lines += [
        "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Faults:
    """What is done to a server."""

    def __init__(self, address, seed):
        self.address = address
        self.random = random.Random(seed)

    def idle(self, stack, count):
        """Connect many times, and begin a request now and then."""
        for index in range(count):
            client = stack.enter_context(connect(self.address))
            if index % 2:
                client.sendall(head(100)[: self.random.randrange(1, 60)])

    def slow(self, stack, count):
        """Begin bodies."""
        for _ in range(count):
            client = stack.enter_context(connect(self.address))
            client.sendall(head(1 << 20) + b'{"inputs": [')

    def announced(self):
        """Announce a gigabyte; the answer comes before it is sent."""
        with connect(self.address) as client:
            client.sendall(head(GIGABYTE))
            return b" 413 " in client.recv(4096)

    def chunked(self):
        """Send a gigabyte that was not announced, until it is refused."""
        piece = b" " * (1 << 20)
        with connect(self.address) as client, suppress(ConnectionError):
            client.sendall(head(None))
            for _ in range(GIGABYTE >> 20):
                client.sendall(b"100000\r\n" + piece + b"\r\n")
            return False
        return True

    def long_headers(self):
        """Send a header without an end, until it is refused."""
        with connect(self.address) as client, suppress(ConnectionError):
            client.sendall(f"POST {INFER} HTTP/1.1\r\nX-Long: ".encode())
            for _ in range(64):
                client.sendall(b"y" * (1 << 18))
            return False
        return True

    def half_closed(self):
        """Say that there is no more in the middle of a body."""
        with connect(self.address) as client, suppress(ConnectionError):
            client.sendall(head(1000) + b"{}")
            client.shutdown(socket.SHUT_WR)
            client.recv(4096)

    def greedy(self, stack, count):
        """Ask again and again, and read no answer."""
        asked = head(len(REQUEST)) + REQUEST
        for _ in range(count):
            client = stack.enter_context(connect(self.address))
            client.settimeout(0.2)
            with suppress(TimeoutError):
                for _ in range(200):
                    client.sendall(asked * 100)

    def garbage(self):
        """Send what is no HTTP; nothing of Python may come back."""
        with connect(self.address) as client, suppress(ConnectionError):
            client.sendall(self.random.randbytes(self.random.randrange(1, 4000)))
            client.shutdown(socket.SHUT_WR)
            return b"Traceback" not in client.recv(1 << 16)
        return True


class GoodClient(threading.Thread):
    """Asks for results, one after the other."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask
        self.seconds, self.faults = [], []
        self.ended = threading.Event()

    def run(self):
        expected = None
        while not self.ended.wait(0.005):
            start = time.perf_counter()
            try:
                found = self.ask()
            except (OSError, grpc.RpcError) as error:
                self.faults.append(str(error))
                continue
            self.seconds.append(time.perf_counter() - start)
            expected = expected or found
            if found != expected:
                self.faults.append("another result")


def ask_http(address):
    """Results over HTTP, a connection for each request."""
    url = f"{address.scheme}://{address.netloc}{INFER}"
    with urllib.request.urlopen(url, REQUEST, timeout=20) as answer:
        return json.load(answer)["outputs"]


def ask_grpc(channel):
    """Results over gRPC, one connection for all requests."""
    message = message_class("ModelInferRequest")(
        model_name="mlp",
        inputs=[{"name": "image", "datatype": "FP32", "shape": ENTRY["shape"]}],
        raw_input_contents=[bytes(256)],
    )
    infer = channel.unary_unary(f"/{SERVICE}/ModelInfer")
    return infer(message.SerializeToString(), timeout=20)


def run_faults(connections, seconds, *, is_long=True):
    """How long well-behaved clients waited, and the server's growth in bytes; faults raise."""
    with server() as (pid, address, rpc), ExitStack() as stack:
        faults, other = Faults(address, seed=1), GrpcFaults(rpc)
        channel = stack.enter_context(grpc.insecure_channel("{}:{}".format(*rpc)))
        good = [GoodClient(partial(ask_http, address))]
        good.append(GoodClient(partial(ask_grpc, channel)))
        for client in good:
            client.start()
        try:
            before = peak_bytes(pid)
            faults.idle(stack, connections)
            other.idle(stack, connections // 4)
            faults.slow(stack, min(connections, 600))
            other.slow(stack, min(connections, 600))
            assert faults.announced(), "a gigabyte was not refused"
            assert other.announced(), "a gigabyte was not refused over gRPC"
            faults.greedy(stack, 3 if is_long else 1)
            assert faults.long_headers(), "headers of 16 MiB were not refused"
            if is_long:
                assert faults.chunked(), "a gigabyte in chunks was not refused"
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                faults.half_closed()
                assert faults.garbage(), "an answer holds a traceback"
                assert other.garbage(faults.random), "an answer holds a traceback"
        finally:
            for client in good:
                client.ended.set()
                client.join()
        growth = peak_bytes(pid) - before
    for client in good:
        assert not client.faults, client.faults[:3]
        assert client.seconds, "no request of a well-behaved client ended"
    assert growth < MOST_GROWTH, f"the server grew by {growth >> 20} MiB"
    return [one for client in good for one in client.seconds], growth


def main():
    """Run the faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    connections = min(args.connections, (files - 2000) * 3 // 4)
    print(
        f"{connections} connections of HTTP that say nothing, a quarter as many of gRPC"
    )
    seconds, growth = run_faults(connections, args.seconds)
    print(f"{len(seconds)} requests of two well-behaved clients, none failed")
    print(f"slowest {max(seconds) * 1e3:.0f} ms; the server grew by {growth >> 20} MiB")


if __name__ == "__main__":
    main()
