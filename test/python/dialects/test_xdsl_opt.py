"""Plain `xdsl-opt` runs our passes on programs with weights, as the README says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import glow
from benchmarks.networks import TINY_NETWORKS, make_inputs
from glow.tools.glow_opt import run_glow_opt

XDSL_OPT = Path(sys.executable).with_name("xdsl-opt")


def xdsl_opt(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What the program prints."""
    command = [XDSL_OPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network with batch normalization, as text with its weights beside it."""
    folder = tmp_path_factory.mktemp("program")
    model, text = folder / "m.onnx", folder / "m.mlir"
    model.write_bytes(TINY_NETWORKS["mobilenet_v2"]().SerializeToString())
    run_glow_opt([str(model), "-o", str(text)])
    return text


@pytest.mark.parametrize(
    "options", [(), ("-p", "fold-batch-norm"), ("-p", "canonicalize,fold-constants")]
)
def test_passes_read_the_weights(program: Path, options: tuple[str, ...]) -> None:
    output = program.with_name("out.mlir")
    done = xdsl_opt(*options, program, "-o", output)
    assert (done.returncode, done.stderr) == (0, "")
    inputs = make_inputs(TINY_NETWORKS["mobilenet_v2"](), seed=1)
    expected = glow.compile(program).run(inputs)
    for name, array in glow.compile(output).run(inputs).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-6)


def test_a_missing_file_is_said(program: Path) -> None:
    alone = program.parent / "other" / "m.mlir"
    alone.parent.mkdir()
    alone.write_bytes(program.read_bytes())
    done = xdsl_opt("-p", "fold-batch-norm", alone)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "the weight file" in last
    assert "does not exist" in last


def test_other_weights_are_refused(program: Path) -> None:
    """The digest in the program is another one's."""
    other = program.with_name("other.mlir")
    text = program.read_text()
    start = text.index('.safetensors", "') + len('.safetensors", "')
    other.write_text(f"{text[:start]}0{text[start + 1 :]}")
    if other.read_text() == text:
        other.write_text(f"{text[:start]}1{text[start + 1 :]}")
    done = xdsl_opt("-p", "fold-batch-norm", other)
    assert done.returncode == 1
    assert (
        "is not the one that was written with the program"
        in done.stderr.splitlines()[-1]
    )


def test_loops_need_our_own_tool(program: Path) -> None:
    """As the README says: xDSL's `arith.select` takes no vectors."""
    loops = program.with_name("loops.mlir")
    command = [sys.executable, "-m", "glow.tools.glow", "compile", "--emit=loops"]
    subprocess.run([*command, program, "-o", loops], check=True, capture_output=True)
    assert xdsl_opt(loops).returncode == 1
    run_glow_opt([str(loops), "-o", str(loops)])
