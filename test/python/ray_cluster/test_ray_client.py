"""A cluster by the address of its client server, `ray://`, which is killed under a host."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from places import ROOT

pytest.importorskip("ray", reason="Ray is an extra")

MODEL = ROOT / "examples" / "digits" / "mlp.onnx"
SECONDS = 90
GRACE = "RAY_CLIENT_RECONNECT_GRACE_PERIOD"
DRIVER = """
import os, signal, sys
import numpy as np
import glow
from glow.host.request import DeviceError

address, head, model = sys.argv[1], int(sys.argv[2]), sys.argv[3]
x = np.ones((1, 1, 8, 8), np.float32)
expected = glow.compile(model, backend="interpreter")(x)
with glow.Host(address) as host:
    host.add("mlp", model)
    host.add("open", sys.argv[4])
    (found,) = host.run("mlp", x).result(60).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    for rows in (1, 3):
        x2 = np.full((rows, 3), -2, np.float32)
        assert (host.run("open", x2).result(60)["y"] == 2).all()
    try:
        host.run("mlp", x[:, :, 1:]).result(60)
    except glow.GlowError as error:
        print("wrong:", error)
    print("right", flush=True)
    os.killpg(head, signal.SIGKILL)
    try:
        host.run("mlp", x).result(60)
    except DeviceError as error:
        print("lost:", error.device.startswith("ray:"))
print("closed")
"""
OPEN = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[N, 3] x) => (float[N, 3] y) { y = Abs(x) }
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def head():
    """The address of a cluster's client server, its group of processes, and the environment."""
    folder = tempfile.mkdtemp(prefix="glowray")  # Short, since sockets lie in it.
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        GRACE: "1",
    }
    port, main, agent = free_port(), free_port(), free_port()
    options = [f"--port={main}", f"--ray-client-server-port={port}", "--num-cpus=1"]
    # Ray 2.60 tells its client server the port 0 of an agent that finds a port itself.
    options += [f"--runtime-env-agent-port={agent}", f"--temp-dir={folder}"]
    options += [f"--object-store-memory={80 << 20}", "--include-dashboard=false"]
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block"]
    process = subprocess.Popen(
        [*command, *options],
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        yield f"ray://127.0.0.1:{port}", process.pid, environment
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(port):
    """Return when somebody listens."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.2)
        else:
            return


def test_a_cluster_by_its_address(head, tmp_path):
    from onnx import parser, save

    save(parser.parse_model(OPEN), tmp_path / "open.onnx")
    address, group, environment = head
    arguments = [address, str(group), str(MODEL), str(tmp_path / "open.onnx")]
    found = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    wrong, *rest = found.stdout.splitlines()
    assert "must have shape [1, 1, 8, 8]" in wrong
    assert rest == ["right", "lost: True", "closed"]


def test_a_node_measures_candidates(head, monkeypatch):
    """What it dies of is left out; where the cluster is gone, that is one line."""
    from glow.dialects.errors import GlowError
    from glow.lowering.target.target import host_target
    from glow.tools.machine.bench import kernel_library
    from glow.tuning.remote.board import Board, Program

    def program(body):
        text = f"define void @kernel(ptr %x, i64 %n) {{\n{body}\n  ret void\n}}\n"
        library = kernel_library(text + "declare void @llvm.trap()", host_target())
        return Program([library], [("floats", 4096)], [(0, "kernel", [0], [7])])

    address, group, environment = head
    for name in (name for name in environment if name.startswith("RAY_")):
        monkeypatch.setenv(name, environment[name])
    told = []
    board = Board(address, told.append)
    assert board.machine == os.uname().machine
    programs = {
        "deadly": program("  call void @llvm.trap()"),
        "fine": program("  store volatile i64 %n, ptr %x"),
    }
    deadly, fine = board.measure(programs, 1, 1 << 20)
    assert math.isinf(deadly.warm)
    assert 0 < fine.warm < 1
    (line,) = told
    assert f"{address}: deadly is left out: the runner has ended (" in line
    os.killpg(group, signal.SIGKILL)
    with pytest.raises(GlowError, match=f"{address}: the runner has ended"):
        board.measure({"fine": programs["fine"], "next": programs["fine"]}, 1, 1 << 20)
    board.close()
