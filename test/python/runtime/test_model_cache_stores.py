"""The cache of models when many store at once: processes, threads, the pace of stores."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.runtime.model_cache_testing import (
    WEIGHTS,
    X,
    expected,
    network,
    own_folder,
    save,
)

import glow
from glow import compilation
from glow.backends.cpu import native_function
from glow.compilation import wait_for_stores
from glow.runtime.buffers import aligned_empty
from glow.runtime.caches.cache_folder import UNFINISHED

RUN = """
import sys, numpy as np, glow
model = glow.compile(sys.argv[1])
y = model(np.linspace(-1, 1, 8 * 64, dtype=np.float32).reshape(8, 64))
print(*[name in sys.modules for name in ("xdsl", "onnx", "llvmlite")], y.tobytes().hex())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the empty folder of models."""
    return own_folder(tmp_path, monkeypatch)


def test_several_processes_and_no_compiler(tmp_path: Path, folder: Path) -> None:
    """All write the same entry; who comes later loads neither xDSL nor ONNX nor LLVM."""
    path = save(tmp_path / "net.onnx")

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", RUN, str(path)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    answers = [
        process.communicate()[0].split() for process in [start() for _ in range(3)]
    ]
    assert [name.name[: len(UNFINISHED)] for name in folder.iterdir()] != [UNFINISHED]
    assert len(list(folder.iterdir())) == 1
    answers.append(start().communicate()[0].split())
    assert len({answer[3] for answer in answers}) == 1
    assert answers[-1][:3] == ["False", "False", "False"]
    found = np.frombuffer(bytes.fromhex(answers[0][3]), np.float32).reshape(8, 32)
    np.testing.assert_allclose(found, expected(), rtol=1e-4, atol=1e-4)


def test_a_store_rests_unless_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "REST_SECONDS", 60.0)
    resting = threading.Thread(target=compilation.rest)
    resting.start()
    monkeypatch.setattr(compilation, "_stores", [resting])
    wait_for_stores()
    assert not resting.is_alive()


def test_one_model_waits_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is stored by the time that the next one is."""
    monkeypatch.setattr(compilation, "REST_SECONDS", 60.0)
    for number in range(3):
        glow.compile(network(WEIGHTS + number).SerializeToString())
        assert sum(map(threading.Thread.is_alive, compilation._stores)) <= 1
        assert len(list(folder.glob("*.glowmodel"))) >= number
    wait_for_stores()


def test_threads_that_compile_at_once(folder: Path) -> None:
    models = [network(WEIGHTS * (1 + n)).SerializeToString() for n in range(4)]
    with ThreadPoolExecutor(4) as workers:
        results = list(workers.map(glow.compile, models * 2))
    wait_for_stores()
    for number, model in enumerate(results):
        weights = WEIGHTS * (1 + number % 4)
        np.testing.assert_allclose(model(X), expected(weights), rtol=1e-4, atol=1e-3)
    assert len(list(folder.iterdir())) == 4


def test_no_more_threads_can_be_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "glow-store":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    model = compilation.compile(network().SerializeToString(), threads=1)
    np.testing.assert_allclose(model(X), expected(), rtol=1e-4, atol=1e-4)
    assert not folder.exists()


def test_two_compilations_give_equal_files(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was in memory before, and whatever kernels the cache had already."""
    weights = [
        numpy_helper.from_array(np.full(size, 0.5, np.float32), f"w{size}")
        for size in (1, 3, 7)
    ]
    nodes = [
        helper.make_node("Mul", ["x", "w1"], ["a"]),
        helper.make_node("Add", ["a", "w3"], ["y"]),
        helper.make_node("Add", ["z", "w7"], ["u"]),
    ]
    sizes = {"x": 3, "z": 7, "y": 3, "u": 7}
    x, z, y, u = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [size])
        for name, size in sizes.items()
    )
    graph = helper.make_graph(nodes, "", [x, z], [y, u], weights)
    model = helper.make_model(graph).SerializeToString()

    def entry(garbage: int, known: bool) -> bytes:
        def dirty(size: int) -> np.ndarray:
            buffer = aligned_empty(size)
            buffer[:] = garbage
            return buffer

        monkeypatch.setattr(native_function, "aligned_empty", dirty)
        monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / f"cache{garbage}"))
        if known:
            glow.compile(network().SerializeToString())
            glow.compile(model, numerics="exact")
            wait_for_stores()
            shutil.rmtree(tmp_path / f"cache{garbage}" / "models")
        glow.compile(model)
        wait_for_stores()
        (file,) = (tmp_path / f"cache{garbage}" / "models").iterdir()
        return file.read_bytes()

    first = entry(0xAA, known=False)
    assert entry(0x55, known=False) == first
    assert entry(0x33, known=True) == first
