"""docs/training.md: its graphs are what the compiler prints, and its Python runs."""

from __future__ import annotations

import re
import shutil

import numpy as np
from places import ROOT

import glow
from glow.tools.glow_opt import run_glow_opt

PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
MARKED = dict(re.findall(r"<!-- (\w+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
REGRESSION = ROOT / "docs" / "regression.mlir"


def lines(text):
    return "\n".join(line.strip() for line in text.splitlines())


def differentiated(capsys, how):
    option = f"--differentiate=loss=%loss wrt=all {how}"
    assert option.removeprefix("--differentiate=") in PAGE
    run_glow_opt([str(REGRESSION), option])
    return lines(capsys.readouterr().out)


def test_graphs(capsys):
    assert lines(MARKED["before"]) in lines(REGRESSION.read_text(encoding="utf-8"))
    assert lines(MARKED["gradients"]) in differentiated(capsys, "outputs=gradients")
    assert lines(MARKED["updates"]) in differentiated(capsys, "optimizer=sgd")


def test_python(tmp_path, monkeypatch, capsys):
    digits = ROOT / "examples" / "digits"
    shutil.copy(digits / "mlp.onnx", tmp_path / "model.onnx")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    with np.load(digits / "calibration.npz") as stored:
        names = {"images": stored["image"][:, 0], "labels": stored["labels"]}
    for block in PYTHON:
        exec(block, names)
    printed = capsys.readouterr().out.splitlines()
    expected = re.findall(r"^print\(.*\)  # (.*)$", PAGE, re.MULTILINE)
    assert printed[: len(expected)] == expected
    assert printed[-1].startswith("Progress(epoch=3, epochs=3, step=18, ")
    assert glow.compile("trained.onnx").inputs[0].shape == (1, 1, 8, 8)
