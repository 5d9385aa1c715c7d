"""`benchmarks/memory.py` on a small network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from places import ROOT

from benchmarks import memory


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Three element-wise nodes on 1024 floats."""
    nodes = [
        helper.make_node(kind, [source], [target])
        for kind, source, target in (
            ("Exp", "x", "a"), ("Neg", "a", "b"), ("Softmax", "b", "y"),
        )
    ]  # fmt: skip
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1024])]
        for name in "xy"
    )
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    opset = helper.make_opsetid("", 20)
    path = tmp_path / "three.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=10), str(path))
    return path


def test_row_of_a_network(model: Path) -> None:
    row = memory.measure(model)
    assert row.arena == row.bound == 4096  # between the stack and the softmax
    assert row.before == memory.Work(kernels=4, bytes=8 * 4096)  # one is a copy
    assert row.after == memory.Work(kernels=2, bytes=4 * 4096)
    assert row.runtime is not None
    assert row.lean_runtime is not None
    assert min(row.runtime, row.lean_runtime) >= 4096
    assert "| three | 0.00 | 0.00 | 1.000 |" in "\n".join(memory.lines([row]))


@pytest.mark.parametrize("script", ["kernels", "memory"])
def test_a_missing_model_is_one_line(script: str) -> None:
    path = ROOT / "benchmarks" / f"{script}.py"
    done = subprocess.run(
        [sys.executable, path, "missing.onnx"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    expected = f"{script}: error: the model file 'missing.onnx' does not exist\n"
    assert done.stderr == expected
