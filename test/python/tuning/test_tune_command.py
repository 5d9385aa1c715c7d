"""`glow tune` on the command line: what it keeps, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from glow.backends.backend import get_backend
from glow.dialects.errors import GlowError, UsageError
from glow.options import CompileOptions
from glow.tools.glow import run_glow
from glow.tuning.choices import MEASURED, tuning_file
from glow.tuning.search import Job


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product, in a cache folder of its own."""
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    weights = np.ones((32, 48), np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (16, 32))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (16, 48))],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "model.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    return path


def test_a_search_writes_records_and_resumes(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", str(model), "--budget", "20s", "--threads", "1", "--most", "2"]
    run_glow(words)
    first = capsys.readouterr().out
    assert "1/1" in first
    assert "1 kernels in" in first
    lines = tuning_file(MEASURED).read_text().splitlines()
    record = json.loads(lines[0])
    assert record["family"] == "MatmulSpec"
    assert record["config"].keys() == {
        "rows",
        "blocks",
        "cut",
        "prefetch",
        "matrix_tiles",
        "streams",
    }
    assert record["warm"] > 0
    assert record["cold"] > 0
    assert len(lines) == 2
    # Of before there was that field.
    older = [line.replace(',"prefetch":1', "") for line in lines]
    assert older != lines
    tuning_file(MEASURED).write_text("\n".join(older) + "\n")
    run_glow([*words, "--resume"])
    assert tuning_file(MEASURED).read_text().splitlines() == older


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "takes a model, --merge FILE.jsonl, or --fit"),
        (["m.onnx", "--budget", "0"], "a budget of 0 measures nothing"),
        (["m.onnx", "--budget", "0s"], "a budget of 0s measures nothing"),
        (["m.onnx", "--budget", "-5"], "budget"),
        (["m.onnx", "--budget", "soon"], "expected a time such as 120s, not 'soon'"),
        (["m.onnx", "--most", "1"], "1 is less than 2"),
        (["m.onnx", "--threads", "0"], "0 is less than 1"),
    ],
)
def test_command_lines_that_make_no_sense(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_glow(["tune", *words])


def test_models_and_files_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(GlowError, match=r"none\.onnx"):
        run_glow(["tune", str(tmp_path / "none.onnx")])
    with pytest.raises(GlowError, match="no file with records"):
        run_glow(["tune", "--merge", str(tmp_path / "none.jsonl")])


def test_a_model_needs_records(model: Path) -> None:
    with pytest.raises(GlowError, match="records of 0 kernels: a model needs 10"):
        run_glow(["tune", "--fit"])


@pytest.mark.parametrize("backend", ["interpreter", "opencl", "cuda"])
def test_backends_without_kernels_of_this_machine(model: Path, backend: str) -> None:
    with pytest.raises(GlowError, match=f"'{backend}' has nothing to tune"):
        get_backend(backend).subject(Job(model, CompileOptions(), {}))


def test_records_of_others_are_merged(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.jsonl"
    head = '{"version":"0.1.0-1","target":"0123456789ab","kernel":"0123456789abcdef",'
    body = '"family":"MatmulSpec","spec":"MatmulSpec()","config":{"rows":4},"warm":1.0}'
    wrong = [body.replace("1.0", each) for each in ('"1"', "NaN", "[]")]
    wrong += [
        body.replace('{"rows":4}', "[]"),
        body.replace('"MatmulSpec",', "1,"),
        "}",
    ]
    lines = [head + each for each in (body, *wrong)]
    other.write_text("\n".join([*lines, "broken", "", ""]))
    run_glow(["tune", "--merge", str(other)])
    assert "1 records added, 0 known, 7 damaged" in capsys.readouterr().out
    assert tuning_file(MEASURED).read_text() == f"{head}{body}\n"
