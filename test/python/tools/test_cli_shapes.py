"""`--shape` and `--value` of `glow` and `glow-opt`, and what they refuse."""

import numpy as np
import onnx
import pytest
from onnx import parser

from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt

MODEL = """
<ir_version: 9, opset_import: ["" : 18]>
rows (float[N, 3] x, float[N, 1] z, int64[1] axes) => (float[M] y)
{ w = Add(x, z)  y = ReduceSum<keepdims = 0>(w, axes) }
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "rows.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    return str(path)


SHAPES = (["--shape", "N=4"], ["--shape=x=4x3"], ["--shape=x=4x3", "--shape=N=4"])


@pytest.mark.parametrize("shapes", SHAPES)
def test_a_program_for_given_sizes(model, shapes, capsys):
    arguments = [*shapes, "--value", "axes=-1"]
    run_glow(["compile", model, "--emit=graph", *arguments])
    line = "func.func @main(%x: tensor<4x3xf32>, %z: tensor<4x1xf32>) -> tensor<4xf32>"
    assert line in capsys.readouterr().out
    run_glow_opt([model, *arguments])
    assert line in capsys.readouterr().out


REFUSED = {
    "open": ([], "input 'x' has open sizes (N); pass input_shapes, or for example"),
    "value": (["--shape=N=4"], "needs the value of its axes; pass input_values, or --va"),
    "unknown": (["--shape=M=4"], "has no input 'M'; its inputs are: 'x', 'z', 'axes', its"),
    "no size": (["--value=N=4"], "has no input 'N'; its inputs are: 'x', 'z', 'axes'"),
    "fraction": (["--shape=N=4.5"], "--shape N=4.5 is not a shape of whole numbers"),
    "words": (["--shape=N"], "--shape needs NAME=..., not 'N'"),
    "twice": (["--shape=N=4", "--shape=N=4"], "--shape N is given twice"),
    "negative": (["--shape=N=-4"], "input_shapes gives the size -4 for 'N'"),
    "declared": (["--shape=x=4x5"], "is declared as Nx3, with 3 where 5 of [4, 5] is"),
    "rank": (["--shape=x=4"], "input 'x' is declared as Nx3, with 2 axes, not as [4]"),
    "sizes": (["--shape=x=4x3", "--shape=z=5x1"], "'z' has N = 5, but input 'x' has N = 4"),
    "no number": (["--value=axes=one"], "--value axes=one is not a list of numbers"),
    "not whole": (["--value=axes=1.5"], "input 'axes' has elements int64, which 1.5 does"),
    "count": (["--value=axes=0,1"], "'axes' is declared as 1, with 1 where 2 of [2] is"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(model, name):
    arguments, message = REFUSED[name]
    with pytest.raises(GlowError) as caught:
        run_glow(["compile", model, "--emit=graph", *arguments])
    assert message in caught.value.one_line()


def test_text_has_its_shapes(tmp_path):
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    path = tmp_path / "same.mlir"
    path.write_text(text)
    with pytest.raises(GlowError, match="input_shapes is for ONNX models"):
        run_glow(["run", str(path), "--shape=N=4"])
    with pytest.raises(GlowError, match="--shape and --value are for ONNX models"):
        run_glow_opt([str(path), "--value=x=4"])


def test_run_takes_sizes_from_files(model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save("x.npy", x)
    np.save("z.npy", np.ones((4, 1), np.float32))
    np.save("axes.npy", np.array([0]))
    files = [f"--input={name}={name}.npy" for name in ("x", "z", "axes")]
    run_glow(["run", model, *files, "--backend=interpreter", "--output=out"])
    np.testing.assert_array_equal(np.load("out/y.npy"), (x + 1).sum(0))
    run_glow(["run", model, *files[:1], "--value=axes=1", "--backend=interpreter"])
    assert "output 'y': 4 float32" in capsys.readouterr().out
    with pytest.raises(
        GlowError, match="the value of input 'axes' decides shapes; pass"
    ):
        run_glow(["run", model, *files[:2]])
    with pytest.raises(GlowError, match=r"input 'x' has open sizes \(N\)"):
        run_glow(["run", model, "--value=axes=1"])
    np.save("z.npy", np.ones((3, 1), np.float32))
    with pytest.raises(GlowError, match="'z' has N = 3, but input 'x' has N = 4"):
        run_glow(["run", model, *files])


def test_profiles_and_reports_of_given_sizes(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", x=np.ones((4, 3), np.float32), z=np.ones((4, 1), np.float32))
    fixed = ["--shape=N=4", "--value=axes=1"]
    run_glow(["profile", model, "--data=data.npz", "-o", "p.yaml", *fixed])
    run_glow(["report", model, "-o", "r.html", *fixed])
    assert (tmp_path / "p.yaml").exists()
    assert "fused_rows" in (tmp_path / "r.html").read_text()
    with pytest.raises(GlowError, match=r"open sizes \(N\)"):
        run_glow(["profile", model, "--data=data.npz", "-o", "p.yaml"])
