"""The ONNX importer on files: mapped weights, weights beside the model, damaged files."""

import mmap
import os
import threading
import time
from contextlib import suppress

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.external_data_helper import convert_model_to_external_data
from support.onnx_models.onnx_testing import error_of, make_model, node, random

import glow
from glow import compiler
from glow.compilation import wait_for_stores
from glow.dialects.errors import GlowError
from glow.dialects.weights import weights_of
from glow.frontends import mapped_file
from glow.frontends.onnx import import_model
from glow.tools import glow_opt


@pytest.fixture
def weighted():
    """A model with one weight of 4 KiB."""
    return make_model(
        [node("MatMul", "x w")], [("x", [2, 32])], weights={"w": random(32, 32)}
    )


def test_files(tmp_path, weighted):
    path = tmp_path / "model.onnx"
    onnx.save(weighted, path)
    assert import_model(path)
    assert import_model(str(path))
    assert import_model(path.read_bytes())
    missing = tmp_path / "missing.onnx"
    assert error_of(missing) == f"the model file '{missing}' does not exist"
    assert "cannot read" in error_of(tmp_path)


@pytest.fixture
def large(tmp_path):
    """The path of a model file with a weight of 4 MiB."""
    model = make_model(
        [node("MatMul", "x w")], [("x", [1, 1024])], weights={"w": random(1024, 1024)}
    )
    path = tmp_path / "large.onnx"
    onnx.save(model, path)
    return path


def test_large_weights_stay_in_the_file(large):
    weight = weights_of(import_model(large))["w"]
    assert np.array_equal(weight, random(1024, 1024))
    base = weight
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, memoryview)
    assert isinstance(base.obj, mmap.mmap)


@pytest.mark.parametrize("kept", [2**20 - 1, 2**21, -5])
def test_truncated_large_file(large, kept):
    with large.open("r+b") as file:
        file.truncate(kept if kept > 0 else large.stat().st_size + kept)
    assert f"{large} is not a valid ONNX file" in error_of(large)


def test_damaged_files_fail_in_one_line(tmp_path, weighted):
    """Whatever byte is wrong: a module, or one line."""
    data = weighted.SerializeToString()
    generator = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(data)
        damaged[generator.integers(len(data) - 4096)] = generator.integers(256)
        damaged[-generator.integers(1, 200)] = generator.integers(256)
        # Anything but a GlowError fails the test.
        with suppress(GlowError):
            import_model(bytes(damaged))


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_truncated_file(tmp_path, weighted, kept):
    path = tmp_path / "model.onnx"
    path.write_bytes(weighted.SerializeToString()[:kept])
    assert f"{path} is not a valid ONNX file" in error_of(path)


def test_a_pointer_of_git_lfs(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    )
    message = "a pointer of Git LFS stands for it; git lfs pull fetches it"
    assert error_of(path) == f"{path} is not a valid ONNX file: {message}"


def test_short_weights(weighted):
    weighted.graph.initializer[0].raw_data = b"1234"
    assert error_of(weighted) == (
        "tensor 'w': 4 bytes, but its shape [32, 32] needs 4096"
    )


def test_external_weights(tmp_path, weighted):
    convert_model_to_external_data(weighted, size_threshold=0, location="w.bin")
    path = tmp_path / "model.onnx"
    onnx.save(weighted, path)
    expected = random(32, 32)
    module = import_model(path)
    assert np.array_equal(weights_of(module)["w"], expected)
    # Data inside the folder only, of the full length, and it must be there.
    loaded = onnx.load(path, load_external_data=False)
    assert "whose folder is unknown" in error_of(loaded)
    weights = tmp_path / "w.bin"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "ends at 4095, before 4096" in error_of(path)
    weights.unlink()
    assert error_of(path) == (
        f"tensor 'w': its weight file '{weights.resolve()}' does not exist"
    )


@pytest.mark.parametrize("location", ["../w.bin", "/etc/hostname", ""])
def test_external_weights_stay_in_the_folder(tmp_path, weighted, location):
    (tensor,) = weighted.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    path = tmp_path / "model.onnx"
    path.write_bytes(weighted.SerializeToString())
    assert "is outside of the model's folder" in error_of(path)


# Links, as the cache of the Hugging Face hub has them


def with_weights_beside(folder, model, location="w.bin"):
    """Saves a model and its weights as two files, which must be moved to their places."""
    model.ir_version = 10
    folder.mkdir(parents=True, exist_ok=True)
    convert_model_to_external_data(model, size_threshold=0, location=location)
    onnx.save(model, folder / "model")
    return folder / "model", folder / location


def link(path, target):
    """Makes a relative link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


@pytest.fixture
def hub(tmp_path, weighted):
    """A model in a folder of links to files that are named by their hashes."""
    model, weights = with_weights_beside(tmp_path / "blobs", weighted)
    weights = weights.rename(tmp_path / "blobs" / "d09f")
    link(tmp_path / "snapshots" / "main" / "model.onnx", model)
    link(tmp_path / "snapshots" / "main" / "w.bin", weights)
    return tmp_path / "snapshots" / "main" / "model.onnx"


def test_weights_beside_the_file_that_a_link_leads_to(hub):
    onnxruntime.InferenceSession(hub)
    assert np.array_equal(weights_of(import_model(hub))["w"], random(32, 32))


@pytest.mark.parametrize("compiled_before", [False, True])
def test_links_that_leave_the_repository(hub, tmp_path, compiled_before):
    weights = hub.parent / "w.bin"
    outside = tmp_path / "elsewhere"
    if compiled_before:
        assert glow.compile(hub)
        wait_for_stores()
    outside.write_bytes(weights.read_bytes())
    weights.unlink()
    link(weights, outside)
    with pytest.raises(
        onnxruntime.capi.onnxruntime_pybind11_state.Fail, match="escapes"
    ):
        onnxruntime.InferenceSession(hub)
    with pytest.raises(GlowError, match="is outside of the model's folder"):
        glow.compile(hub)


def test_weights_that_are_no_file(hub):
    weights = hub.parent / "w.bin"
    weights.unlink()
    os.mkfifo(weights)
    with pytest.raises(GlowError, match="is not a file"):
        glow.compile(hub)


# Files that are overwritten in place while they are compiled


def overwrite(path):
    """A thread that cuts the file short; returns when it waits for that, or has done it."""

    def cut():
        with path.open("r+b") as file:
            file.truncate(4096)

    thread = threading.Thread(target=cut)
    thread.start()
    held = mapped_file._held.get()
    while thread.is_alive() and all(map(mapped_file._is_leased, held.files.values())):
        time.sleep(0.001)
    return thread


@pytest.fixture
def overwritten(large, monkeypatch):
    """A model file that another thread overwrites when its import is done."""
    load, threads = compiler.load, []

    def load_and_overwrite(*arguments):
        module = load(*arguments)
        threads.append(overwrite(large))
        return module

    monkeypatch.setattr(compiler, "load", load_and_overwrite)
    yield large
    for thread in threads:
        thread.join()


def can_be_leased(path):
    """Whether the system lets us keep others from writing a file."""
    held = mapped_file.HeldFiles()
    held.take(path)
    for file in held.files.values():
        mapped_file._give_back(file)
    return bool(held.files)


def test_file_that_is_overwritten_while_it_is_compiled(overwritten):
    if not can_be_leased(overwritten):  # Then it is copied; see below.
        assert glow.compile(overwritten)
        return
    with pytest.raises(GlowError, match="is being overwritten while it is compiled"):
        glow.compile(overwritten)


def test_file_that_is_overwritten_while_passes_run(large, tmp_path, monkeypatch):
    """`glow-opt` holds the file too, and writes nothing."""
    if not can_be_leased(large):
        pytest.skip("the system holds no files")
    threads = []
    apply = glow_opt.GlowOptMain.apply_watched_passes

    def overwrite_and_apply(main, program):
        threads.append(overwrite(large))
        apply(main, program)

    monkeypatch.setattr(
        glow_opt.GlowOptMain, "apply_watched_passes", overwrite_and_apply
    )
    output = tmp_path / "output.mlir"
    with pytest.raises(GlowError, match="is being overwritten while it is compiled"):
        glow_opt.run_glow_opt([str(large), "-o", str(output)])
    for thread in threads:
        thread.join()
    assert not list(tmp_path.glob("*output.mlir*"))


def test_file_that_cannot_be_held_is_copied(overwritten, monkeypatch):
    monkeypatch.setattr(mapped_file, "_lease", lambda file: False)
    x = random(1, 1024)
    expected = x @ random(1024, 1024)
    np.testing.assert_allclose(
        glow.compile(overwritten)(x), expected, rtol=1e-3, atol=1e-3
    )
