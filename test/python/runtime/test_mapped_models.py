"""Models that stay in their files, so that processes have their weights in memory once."""

import mmap
import pickle
import subprocess
import sys

import numpy as np
import pytest
from support.runtime.model_cache_testing import X, expected, network, own_folder, save

import glow
from glow.compilation import wait_for_stores
from glow.host.devices import model_blob
from glow.host.devices.model_blob import ModelBlob, read_blob
from glow.runtime.caches.model_cache import MAP_VARIABLE

WEIGHTS = np.random.default_rng(1).standard_normal((64, 1024)).astype(np.float32)


@pytest.fixture
def is_mapped(tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    monkeypatch.setenv(MAP_VARIABLE, "1")


def base_of(array):
    """Whose memory an array is a part of."""
    while True:
        if isinstance(array, memoryview):
            array = array.obj
        elif isinstance(array, np.ndarray) and array.base is not None:
            array = array.base
        else:
            return array


def constants_of(model):
    return model.function.program.constants


def test_models_stay_in_their_files(is_mapped, tmp_path):
    """When they were compiled just now too: no memory is left from that."""
    path = save(tmp_path / "net.onnx")
    for _ in range(2):
        model = glow.compile(path)
        assert isinstance(base_of(constants_of(model)), mmap.mmap)
        np.testing.assert_allclose(model(X), expected(), rtol=1e-4, atol=1e-4)


def test_models_with_open_sizes_too(is_mapped, tmp_path):
    path = tmp_path / "open.onnx"
    path.write_bytes(network(batch="N").SerializeToString())
    for _ in range(2):
        model = glow.compile(path)
        for rows in (1, 8):
            result = model(X[:rows])
            np.testing.assert_allclose(
                result, expected(x=X[:rows]), rtol=1e-4, atol=1e-4
            )
        programs = [one.model for kept in model._kept for one in kept.values()]
        bases = {type(base_of(constants_of(one))) for one in programs}
        assert bases == {mmap.mmap}


def test_a_damaged_file_is_compiled_anew(is_mapped, tmp_path):
    path = save(tmp_path / "net.onnx")
    glow.compile(path)
    [file] = (tmp_path / "cache" / "models").glob("*.glowmodel")
    data = bytearray(file.read_bytes())
    for content in (bytes(data[:-1]), bytes(data[:-1]) + bytes([data[-1] ^ 1]), b""):
        file.unlink()
        file.write_bytes(content)
        file.chmod(0o600)
        model = glow.compile(path)
        np.testing.assert_allclose(model(X), expected(), rtol=1e-4, atol=1e-4)
    assert file.read_bytes() == data


def test_without_a_cache_models_are_in_memory(is_mapped, tmp_path, monkeypatch):
    monkeypatch.setenv("GLOW_MODEL_CACHE_MB", "0")
    model = glow.compile(save(tmp_path / "net.onnx"))
    assert not isinstance(base_of(constants_of(model)), mmap.mmap)
    np.testing.assert_allclose(model(X), expected(), rtol=1e-4, atol=1e-4)


@pytest.fixture
def open_model(tmp_path, monkeypatch):
    """A model with programs for two sizes."""
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "open.onnx"
    path.write_bytes(network(WEIGHTS, "N", 1024).SerializeToString())
    model = glow.compile(path)
    model(X[:1])
    model(X)
    wait_for_stores()
    return model


@pytest.mark.parametrize("copies", [1 << 60, 0])
def test_models_with_open_sizes_in_blobs(open_model, monkeypatch, copies):
    """Mapped where so many copies of them would not fit into memory, else copied."""
    monkeypatch.setattr(model_blob, "COPIES", copies)
    blob = ModelBlob(open_model)
    again = read_blob(blob.descriptor, blob.kind)
    blob.close()
    wanted = expected(WEIGHTS)
    np.testing.assert_allclose(again(X), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(again(X[:1]), wanted[:1], rtol=1e-4, atol=1e-4)
    programs = [one.model for kept in again._kept for one in kept.values()]
    assert len(programs) == 2
    bases = {type(base_of(constants_of(one))) for one in programs}
    assert bases == {mmap.mmap if copies else np.ndarray}


def test_buffers_outside_of_a_pickle(open_model):
    """PEP 574: the constants are where the buffers are, if these are aligned."""
    buffers = []
    data = pickle.dumps(open_model, protocol=5, buffer_callback=buffers.append)
    assert len(buffers) == 2
    assert len(data) < WEIGHTS.nbytes // 2
    for shift in (0, 1):
        views = []
        for one in buffers:
            part = np.empty(len(one.raw()) + 65, np.uint8)
            part = part[-part.ctypes.data % 64 + shift :][: len(one.raw())]
            part[:] = np.frombuffer(one, np.uint8)
            views.append(part)
        again = pickle.loads(data, buffers=[view.data for view in views])
        np.testing.assert_allclose(again(X), expected(WEIGHTS), rtol=1e-4, atol=1e-4)
        first = next(iter(again._kept[0].values())).model
        assert np.shares_memory(constants_of(first), views[0]) is (shift == 0)


SHARED = """
import os, sys, glow
model = glow.compile(sys.argv[1])
lines = open("/proc/self/smaps").read().splitlines()
print(sum("glowmodel" in line for line in lines), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_another_process_maps_the_same_file(is_mapped, tmp_path):
    path = save(tmp_path / "net.onnx")
    glow.compile(path)
    command = [sys.executable, "-c", SHARED, str(path)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(found.stdout) > 0
