"""The text and the Python of docs/partition.md."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from places import ROOT
from test_documented_commands import blocks, python_of

from glow.passes.graph.partition.divide import STRATEGIES
from glow.tools.glow_opt import run_glow_opt

PAGE = (ROOT / "docs" / "partition.md").read_text(encoding="utf-8")


def test_divided_text_is_what_the_pass_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, _ = blocks(PAGE, "mlir")
    path = tmp_path / "before.mlir"
    path.write_text(before, encoding="utf-8")
    (options,) = re.findall(r"`--partition='(.*)'` this", PAGE)
    run_glow_opt([f"--partition={options}", str(path)])
    assert capsys.readouterr().out.strip() == after.strip()


def test_assigned_text_is_what_the_pass_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, _, lines = blocks(PAGE, "mlir")
    path = tmp_path / "before.mlir"
    path.write_text(before, encoding="utf-8")
    (options,) = re.findall(r"`--assign-backends='(.*)'`", PAGE)
    run_glow_opt([f"--assign-backends={options}", str(path)])
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in printed if " backend " in line] == lines.splitlines()


def test_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    for block in python_of("partition.md"):
        exec(block, {})
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in printed] == ["cpu:0", "cpu:1"]


def test_every_strategy_has_a_row() -> None:
    assert re.findall(r"^\| `(\w+)` \| \S", PAGE, re.MULTILINE) == [*STRATEGIES]
