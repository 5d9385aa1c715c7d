"""Nodes of a Ray cluster as devices: three on this machine (`make ray` runs these)."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from onnx import parser

import glow
from glow.dialects.errors import GlowError
from glow.host.devices import ray as ray_device
from glow.host.devices.device import Health
from glow.host.request import ClosedError, DeviceError, DeviceMemoryError, Request

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
ray = pytest.importorskip("ray", reason="Ray is an extra")
Cluster = pytest.importorskip("ray.cluster_utils").Cluster

STORE_BYTES = 80 << 20
SECONDS = 60
NETWORK = """
func.func @main(%x: tensor<8x64xf32>, %rows: tensor<2xi64>) -> tensor<2x64xf32> {
  %w = glow.splat 0.5 : tensor<64x64xf32>
  %0 = glow.matmul %x, %w : tensor<8x64xf32>
  %1 = glow.gather %0, %rows axis 0 : tensor<2x64xf32>
  func.return %1 : tensor<2x64xf32>
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
X = np.arange(8 * 64, dtype=np.float32).reshape(8, 64)
ROWS = np.array([5, 1])


@pytest.fixture(scope="module")
def cluster():
    options = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    head = {**options, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(2):
            cluster.add_node(**options)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "network.mlir"
    path.write_text(NETWORK)
    return path


@pytest.fixture(scope="module")
def model(path):
    return glow.compile(path)


@pytest.fixture
def host(cluster):
    with glow.Host("ray") as host:
        yield host


def wait_until(is_so):
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def pid_of(device):
    return ray.get(device.actor.ready.remote())


def run(device, key, *inputs):
    return device.run(key, inputs, Request("r"))


def check(model, results):
    (found,) = results.values()
    np.testing.assert_array_equal(found, model(X, ROWS))
    assert found.flags.writeable


def test_each_node_runs_what_was_compiled_once(host, model):
    names = [device.name for device in host.devices]
    assert len(set(names)) == 3
    assert all(name.startswith("ray:") for name in names)
    host.add("m", model, replicas=3)
    futures = [host.run("m", [X, ROWS]) for _ in range(30)]
    for future in futures:
        check(model, future.result(SECONDS))
    assert all(device.requests > 0 for device in host.devices)
    blobs = {
        network.object for one in host.devices for network in one._networks.values()
    }
    assert len(blobs) == 1
    with pytest.raises(GlowError, match="index"):
        host.run("m", [X, ROWS + 99]).result(SECONDS)
    with pytest.raises(GlowError, match="must have shape"):
        host.run("m", [X[0], ROWS]).result(SECONDS)
    host.remove("m")
    with pytest.raises(ClosedError, match="has no network"):
        run(host.devices[0], "m", X, ROWS)


def test_open_sizes_and_memory(host, model):
    device = host.devices[1]
    body = (
        '<ir_version: 9, opset_import: ["" : 18]> t (float[N, 3] x) => (float[N, 3] y) '
    )
    doubling = parser.parse_model(body + "{ y = Add(x, x) }").SerializeToString()
    device.load("open", glow.compile(doubling))
    for count in (4, 1, 50_000):
        x = np.full((count, 3), count, np.float32)
        (found,) = run(device, "open", x).result(SECONDS)
        np.testing.assert_array_equal(found, 2 * x)
    device._limit = 100
    with pytest.raises(DeviceMemoryError, match="100 are free"):
        device.load("m", model)


def test_a_network_divided_between_nodes(host, path, model):
    host.add("m", path, partition="strategy=pipeline")
    assert len(host.models()["m"].devices) > 1
    futures = [host.run("m", [X, ROWS]) for _ in range(5)]
    for future in futures:
        (found,) = future.result(SECONDS).values()
        np.testing.assert_array_equal(found, model(X, ROWS))


def test_a_node_of_another_kind_compiles_itself(host, path, model, monkeypatch):
    monkeypatch.setattr(ray_device, "reader_digest", lambda backend: "another")
    with pytest.raises(GlowError, match="for another processor"):
        host.add("m", model)
    with pytest.warns(UserWarning, match="'m#.' is compiled on device 'ray:"):
        host.add("m", path)
    check(model, host.run("m", [X, ROWS]).result(SECONDS))


def test_a_killed_actor_comes_back_with_its_networks(host, model, tmp_path):
    (tmp_path / "counter.mlir").write_text(COUNTER)
    device = host.devices[2]
    device.load("m", model)
    device.load("counter", glow.compile(tmp_path / "counter.mlir"))
    one = np.ones(2, np.float32)
    for count in (1, 2):
        assert run(device, "counter", one).result(SECONDS)[0][0] == count
    first = pid_of(device)
    changes = []
    device.on_change = lambda device: changes.append(device.health())
    os.kill(first, signal.SIGKILL)
    (found,) = run(device, "m", X, ROWS).result(SECONDS)
    np.testing.assert_array_equal(found, model(X, ROWS))
    wait_until(lambda: Health.READY in changes)
    assert changes[0] is Health.RESTARTING
    assert pid_of(device) != first
    with pytest.raises(
        DeviceError, match=f"'{device.name}' failed: .*variables were lost"
    ):
        run(device, "counter", one).result(SECONDS)
    device.on_change = None


def test_a_node_removed_under_load(cluster, host, model):
    """The last test: the cluster has a node less then."""
    host.add("m", model, replicas=3)
    names = {device.name for device in host.devices}
    failures, done, end = [], [], threading.Event()

    def ask():
        while not end.is_set():
            try:
                check(model, host.run("m", [X, ROWS]).result(SECONDS))
                done.append(time.monotonic())
            except DeviceError as error:
                failures.append(error)

    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        wait_until(lambda: len(done) > 30)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        healths = lambda: [device.health() for device in host.devices]  # noqa: E731
        wait_until(lambda: Health.DEAD in healths())
        count = len(done)
        wait_until(lambda: len(done) > count + 30)
    finally:
        end.set()
        for client in clients:
            client.join(SECONDS)
    assert not any(client.is_alive() for client in clients)
    assert healths().count(Health.DEAD) == 1
    for error in failures:
        assert error.device in names
        assert error.device in str(error)
    assert len(host.models()["m"].devices) == 2
