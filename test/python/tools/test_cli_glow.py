"""`glow run` and `glow compile` on a small model."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from glow.dialects.errors import UsageError
from glow.tools.glow import run_glow

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4) - 6


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`y = Relu(x @ weight)` on float32[2, 3]."""
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["product"], name="matmul"),
        helper.make_node("Relu", ["product"], ["layer/y:0"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("layer/y:0", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(WEIGHT, "weight")],
    )
    opset = helper.make_opsetid("", 20)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset]), str(path))
    return path


def test_run_on_a_file(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    output = tmp_path / "results" / "first"
    run_glow(
        ["run", str(model), f"--input=x={tmp_path / 'x.npy'}", f"--output={output}"]
    )
    result = np.load(output / "layer_y_0.npy")
    np.testing.assert_allclose(result, np.maximum(x @ WEIGHT, 0), rtol=1e-5)
    stdout, stderr = capsys.readouterr()
    assert "output 'layer/y:0': 2x4 float32" in stdout
    assert [line.split()[0] for line in stdout.splitlines()[1:]] == [
        "compile",
        "first",
        "median",
        "minimum",
    ]
    assert stderr == ""


def test_random_inputs_are_seeded(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = []
    for index, seed in enumerate(("1", "1", "2")):
        output = tmp_path / str(index)
        run_glow(["run", str(model), "--seed", seed, "--output", str(output)])
        results.append(np.load(output / "layer_y_0.npy"))
    assert np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])
    assert "input 'x': random values (seed 1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("graph", "glow.fully_connected"),
        ("lowered", "func.func @main"),
        ("instr", "@out"),
        ("loops", "vector."),
        ("llvm", "define"),
        ("asm", ".text"),
    ],
)
def test_emit_text(
    stage: str, part: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_glow(["compile", str(model), f"--emit={stage}"])
    assert part in capsys.readouterr().out


def test_emit_object(model: Path, tmp_path: Path) -> None:
    run_glow(["compile", str(model), "-o", str(tmp_path / "model.o")])
    assert (tmp_path / "model.o").stat().st_size > 0


def test_graph_with_its_weights_runs(model: Path, tmp_path: Path) -> None:
    run_glow(
        ["compile", str(model), "--emit=graph", "-o", str(tmp_path / "graph.mlir")]
    )
    for program in ("model.onnx", "graph.mlir"):
        output = tmp_path / program.replace(".", "_")
        run_glow(["run", str(tmp_path / program), "--output", str(output)])
    first, second = (
        next((tmp_path / name).glob("*.npy")) for name in ("model_onnx", "graph_mlir")
    )
    assert np.array_equal(np.load(first), np.load(second))


CONVOLUTION = """
func.func @main(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = glow.splat 1.0 : tensor<64x64x3x3xf32>
  %y = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x64x28x28xf32>
  func.return %y : tensor<1x64x28x28xf32>
}
"""


@pytest.mark.parametrize(("numerics", "fewer"), [("exact", False), ("default", True)])
def test_numerics_are_chosen(
    numerics: str,
    fewer: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = tmp_path / "conv.mlir"
    model.write_text(CONVOLUTION, encoding="utf-8")
    run_glow(["compile", str(model), "--emit=instr", f"--numerics={numerics}"])
    assert ("winograd" in capsys.readouterr().out) == fewer
    run_glow(["run", str(model), f"--numerics={numerics}", "--repeat=1"])
    assert "1x64x28x28 float32" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["compile", "serve"])
def test_an_unknown_option_with_a_blank_is_no_model(model: Path, command: str) -> None:
    with pytest.raises(UsageError, match="unknown option '--partition'"):
        run_glow([command, str(model), "--partition=two parts"])
