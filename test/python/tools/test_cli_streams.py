"""The tools as programs: exit codes, streams that are closed or full, Ctrl-C."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

BIN = Path(sys.executable).parent


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`y = x @ w` on float32[2, 64], with 16 KiB of weights."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 64]) for n in "xy")
    weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = helper.make_graph([node], "graph", [x], [y], [weights])
    onnx.save(helper.make_model(graph), str(tmp_path / "model.onnx"))
    return tmp_path / "model.onnx"


def shell(line: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a line of the shell that finds the tools."""
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    return subprocess.run(
        ["sh", "-c", line], env=environment, capture_output=True, text=True, **options
    )


def test_version() -> None:
    assert shell("glow --version").stdout == f"glow {version('glow-xdsl')}\n"


@pytest.mark.parametrize("tool", ["glow run", "glow-opt"])
def test_usage_errors(tool: str) -> None:
    result = shell(f"{tool} --no-such-option")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1


CLOSED = (">&-", "bad file descriptor")
FULL = (">/dev/full", "no space left on device")


@pytest.mark.parametrize(
    ("tool", "stdout", "reason"),
    [
        ("glow compile --emit=graph", *CLOSED),
        ("glow-opt", *CLOSED),
        ("glow-opt", *FULL),
        ("glow run", *FULL),
        # More than the stream's buffer holds, and what goes past one.
        ("glow compile --emit=llvm", *FULL),
        ("env PYTHONUNBUFFERED=1 glow run", *FULL),
    ],
)
def test_output_that_cannot_be_written(
    model: Path, tool: str, stdout: str, reason: str
) -> None:
    result = shell(f"exec {tool} {model} {stdout}")
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.endswith(f"error: cannot write to standard output: {reason}")
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr


def test_closed_stderr() -> None:
    """What would be said there is not mixed with the output."""
    result = shell("glow run absent.onnx 2>&-")
    assert result.returncode == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("glow-opt model.onnx -o out.mlir", "out.mlir.safetensors"),
        ("glow compile model.onnx --emit=graph -o out.mlir", "out.mlir.safetensors"),
        ("glow compile model.onnx -o out.o", "out.o"),
        ("glow run model.onnx --output out", "y.npy"),
    ],
)
def test_full_disk(model: Path, command: str, file: str) -> None:
    """A limit on the size of files stands for the disk; nothing half-written is left."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    before = {path.name for path in model.parent.iterdir()}
    result = shell(command, cwd=model.parent, preexec_fn=limit)
    assert result.returncode == 1
    line = result.stderr.splitlines()[-1]
    assert "internal error" not in line
    assert "error: cannot write" in line
    assert file in line
    assert {path.name for path in model.parent.iterdir()} - before <= {"out"}
    assert not list(model.parent.glob("out/*"))


@pytest.mark.parametrize("tool", ["glow", "glow-opt"])
def test_interrupt_while_the_tool_is_loaded(tool: str, tmp_path: Path) -> None:
    """The module that takes long to load here is one that the tool imports first."""
    (tmp_path / "argparse.py").write_text(
        "import sys, time\nprint('loading', flush=True)\ntime.sleep(20)\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(tmp_path))
    process = subprocess.Popen(
        [BIN / tool],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What starts the tests in the background may ignore the signal, and so would the tool.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert errors == f"{tool}: error: interrupted\n"
    assert process.returncode == 130
