"""ResNet-50 through the wheel of a backend's package, in an environment of its own.

`make backend-package` runs it: wheels of Glow and of `examples/toy` are built and installed with
what they need, which takes a minute and asks the package index. `test_backend_package.py` installs
the same packages beside this environment, without.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from places import ROOT

from benchmarks.networks import NETWORKS

pytestmark = pytest.mark.skipif(
    not os.environ.get("GLOW_FRESH_ENVIRONMENT"), reason="make backend-package"
)

PACKAGES = (ROOT, ROOT / "examples" / "toy")
LARGEST_ERROR = 1e-4
"""As a share of the largest output."""


def run(*command: object, folder: Path) -> str:
    """What a command prints, in a folder and without what this environment has."""
    kept: Mapping[str, str] = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH"
    }
    result = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={
            **kept,
            "GLOW_MODEL_CACHE_MB": "0",
            "GLOW_CACHE_DIR": str(folder / "cache"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with both wheels."""
    base = tmp_path_factory.mktemp("fresh")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    build = (*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", base / "wheels")
    run(*build, *PACKAGES, folder=base)
    run(sys.executable, "-m", "venv", base / "venv", folder=base)
    found = base / "venv" / "bin"
    wheels = sorted((base / "wheels").glob("*.whl"))
    assert len(wheels) == len(PACKAGES)
    run(found / "python", "-m", "pip", "install", "--quiet", *wheels, folder=base)
    return found


def test_resnet50_runs_on_both(programs: Path, tmp_path: Path) -> None:
    """The toy has the last layer; the outputs are those of the CPU alone."""
    onnx.save(NETWORKS["resnet50"](), tmp_path / "resnet50.onnx")
    assert "toy:0" in run(programs / "glow", "devices", folder=tmp_path)
    emit = ("compile", "resnet50.onnx", "--backend=toy,cpu", "--emit=parts")
    run(programs / "glow", *emit, "-o", "parts.mlir", folder=tmp_path)
    text = (tmp_path / "parts.mlir").read_text(encoding="utf-8")
    assert "func.call @part1_toy" in text
    outputs: list[np.ndarray] = []
    for backend in ("cpu", "toy,cpu"):
        out = tmp_path / backend.replace(",", "-")
        command = ("run", "resnet50.onnx", f"--backend={backend}", "--output", out)
        run(programs / "glow", *command, folder=tmp_path)
        (file,) = out.glob("*.npy")
        outputs.append(np.load(file))
    alone, both = outputs
    assert alone.shape == both.shape == (1, 1000)
    assert np.abs(both - alone).max() <= LARGEST_ERROR * np.abs(alone).max()


def test_other_tools_know_the_package(programs: Path, tmp_path: Path) -> None:
    network = ROOT / "examples" / "backend" / "network.mlir"
    for command in (
        ("glow-opt", "--form-toy-dense"),
        ("xdsl-opt", "-p", "form-toy-dense"),
    ):
        tool, *arguments = command
        text = run(programs / tool, network, *arguments, folder=tmp_path)
        assert "toy.dense" in text
