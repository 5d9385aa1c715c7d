"""The servers that a load goes to, each a child process: ours, ONNX Runtime's, MLServer.

ONNX Runtime stands behind the same HTTP service as our host, with as many threads a request
and requests at a time as are asked for. MLServer runs a small runtime (`mlserver_runtime.py`)
over ONNX Runtime, in an environment of its own that is made when it is first needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "build" / "mlserver"
MLSERVER = ("mlserver==1.7.1", "uvloop<0.22", "onnxruntime")
"""Its workers do not start with later versions of uvloop."""
RUNTIME = Path(__file__).with_name("mlserver_runtime.py")
START_SECONDS = 120
MODEL = "network"
"""The name of the model on all servers."""


@dataclass(frozen=True)
class Ports:
    """Where a server is."""

    http: int
    grpc: int = 0
    pid: int = 0

    def memory_bytes(self) -> int:
        """That of the process and its children; pages of several count in parts."""
        process = psutil.Process(self.pid)
        all_ = [process, *process.children(recursive=True)]
        return sum(one.memory_full_info().pss for one in all_)


@contextmanager
def glow_server(model: Path, *options: str) -> Iterator[Ports]:
    """`glow serve` with a model and options."""
    start = "from glow.tools.start import glow; glow()"
    command = [sys.executable, "-c", start, "serve", str(model)]
    ports = ["--port", "0", "--grpc-port", "0"]
    with _child([*command, *ports, *options], stdout=subprocess.PIPE) as child:
        found = re.findall(r"://[^ ]+:(\d+)", _first_line(child))
        yield Ports(*map(int, found), pid=child.pid)


@contextmanager
def onnxruntime_server(model: Path, threads: int, workers: int) -> Iterator[Ports]:
    """ONNX Runtime behind our HTTP service: threads a request, and requests at a time."""
    command = [sys.executable, "-m", "benchmarks.servers.peers", str(model)]
    arguments = [*command, str(threads), str(workers)]
    with _child(arguments, stdout=subprocess.PIPE, cwd=ROOT) as child:
        yield Ports(int(_first_line(child)))


@contextmanager
def echo_server() -> Iterator[int]:
    """The port of a gRPC server that answers with what it is sent."""
    command = [sys.executable, "-m", "benchmarks.servers.echo"]
    with _child(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        yield int(_first_line(child))


@contextmanager
def mlserver(model: Path, folder: Path, workers: int) -> Iterator[Ports]:
    """MLServer with processes that run ONNX Runtime on a thread each."""
    if not (ENVIRONMENT / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        pip = [ENVIRONMENT / "bin" / "pip", "install", "--quiet", *MLSERVER]
        subprocess.run(pip, check=True)
        (ENVIRONMENT / ".ready").touch()
    http, rpc, metrics = free_ports(3)
    folder.mkdir()
    shutil.copy(RUNTIME, folder)
    settings = {"name": MODEL, "implementation": "mlserver_runtime.OnnxRuntime"}
    settings["parameters"] = {"uri": str(model)}
    (folder / "model-settings.json").write_text(json.dumps(settings))
    server = {"http_port": http, "grpc_port": rpc, "metrics_port": metrics}
    server |= {"host": "127.0.0.1", "debug": False, "parallel_workers": workers}
    (folder / "settings.json").write_text(json.dumps(server))
    command = [str(ENVIRONMENT / "bin" / "mlserver"), "start", str(folder)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with _child(command, cwd=folder, start_new_session=True, **quiet) as child:
        _await_ready(f"http://127.0.0.1:{http}/v2/models/{MODEL}/ready", child)
        yield Ports(http, rpc)


def free_ports(count: int) -> list[int]:
    """Ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def _child(command: list[str], **how: object) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block, and its children if the group is its own."""
    child = subprocess.Popen(command, text=True, **how)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if how.get("start_new_session"):
            try:
                os.killpg(child.pid, 9)
            except ProcessLookupError:
                pass


def _first_line(child: subprocess.Popen[str]) -> str:
    if line := child.stdout.readline():
        return line
    raise SystemExit("a server ended before it was ready")


def _await_ready(address: str, child: subprocess.Popen[str]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and child.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise SystemExit("MLServer did not become ready")


class OnnxRuntimeModels:
    """`glow.serving.repository.ServedModels` of one ONNX Runtime session."""

    def __init__(self, model: str, threads: int, workers: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(model, options, providers)
        self.names = [output.name for output in self.session.get_outputs()]
        self.pool = ThreadPoolExecutor(workers)

    def is_ready(self) -> bool:
        """Whether requests are taken."""
        return True

    def is_model_ready(self, name: str, version: str = "") -> bool:
        """Whether requests for a model are taken."""
        return True

    async def infer(self, request):
        """The outputs, computed in a thread of the pool."""
        from glow.serving.requests import InferenceResponse

        loop = asyncio.get_running_loop()
        arrays = await loop.run_in_executor(
            self.pool, self.session.run, None, request.inputs
        )
        outputs = dict(zip(self.names, arrays, strict=True))
        return InferenceResponse(request.model, "1", request.id, outputs)


def main() -> None:
    """Serve with ONNX Runtime until a signal: model, threads, workers."""
    import uvicorn

    from glow.serving.app import make_app
    from glow.serving.service import Service

    model, threads, workers = sys.argv[1], *map(int, sys.argv[2:])
    app = make_app(Service(OnnxRuntimeModels(model, threads, workers)))
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", date_header=False
    )
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
