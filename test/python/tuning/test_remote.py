"""Measuring on a board: a local process in the place of ssh, with no more than Python's library."""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from glow.dialects.errors import GlowError, UsageError
from glow.lowering.target.target import host_target
from glow.options import CompileOptions
from glow.tools.glow import run_glow
from glow.tools.machine.bench import kernel_library, network_program
from glow.tuning.choices import MEASURED, tuning_file
from glow.tuning.remote import board as board_module
from glow.tuning.remote.board import Board, Program
from glow.tuning.search import Job

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no linker of shared libraries"
)

KERNEL = "define void @kernel(ptr %x, i64 %n) {{\n{body}\n  ret void\n}}"
FINE = KERNEL.format(body="  store volatile i64 %n, ptr %x")
DEADLY = KERNEL.format(body="  call void @llvm.trap()") + "\ndeclare void @llvm.trap()"
CACHE = 1 << 20


@pytest.fixture
def reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs with an `ssh` that runs its command here, while there is `here`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "here").touch()
    scripts = {
        "ssh": f"[ -e {folder}/here ] || {{ echo no route >&2; exit 255; }}\n"
        'for last; do :; done\nexec sh -c "$last"',
        "python3": f'exec {sys.executable} -IS "$@"',
    }
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A product."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (16, 32))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (16, 48))],
        [numpy_helper.from_array(np.ones((32, 48), np.float32), "w")],
    )
    path = tmp_path / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path
    )
    return path


def program(text: str) -> Program:
    """A call of a kernel."""
    library = kernel_library(text, host_target())
    return Program([library], [("floats", 4096)], [(0, "kernel", [0], [7])])


def test_a_board_measures_kernels(
    reachable: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", str(model), "--budget=20s", "--most=2", "--remote=ssh://board"]
    run_glow(words)
    assert "1 kernels in" in capsys.readouterr().out
    lines = tuning_file(MEASURED).read_text().splitlines()
    assert len(lines) == 2
    assert all(json.loads(line)["warm"] > 0 for line in lines)


def test_a_network_runs_on_a_board(reachable: Path, model: Path) -> None:
    inputs = {"x": np.ones((16, 32), np.float32)}
    job = Job(model, CompileOptions(threads=1), inputs)
    board = Board("ssh://board", pytest.fail)
    (times,) = board.measure({"network": network_program(job)}, 1, CACHE)
    board.close()
    assert 0 < times.warm < 1


def test_what_a_board_dies_of_is_left_out_and_the_others_are_measured(
    reachable: Path,
) -> None:
    told: list[str] = []
    board = Board("ssh://board", told.append)
    broken = Program([b"no library"], [], [(0, "kernel", [], [])])
    programs = {"deadly": program(DEADLY), "fine": program(FINE), "broken": broken}
    deadly, fine, wrong = board.measure(programs, 1, CACHE)
    board.close()
    assert math.isinf(deadly.warm)
    assert math.isinf(wrong.warm)
    assert 0 < fine.warm < 1
    assert len(told) == 2
    assert "ssh://board: deadly is left out: the runner has ended (" in told[0]
    assert "ssh://board: broken is left out: OSError" in told[1]
    assert not any("\n" in line for line in told)


def test_a_board_that_is_gone_is_one_line(reachable: Path) -> None:
    board, alone = Board("ssh://board", lambda line: None), program(FINE)
    (reachable / "here").unlink()
    assert math.isinf(board.measure({"deadly": program(DEADLY)}, 1, CACHE)[0].warm)
    with pytest.raises(GlowError, match=r"ended \(255\): no route") as caught:
        board.measure({"fine": alone}, 1, CACHE)
    assert "--resume" in str(caught.value.hint)
    with pytest.raises(GlowError, match="ssh://board: the runner has ended"):
        Board("ssh://board", print)
    board.close()


@pytest.mark.parametrize(
    "address",
    ["board", "http://board", "ssh://", "ssh://-oX=y", "ssh://b/x", "ssh://b:x", "//["],
)
def test_addresses_of_no_board(address: str) -> None:
    with pytest.raises(GlowError, match="is no board"):
        Board(address, print)


def test_nodes_of_a_cluster_need_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "find_spec", lambda name: None)
    with pytest.raises(GlowError, match="ray://head:10001 needs Ray") as caught:
        Board("ray://head:10001", print)
    assert "glow-xdsl[ray]" in str(caught.value.hint)


def test_command_lines_that_make_no_sense(reachable: Path, model: Path) -> None:
    with pytest.raises(GlowError, match="target is of aarch64"):
        run_glow(["tune", str(model), "--remote=ssh://board", "--target=neon"])
    with pytest.raises(UsageError, match="one thread"):
        run_glow(["tune", str(model), "--remote=ssh://board", "--threads=2"])
    with pytest.raises(UsageError, match="measures a model"):
        run_glow(["tune", "--fit", "--remote=ssh://board"])
    with pytest.raises(UsageError, match="goes by no record"):
        run_glow(["tune", str(model), "--target=host,uncalibrated"])
