"""The ONNX importer on files: mapped weights, weights beside the model, damaged files."""

import mmap
from contextlib import suppress

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.external_data_helper import convert_model_to_external_data
from onnx_testing import error_of, make_model, node, random

from glow.dialects.errors import GlowError
from glow.dialects.weights import weights_of
from glow.frontends.onnx import import_model


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
