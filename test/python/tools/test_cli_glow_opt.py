"""`glow-opt` on ONNX models and their weights."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from glow.dialects.errors import GlowError
from glow.tools.glow_opt import run_glow_opt

WEIGHT = np.arange(6000, dtype=np.float32).reshape(3, 2000)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`y = x @ weight` on float32[2, 3], with a weight too large to be inline."""
    node = helper.make_node("MatMul", ["x", "weight"], ["y"], name="the_matmul")
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2000])],
        [numpy_helper.from_array(WEIGHT, "weight")],
    )
    opset = helper.make_opsetid("", 20)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset]), str(path))
    return path


def test_weights_travel_beside_the_program(model: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.mlir", tmp_path / "second.mlir"
    run_glow_opt([str(model), "-o", str(first)])
    run_glow_opt([str(first), "-o", str(second)])
    assert '#glow.weights<"second.mlir.safetensors", "' in second.read_text()
    (weight,) = load_file(tmp_path / "second.mlir.safetensors").values()
    assert np.array_equal(weight, WEIGHT)


def test_model_on_stdin(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with model.open("r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        run_glow_opt(["-f", "onnx", "-"])
    assert "glow.matmul" in capsys.readouterr().out


def test_node_names_survive(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = tmp_path / "named.mlir"
    run_glow_opt(["--mlir-print-debuginfo", str(model), "-o", str(named)])
    run_glow_opt(["--mlir-print-debuginfo", str(named)])
    assert 'loc("the_matmul"' in capsys.readouterr().out


def test_failure_leaves_old_files_alone(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    run_glow_opt([str(model), "-o", str(output)])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @main() -> i32 {\n  func.return\n}\n")
    with pytest.raises(GlowError):
        run_glow_opt([str(broken), "-o", str(output)])
    broken.unlink()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
