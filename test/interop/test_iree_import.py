"""ONNX models that `iree-import-onnx` has taken apart into text and an archive of weights."""

import subprocess
import sys

import numpy as np
import onnx
import pytest

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs

pytest.importorskip("iree.compiler", reason="pip install iree-base-compiler")
IMPORT = (
    sys.executable,
    "-m",
    "iree.compiler.tools.import_onnx",
    "--externalize-params",
)


@pytest.mark.parametrize("network", TINY_NETWORKS)
def test_networks(network, tmp_path):
    model, program = TINY_NETWORKS[network](), tmp_path / "net.mlir"
    onnx.save(model, tmp_path / "net.onnx")
    subprocess.run([*IMPORT, tmp_path / "net.onnx", "-o", program], check=True)
    assert (tmp_path / "net_params.irpa").exists()
    inputs = [*make_inputs(model).values()]
    found, wanted = (glow.compile(one)(*inputs) for one in (program, model))
    np.testing.assert_equal(found, wanted)
