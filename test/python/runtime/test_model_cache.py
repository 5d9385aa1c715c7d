"""`glow.compile` with its cache: what is found again, and what must never be."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import save_file
from support.runtime.model_cache_testing import (
    WEIGHTS,
    X,
    expected,
    network,
    own_folder,
    run,
    save,
)

import glow
from glow import compiler
from glow.compilation import wait_for_stores
from glow.runtime.caches.model_cache import LIMIT_VARIABLE


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the empty folder of models."""
    return own_folder(tmp_path, monkeypatch)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Returns the models that the compiler had to compile."""
    compiled: list[object] = []
    original = compiler.compile_model

    def counted(model: Any, *options: Any) -> glow.CompiledModel:
        compiled.append(model)
        return original(model, *options)

    monkeypatch.setattr(compiler, "compile_model", counted)
    return compiled


def test_a_file_is_compiled_once(tmp_path: Path, compilations: list[object]) -> None:
    path = save(tmp_path / "net.onnx")
    first = run(path)
    np.testing.assert_allclose(first, expected(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(run(str(path)), first)
    np.testing.assert_array_equal(run(save(tmp_path / "copy.onnx")), first)
    assert compilations == [path]


def test_a_known_model_is_the_same_model(
    tmp_path: Path, compilations: list[object]
) -> None:
    path = save(tmp_path / "net.onnx")
    run(path)
    found = glow.compile(path)
    assert len(compilations) == 1
    assert [str(info) for info in found.inputs] == ["x: float32[8, 64]"]
    assert [str(info) for info in found.outputs] == ["y: float32[8, 32]"]
    assert list(found.run({"x": X})) == ["y"]
    with pytest.raises(glow.GlowError, match=r"must have shape \[8, 64\]"):
        found(X[:1])


@pytest.mark.parametrize("limit", ["much", "-3", "1.5"])
def test_a_limit_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, limit)
    path = save(tmp_path / "net.onnx")
    with pytest.raises(glow.GlowError, match=f"must be a whole number, not '{limit}'"):
        glow.compile(path)


def test_bytes_are_compiled_once(compilations: list[object]) -> None:
    data = network().SerializeToString()
    np.testing.assert_array_equal(run(data), run(data))
    assert len(compilations) == 1


PROGRAM = """
builtin.module attributes {glow.weights = #glow.weights<"w.safetensors">} {
  func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
    %w = glow.constant @w : tensor<64x32xf32>
    %y = glow.matmul %x, %w : tensor<8x32xf32>
    func.return %y : tensor<8x32xf32>
  }
}
"""


def test_text_is_compiled_once(tmp_path: Path, compilations: list[object]) -> None:
    """It is found by its content and that of the weights beside it."""
    path, weights = tmp_path / "net.mlir", tmp_path / "w.safetensors"
    path.write_text(PROGRAM)
    save_file({"w": WEIGHTS}, weights)
    first = run(path)
    np.testing.assert_array_equal(run(str(path)), first)
    assert len(compilations) == 1
    save_file({"w": WEIGHTS * 2}, weights)
    np.testing.assert_allclose(run(path), first * 2, rtol=1e-6)
    assert len(compilations) == 2
    path.write_text(PROGRAM.replace("glow.matmul %x, %w", "glow.matmul %x,  %w"))
    run(path)
    assert len(compilations) == 3


def test_weights_that_come_first_once_they_exist(tmp_path: Path) -> None:
    """A program that names no file takes the one of its whole name if there is one."""
    path = tmp_path / "net.mlir"
    path.write_text(
        PROGRAM.replace('#glow.weights<"w.safetensors">', "#glow.weights<>")
    )
    save_file({"w": WEIGHTS}, tmp_path / "net.safetensors")
    first = run(path)
    save_file({"w": WEIGHTS * 2}, tmp_path / "net.mlir.safetensors")
    np.testing.assert_allclose(run(path), first * 2, rtol=1e-6)


def test_bytes_of_another_kind(tmp_path: Path, compilations: list[object]) -> None:
    """A program is one under any name of its file; its bytes alone are no model."""
    path = tmp_path / "net.mlir"
    path.write_text(PROGRAM)
    save_file({"w": WEIGHTS}, tmp_path / "w.safetensors")
    first = run(path)
    with pytest.raises(glow.GlowError):
        glow.compile(path.read_bytes())
    path = path.rename(tmp_path / "net.onnx")
    np.testing.assert_array_equal(run(path), first)


def test_a_model_that_is_too_large_is_said(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    large = np.zeros((64, 1 << 13), np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LIMIT_VARIABLE, "1")
        glow.compile(network(large, outputs=1 << 13).SerializeToString())
        wait_for_stores()
    said = (
        "the compiled model of 3 MB is not stored: the cache of models holds 1 MB "
        f"({LIMIT_VARIABLE})"
    )
    assert said in caplog.text
    assert not folder.exists()


def test_protos_and_modules_are_compiled_each_time(
    compilations: list[object], folder: Path
) -> None:
    for _ in range(2):
        run(network())
        run(compiler.load(network()))
    assert len(compilations) == 4
    assert not folder.exists()


@pytest.mark.parametrize("position", [0, 1000, -1])
def test_one_byte_of_a_weight(tmp_path: Path, position: int) -> None:
    """The file keeps its name, its size and its time."""
    path = save(tmp_path / "net.onnx")
    status = path.stat()
    run(path)
    data = bytearray(WEIGHTS.tobytes())
    data[position] ^= 0x20
    changed = np.frombuffer(bytes(data), np.float32).reshape(WEIGHTS.shape)
    save(path, changed)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    np.testing.assert_allclose(run(path), expected(changed), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"numerics": "exact"},
        {"precision": "bf16"},
        {"target": "avx2"},
        {"input_shapes": {"x": (8, 64)}},
        {"quantize": True},
    ],
    ids=str,
)
def test_options(
    tmp_path: Path, compilations: list[object], options: dict[str, Any]
) -> None:
    path = save(tmp_path / "net.onnx")
    run(path)
    once = run(path, **options)
    assert len(compilations) == 2
    np.testing.assert_array_equal(run(path, **options), once)
    run(path)
    assert len(compilations) == 2


def test_thread_counts_share_a_model(
    tmp_path: Path, compilations: list[object]
) -> None:
    path = save(tmp_path / "net.onnx")
    results = [run(path, threads=threads) for threads in (None, 1, 2, 3)]
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    assert len(compilations) == 1


def test_other_backends_are_not_cached(tmp_path: Path, folder: Path) -> None:
    run(save(tmp_path / "net.onnx"), backend="interpreter")
    assert not folder.exists()


def test_profiles_by_content(tmp_path: Path, compilations: list[object]) -> None:
    from glow.passes.quantization.profiling.profile_file import save_profile

    path = save(tmp_path / "net.onnx")
    profiles = [tmp_path / f"{number}.json" for number in range(2)]
    for number, file in enumerate(profiles):
        save_profile(glow.profile(path, [X * (1 + 3 * number)]), file)
    first = run(path, quantize=profiles[0])
    os.replace(profiles[1], profiles[0])
    second = run(path, quantize=str(profiles[0]))
    assert (first != second).any()
    np.testing.assert_array_equal(run(path, quantize=str(profiles[0])), second)
    assert len(compilations) == 2


def test_profiles_in_memory(tmp_path: Path, compilations: list[object]) -> None:
    path = save(tmp_path / "net.onnx")
    profiles = [glow.profile(path, [X * scale]) for scale in (1, 4)]
    first, second = (run(path, quantize=profile) for profile in profiles)
    assert (first != second).any()
    np.testing.assert_array_equal(run(path, quantize=profiles[0]), first)
    assert len(compilations) == 2


def external(folder: Path, weights: np.ndarray) -> Path:
    """The network with its weights in another file."""
    proto = network(weights)
    onnx.save(
        proto,
        folder / "net.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    return folder / "net.onnx"


def test_weights_in_another_file(tmp_path: Path, compilations: list[object]) -> None:
    path = external(tmp_path, WEIGHTS)
    np.testing.assert_array_equal(run(path), run(path))
    assert len(compilations) == 1
    data, name = path.read_bytes(), tmp_path / "weights.bin"
    (WEIGHTS * 2).tofile(name)
    np.testing.assert_allclose(run(path), expected(WEIGHTS * 2), rtol=1e-4, atol=1e-4)
    assert path.read_bytes() == data
    name.unlink()
    with pytest.raises(glow.GlowError, match=r"weight file .* does not exist"):
        glow.compile(path)


def test_warnings_come_again(tmp_path: Path, compilations: list[object]) -> None:
    path = tmp_path / "net.onnx"
    model = network()
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 77
    path.write_bytes(model.SerializeToString())
    for _ in range(2):
        with pytest.warns(UserWarning, match="is declared as 77") as caught:
            glow.compile(path)
        wait_for_stores()
        assert caught[0].filename == __file__
    assert len(compilations) == 1


def test_damage_is_compiled_again(
    tmp_path: Path, folder: Path, compilations: list[object]
) -> None:
    path = save(tmp_path / "net.onnx")
    first = run(path)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    for damaged in (whole[:100], whole[:-1], whole[:-9] + b"\x7f" + whole[-8:], b""):
        entry.write_bytes(damaged)
        np.testing.assert_array_equal(run(path), first)
        assert entry.read_bytes() == whole
    assert len(compilations) == 5


def test_a_file_that_changes_while_it_is_compiled(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "net.onnx")
    original = compiler.compile_model

    def changing(model: Any, *options: Any) -> glow.CompiledModel:
        save(path, WEIGHTS * 3)
        return original(model, *options)

    monkeypatch.setattr(compiler, "compile_model", changing)
    np.testing.assert_allclose(run(path), expected(WEIGHTS * 3), rtol=1e-4, atol=1e-4)
    assert not folder.exists()
    save(path)
    monkeypatch.undo()
    np.testing.assert_allclose(run(path), expected(), rtol=1e-4, atol=1e-4)


def test_weights_that_change_while_they_are_compiled(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = external(tmp_path, WEIGHTS)
    original = compiler.compile_model

    def changing(model: Any, *options: Any) -> glow.CompiledModel:
        compiled = original(model, *options)
        (WEIGHTS * 2).tofile(tmp_path / "weights.bin")
        return compiled

    monkeypatch.setattr(compiler, "compile_model", changing)
    run(path)
    assert not folder.exists()


def test_it_can_be_turned_off(
    tmp_path: Path,
    folder: Path,
    compilations: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    path = save(tmp_path / "net.onnx")
    run(path)
    run(path)
    assert len(compilations) == 2
    assert not folder.exists()


def test_a_folder_that_cannot_be_made(
    tmp_path: Path, compilations: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "file"))
    path = save(tmp_path / "net.onnx")
    np.testing.assert_array_equal(run(path), run(path))
    assert len(compilations) == 2


def test_an_entry_that_goes_while_its_model_runs(tmp_path: Path, folder: Path) -> None:
    path = save(tmp_path / "net.onnx")
    first = run(path)
    found = glow.compile(path)
    (entry,) = folder.iterdir()
    entry.write_bytes(b"")
    entry.unlink()
    np.testing.assert_array_equal(found(X), first)
    np.testing.assert_array_equal(run(path), first)


def test_errors_are_the_compilers(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"no model at all")
    for path in (tmp_path / "net.onnx", tmp_path / "missing.onnx", tmp_path):
        with pytest.raises(glow.GlowError):
            glow.compile(path)
    with pytest.raises(glow.GlowError, match="unknown numerics"):
        glow.compile(save(tmp_path / "net.onnx"), numerics="none")


def test_nothing_is_warned_about_in_between(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(save(tmp_path / "net.onnx"))
