"""A Ray cluster of hosts with networks of their own: namespaces, joined by a bridge.

Needs the right to make them (root, on Linux); addresses are those of the namespaces only.
"""

from __future__ import annotations

import contextlib
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

pytest.importorskip("ray", reason="Ray is an extra")
from support.runtime import ray_driver

NETWORK = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = glow.relu %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
PREFIX = "10.213.57."
HEAD = f"{PREFIX}1"
NODES = {"glowray1": f"{PREFIX}2", "glowray2": f"{PREFIX}3"}
BRIDGE = "glowray0"
OPTIONS = ("--num-cpus=1", f"--object-store-memory={80 << 20}", "--block")
SECONDS = 90


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, check=True)


def begin_network():
    """A bridge, and a namespace with an address for each node."""
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{HEAD}/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    for name, address in NODES.items():
        ip("netns", "add", name)
        link = f"{name}v"
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", link, "master", BRIDGE, "up")
        ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip("-n", name, "link", "set", device, "up")


def end_network():
    for name in NODES:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            ip("netns", "del", name)
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        ip("link", "del", BRIDGE)


def free_port():
    with socket.create_server((HEAD, 0)) as server:
        return server.getsockname()[1]


def start(started, address, environment, words, namespace=None):
    """A node of Ray, in a session of its own; returns when it has begun.

    One after the other: they share a folder here, in which they look for names that are free.
    """
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    command = [*inside, str(Path(sys.executable).parent / "ray"), "start"]
    with tempfile.NamedTemporaryFile("w") as log:
        node = started[address] = subprocess.Popen(
            [*command, f"--node-ip-address={address}", *words, *OPTIONS],
            env=environment,
            start_new_session=True,
            stdout=log.file.fileno(),
            stderr=subprocess.STDOUT,
        )
        wait_until(lambda: "Ray runtime started" in Path(log.name).read_text())
    assert node.poll() is None


def stop(process):
    """End a node with all its processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(is_so):
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def nodes():
    """The head's address and port, the processes of the nodes by address, and the environment."""
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip")
    started = {}
    folder = tempfile.mkdtemp(prefix="glowray")  # Short, since sockets lie in it.
    # The nodes know each other by a secret of their own.
    environment = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    environment["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    try:
        try:
            begin_network()
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no network namespaces can be made here")
        port = free_port()
        head = ("--head", f"--port={port}", f"--temp-dir={folder}")
        start(started, HEAD, environment, (*head, "--include-dashboard=false"))
        for name, address in NODES.items():
            start(started, address, environment, [f"--address={HEAD}:{port}"], name)
        yield f"{HEAD}:{port}", started, environment
    finally:
        for process in started.values():
            stop(process)
        end_network()
        shutil.rmtree(folder, ignore_errors=True)


def test_hosts_that_share_nothing_but_a_network(nodes, tmp_path):
    address, started, environment = nodes
    model = tmp_path / "network.mlir"
    model.write_text(NETWORK)
    lost = next(iter(NODES.values()))
    command = [
        sys.executable,
        ray_driver.__file__,
        address,
        lost,
        str(started[lost].pid),
    ]
    done = subprocess.run(
        [*command, str(model)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    names = " ".join(f"ray:{each}/0" for each in (HEAD, *NODES.values()))
    assert f"devices {names}" in done.stdout
    assert f"lost ray:{lost}/0" in done.stdout
