"""A device in a process of its own: what it computes, and what becomes of it when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.runtime.host_testing import doubling, open_doubling

import glow
from glow.dialects.errors import GlowError
from glow.host.devices import model_blob
from glow.host.devices.device import Health
from glow.host.devices.model_blob import ModelBlob, read_blob
from glow.host.devices.process import ProcessDevice
from glow.host.devices.specification import (
    DeviceSpecification,
    core_shares,
    parse_specifications,
)
from glow.host.request import (
    ClosedError,
    DeadlineError,
    DeviceError,
    DeviceMemoryError,
    Request,
)

NETWORK = """
func.func @main(%table: tensor<4x2xf32>, %rows: tensor<3xi64>)
    -> (tensor<3x2xf32>, tensor<4x2xf32>) {
  %0 = glow.gather %table, %rows axis 0 : tensor<3x2xf32>
  %1 = glow.relu %table : tensor<4x2xf32>
  func.return %0, %1 : tensor<3x2xf32>, tensor<4x2xf32>
}
"""
COUNTER = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = glow.variable @sum : tensor<2xf32>
  %1 = glow.add %0, %x : tensor<2xf32>
  glow.save %1, @sum
  func.return %1 : tensor<2xf32>
}
"""
TABLE = np.arange(-4, 4, dtype=np.float32).reshape(4, 2)
ROWS = np.array([3, 0, 1])
SECONDS = 60
"""For how long a test waits at most for what takes a moment."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "network.mlir"
    path.write_text(NETWORK)
    return glow.compile(path)


@pytest.fixture(scope="module")
def device(model):
    device = ProcessDevice("process:7", DeviceSpecification("process"))
    with contextlib.closing(device):
        device.load("m", model)
        yield device


def run(device, *inputs, key="m", **settings):
    return device.run(key, inputs, Request("r", **settings))


def wait_until(is_so):
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def has_ended(process):
    """Whether a process has ended, by its folder, which it has until it is waited for."""
    try:
        return "State:\tZ" in (process / "status").read_text()
    except OSError:
        return True


def check(outputs):
    np.testing.assert_array_equal(outputs[0], TABLE[ROWS])
    np.testing.assert_array_equal(outputs[1], np.maximum(TABLE, 0))


def test_outputs_are_copies_of_their_own(device):
    first = run(device, TABLE, ROWS).result()
    run(device, TABLE + 1, ROWS).result()
    check(first)
    futures = [run(device, TABLE, ROWS) for _ in range(40)]
    for future in futures:
        check(future.result())
    assert device.memory().used_bytes > 0
    assert device.health() is Health.READY


def test_blocks_grow_with_open_sizes(device):
    device.load("open", open_doubling())
    for count in (1, 3000, 0, 100_000, 2):
        x = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
        np.testing.assert_array_equal(run(device, x, key="open").result()[0], 2 * x)
    with pytest.raises(GlowError, match="must have dtype float32, not int64"):
        run(device, np.ones((1, 2), np.int64), key="open").result()
    device.unload("open")
    check(run(device, TABLE, ROWS).result())


def test_errors_of_requests_reach_their_callers(device):
    with pytest.raises(GlowError, match="index"):
        run(device, TABLE, ROWS + 9).result()
    with pytest.raises(GlowError, match=r"shape \[4, 2\], not \[2\]"):
        run(device, TABLE[0], ROWS).result()
    with pytest.raises(ClosedError, match="no network 'n'"):
        run(device, TABLE, key="n")
    with pytest.raises(DeadlineError):
        run(device, TABLE, ROWS, deadline=0.0).result()
    assert run(device, TABLE, ROWS, is_cancelled=True).cancelled()
    check(run(device, TABLE, ROWS).result())


def test_killed_and_started_again(device, tmp_path):
    (tmp_path / "counter.mlir").write_text(COUNTER)
    device.load("counter", glow.compile(tmp_path / "counter.mlir"))
    one = np.ones(2, np.float32)
    for count in (1, 2):
        (found,) = run(device, one, key="counter").result()
        np.testing.assert_array_equal(found, [count, count])
    healths = []
    device.on_change = lambda device: healths.append(device.health())
    first = device.pid
    os.kill(first, signal.SIGSTOP)
    os.waitpid(first, os.WUNTRACED)  # Until all its threads stand still.
    begun = [run(device, TABLE, ROWS) for _ in range(device.slots)]
    waiting = run(device, TABLE, ROWS)
    os.kill(first, signal.SIGKILL)
    for future in begun:
        with pytest.raises(DeviceError, match=r"'process:7' failed: .*SIGKILL") as info:
            future.result(SECONDS)
        assert info.value.device == "process:7"
    check(waiting.result(SECONDS))
    wait_until(lambda: len(healths) == 2)
    assert healths == [Health.RESTARTING, Health.READY]
    assert device.pid != first
    with pytest.raises(
        DeviceError, match="values of the network's variables were lost"
    ):
        run(device, one, key="counter").result()
    device.unload("counter")
    device.on_change = None


def test_a_blob_is_read_or_mapped(model, monkeypatch):
    blob = ModelBlob(model)
    for there_is in (1 << 40, 1000):
        monkeypatch.setattr(
            model_blob, "memory_bytes", lambda there_is=there_is: there_is
        )
        check(read_blob(blob.descriptor, blob.kind).run_in_order([TABLE, ROWS]))
    os.pwrite(blob.descriptor, b"?", 100)
    with pytest.raises(GlowError, match="is damaged"):
        read_blob(blob.descriptor, blob.kind)
    with pytest.raises(GlowError, match="Doubling runs cannot go to another process"):
        ModelBlob(doubling())


def test_memory_is_accounted(model):
    small = DeviceSpecification("process", memory_bytes=100)
    device = ProcessDevice("process:0", small)
    with contextlib.closing(device):
        with pytest.raises(DeviceMemoryError, match="'process:0', where 100 are free"):
            device.load("m", model)
    with pytest.raises(ClosedError):
        run(device, TABLE, ROWS)


def test_cores_are_shared_and_pinned(model):
    assert core_shares((1, 2, 3, 4, 5), 2) == [(1, 2), (3, 4, 5)]
    assert core_shares((4, 6), 3) == [(4,), (6,), (4,)]
    if hasattr(os, "sched_getaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        (one,) = parse_specifications(f"process@{cores[-1]}")
        device = ProcessDevice("process:0", one)
        with contextlib.closing(device):
            device.load("m", model)
            assert os.sched_getaffinity(device.pid) == {cores[-1]}
            check(run(device, TABLE, ROWS).result())
        with pytest.raises(GlowError, match="core 99999 is not there"):
            ProcessDevice("process:0", *parse_specifications("process@99999"))


HOSTILE = """
    import json, os, socket, struct, sys, time
    options = json.loads(sys.argv[1])
    control = socket.socket(fileno=options["control"])
    slots = [socket.socket(fileno=slot[0]) for slot in options["slots"]]
    def say(frame):
        text = json.dumps(frame).encode()
        control.sendall(struct.pack("<I", len(text)) + text)
    say({"ready": 1})
    size, = struct.unpack("<I", control.recv(4))
    frame = json.loads(control.recv(size))
    say({"network": frame["network"]})
    header = slots[0].recv(20) if len(slots) == 1 else None
"""
ENDINGS = {
    "garbage": ("slots[0].sendall(bytes(range(64))); time.sleep(60)", "no answer"),
    "half": ("slots[0].sendall(bytes(5)); os._exit(3)", "ended with code 3"),
    "closed": ("slots[0].close(); time.sleep(60)", "connection was closed"),
    "error": (
        "slots[0].sendall(struct.pack('<IIQ', 1, 2, 1) + b'{{'); time.sleep(60)",
        "no answer",
    ),
    "text": (
        "slots[0].sendall(struct.pack('<IIQ', 0, 1 << 31, 1)); time.sleep(60)",
        "no answer",
    ),
    "early": (
        "slots[0].sendall(struct.pack('<IIQ', 0, 0, 9)); time.sleep(60)",
        "no answer",
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_hostile_process_is_an_error(model, ending):
    code, reason = ENDINGS[ending]
    command = [sys.executable, "-c", textwrap.dedent(HOSTILE) + code]
    cores = (min(os.sched_getaffinity(0)),)
    device = ProcessDevice(
        "process:0", DeviceSpecification("process", cores=cores), command
    )
    with contextlib.closing(device):
        device.load("m", model)
        with pytest.raises(DeviceError, match=f"'process:0' failed: .*{reason}"):
            run(device, TABLE, ROWS).result(SECONDS)


def test_a_process_that_always_dies_is_given_up(model, monkeypatch):
    monkeypatch.setattr("glow.host.devices.process.PAUSES", (0.0, 0.0, 0.0))
    command = [sys.executable, "-c", "raise SystemExit(4)"]
    device = ProcessDevice("process:0", DeviceSpecification("process"), command)
    with contextlib.closing(device):
        reason = "ended with code 4 while it started, 3 times"
        with pytest.raises(DeviceError, match=reason):
            device.load("m", model)
        assert device.health() is Health.DEAD


HOST = """
    import os, sys, time
    from glow.host.devices.process import ProcessDevice
    from glow.host.devices.specification import DeviceSpecification
    device = ProcessDevice("process:0", DeviceSpecification("process"))
    print(device._ready_worker().pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")
def test_nothing_is_left_of_a_host_that_was_killed():
    command = [sys.executable, "-c", textwrap.dedent(HOST)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        worker = Path("/proc", host.stdout.readline().strip())
        assert worker.exists()
        shared = mapped_names(worker) | mapped_names(Path("/proc", str(host.pid)))
        host.kill()
    wait_until(lambda: has_ended(worker))
    assert not any(os.path.exists(name) for name in shared)


def mapped_names(process):
    """The files of shared memory that a process has mapped, or has open."""
    lines = (process / "maps").read_text().splitlines()
    names = {line.split(maxsplit=5)[-1] for line in lines if "/dev/shm/" in line}
    links = [os.readlink(link) for link in (process / "fd").iterdir()]
    return names | {link for link in links if "/dev/shm/" in link}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
def test_close_leaves_nothing(model):
    def descriptors():
        links = (one for one in os.scandir("/proc/self/fd"))
        found = Counter()
        for one in links:
            with contextlib.suppress(OSError):  # It is closed by now.
                found[os.readlink(one.path)] += 1
        return found

    # The file of the model stays as long as the model does: it is made before.
    with glow.Host(["process"]) as host:
        host.add("m", model)
    before = descriptors()
    with glow.Host(["process"]) as host:
        host.add("m", model)
        (device,) = host.devices
        worker = Path(f"/proc/{device.pid}")
        check(list(host.run("m", [TABLE, ROWS]).result().values()))
        first = device.pid
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: device.pid not in (None, first))
        check(list(host.run("m", [TABLE, ROWS]).result(SECONDS).values()))
    assert not worker.exists()
    # Threads of other tests may open and close files of their own meanwhile.
    wait_until(lambda: descriptors() <= before)
