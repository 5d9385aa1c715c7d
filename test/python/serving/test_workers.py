"""`glow serve --processes 2` as a user starts it: both protocols, and a worker that dies."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import grpc
import numpy as np
import psutil
import pytest
from places import ROOT

from glow.dialects.errors import GlowError
from glow.serving.messages import SERVICE, message_class
from glow.serving.server import listen
from glow.serving.workers import Supervisor, Worker, share_cores

MODEL = ROOT / "examples" / "digits" / "mlp.onnx"
START = "from glow.tools.start import glow; glow()"


@contextmanager
def workers(*arguments):
    """The supervisor of a server, and its addresses; all is stopped whatever happens."""
    command = [sys.executable, "-c", START, "serve", str(MODEL), "--port", "0"]
    child = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield child, re.findall(r"\w+://(\S+)", child.stdout.readline())
    finally:
        left = psutil.Process(child.pid).children() if child.poll() is None else []
        for process in [child, *left]:
            process.kill()
        child.communicate()


def infer(address):
    """What the network says of an empty image."""
    request = message_class("ModelInferRequest")(
        model_name="mlp",
        inputs=[{"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8]}],
        raw_input_contents=[bytes(256)],
    )
    with grpc.insecure_channel(address) as channel:
        response = channel.unary_unary(
            f"/{SERVICE}/ModelInfer",
            request.SerializeToString,
            message_class("ModelInferResponse").FromString,
        )(request, timeout=30, wait_for_ready=True)
    return np.frombuffer(response.raw_output_contents[0], np.float32)


def worker_processes(child):
    """The workers by their process's id."""
    found = psutil.Process(child.pid).children()
    return {p.pid for p in found if "spawn_main" in command_of(p)}


def command_of(process):
    """The command line of a process; none of one that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def figures(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as response:
        return response.read().decode()


def mapped_models(pid):
    """The files of models that a process has mapped, by number."""
    maps = psutil.Process(pid).memory_maps(grouped=False)
    return {os.stat(one.path).st_ino for one in maps if ".glowmodel" in one.path}


def test_workers_share_ports_and_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "100")
    options = ["--grpc-port", "0", "--processes", "2", "--threads", "1"]
    with workers(*options) as (child, (http, rpc)):
        expected = infer(rpc)
        assert expected.shape == (10,)
        before = worker_processes(child)
        assert len(before) == 2
        if sys.platform == "linux":
            first, second = map(mapped_models, before)
            assert first == second != set()
        wait_until(
            lambda: set(re.findall(r'worker="(\d)"', figures(http))) == {"0", "1"}
        )
        counted = r'glow_requests_total{.*protocol="grpc",status="200",.*} 1.0'
        wait_until(lambda: re.search(counted, figures(http)))

        os.kill(min(before), signal.SIGKILL)
        # Until then it has its sockets, and connections that are made to them are lost.
        wait_until(lambda: min(before) not in worker_processes(child))
        for _ in range(5):
            np.testing.assert_array_equal(infer(rpc), expected)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
        assert not any(map(psutil.pid_exists, before))


def never_ready(worker, on_ready):
    return 1


def dies_at_first(worker, on_ready):
    """A worker that is there again after it died."""
    mark = worker.folder / "died"
    on_ready()
    if not mark.exists():
        mark.touch()
        return 1
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(60)
    return 1


def supervise(folder, work):
    with listen("127.0.0.1", 0) as listening:
        ready = []
        Supervisor([Worker(0, (), listening, None, folder)], work).run(
            lambda: ready.append(True)
        )
    return ready


def test_a_worker_that_cannot_begin_ends_the_server(tmp_path):
    with pytest.raises(GlowError, match="worker 0 ended before it was ready"):
        supervise(tmp_path, never_ready)


def test_a_worker_that_dies_is_replaced_until_a_signal(tmp_path, monkeypatch):
    monkeypatch.setattr("glow.serving.workers.SHORT_LIFE", 0.0)
    before = signal.getsignal(signal.SIGTERM)
    assert supervise(tmp_path, dies_at_first) == [True]
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("count", "shares"),
    [
        (1, [[0, 1, 2, 5, 7]]),
        (2, [[0, 1], [2, 5, 7]]),
        (5, [[0], [1], [2], [5], [7]]),
        (6, [[0], [1], [2], [5], [7], [0]]),
    ],
)
def test_cores_are_divided(monkeypatch, count, shares):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {7, 5, 2, 1, 0})
    assert [list(share) for share in share_cores(count)] == shares


def test_a_port_is_reserved_for_those_who_share_it():
    with listen("127.0.0.1", 0, is_shared=True) as reserved:
        address = reserved.getsockname()
        with pytest.raises(GlowError, match="cannot listen on"):
            listen(*address)
        with socket.socket() as other, pytest.raises(ConnectionRefusedError):
            other.connect(address)
