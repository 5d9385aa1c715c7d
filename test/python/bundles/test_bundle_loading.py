"""`glow.load`: bundles in Python, with NumPy alone; wrong ones are refused."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support.runtime.bundle_testing import (
    NATIVE_TARGETS,
    bundle_of,
    written,
)

import glow
from glow.bundles import loader
from glow.runtime.linking.elf import UnsupportedObjectError

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
needs_x86 = pytest.mark.skipif(not NATIVE_TARGETS, reason="no x86-64 machine")


LOADING = """
import json, sys
import numpy as np
import glow

bundle = glow.load(sys.argv[1])
image = np.load(sys.argv[2])
np.save(sys.argv[3], bundle(image))
heavy = [name for name in sys.modules if name.partition(".")[0] in ("xdsl", "llvmlite", "onnx")]
print(json.dumps(heavy))
"""


@needs_x86
@pytest.mark.parametrize("weights", ["file", "linked"])
def test_bundles_load_with_numpy_alone(weights, tmp_path):
    """In a process that has neither xDSL nor llvmlite, nor ONNX."""
    bundle = bundle_of("mlp", weights=weights)
    (sample,) = bundle.samples
    folder = written(bundle, tmp_path / "out")
    assert (folder / "mlp.weights.bin").exists() == (weights == "file")
    np.save(tmp_path / "image.npy", sample.inputs[0])
    places = [folder, tmp_path / "image.npy", tmp_path / "y.npy"]
    command = [sys.executable, "-c", LOADING, *places]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), sample.outputs[0])


@needs_x86
def test_a_loaded_bundle_is_called_like_a_model(tmp_path):
    bundle = bundle_of("mlp")
    (sample,) = bundle.samples
    loaded = glow.load(written(bundle, tmp_path / "out"))
    assert [str(info) for info in loaded.inputs] == ["image: float32[1, 1, 8, 8]"]
    assert [str(info) for info in loaded.outputs] == ["layer.5.linear: float32[1, 10]"]
    by_name = loaded.run({"image": sample.inputs[0]})
    np.testing.assert_array_equal(
        by_name["layer.5.linear"], loaded(image=sample.inputs[0])
    )


@needs_x86
def test_wrong_bundles_and_inputs_are_refused(tmp_path):
    bundle = bundle_of("mlp")
    (sample,) = bundle.samples
    folder = written(bundle, tmp_path / "out")
    loaded = glow.load(folder)
    (image,) = sample.inputs
    wrong = {
        "takes 1 inputs, not 2": lambda: loaded(image, image),
        "missing input 'image'": loaded,
        "no input 'x'": lambda: loaded(x=image),
        "must be float32": lambda: loaded(image[0]),
        "not float64": lambda: loaded(image.astype(np.float64)),
        "is not a folder": lambda: glow.load(tmp_path / "nothing"),
        "has no bundle": lambda: glow.load(tmp_path),
    }
    for message, call in wrong.items():
        with pytest.raises(glow.GlowError, match=message):
            call()


@needs_x86
@needs_cc
def test_objects_that_our_linker_does_not_know_are_linked_by_the_compiler(
    tmp_path, monkeypatch
):
    def refuse(*_):
        raise UnsupportedObjectError("not an object for x86-64")

    monkeypatch.setattr(loader, "Image", refuse)
    bundle = bundle_of("mlp")
    (sample,) = bundle.samples
    folder = written(bundle, tmp_path / "out")
    np.testing.assert_array_equal(glow.load(folder)(*sample.inputs), sample.outputs[0])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(glow.GlowError, match="cannot be linked here"):
        glow.load(folder)


@needs_x86
def test_wrong_weights_are_refused(tmp_path):
    folder = written(bundle_of("mlp"), tmp_path / "out")
    weights = folder / "mlp.weights.bin"
    content = weights.read_bytes()
    for foreign in (content[:-1], content[1:] + content[:1], b""):
        weights.write_bytes(foreign)
        with pytest.raises(glow.GlowError, match="is not the file of weights"):
            glow.load(folder)
    weights.unlink()
    with pytest.raises(glow.GlowError, match=r"mlp.weights.bin is missing"):
        glow.load(folder)
    other = written(bundle_of("mlp", "neon"), tmp_path / "neon")
    with pytest.raises(glow.GlowError, match=r"is for neon \(aarch64\)"):
        glow.load(other)
