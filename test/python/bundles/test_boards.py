"""`make run` in the folder of a bundle for a microcontroller: QEMU's board prints OK."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from places import ROOT

from glow.bundles.example.boards import BOARDS
from glow.tools.glow import run_glow

TOOLS = "arm-none-eabi-gcc", "qemu-system-arm", "make"
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]
SOME = ("cortex-m4", "cortex-m55")
TARGETS = tuple(BOARDS) if os.environ.get("GLOW_ALL_TARGETS") else SOME

DIGITS = ROOT / "examples" / "digits"


def files_of(folder: Path, target: str, *options: str) -> Path:
    model = str(DIGITS / "mlp.onnx")
    arguments = ["compile", model, "--emit=bundle", "-o", str(folder)]
    run_glow([*arguments, f"--target={target}", *options])
    return folder


@pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_boards_run_bundles(target: str, tmp_path: Path) -> None:
    weights = "linked" if target == "cortex-m4" else "file"
    folder = files_of(tmp_path / "out", target, f"--weights={weights}")
    run = subprocess.run(
        ["make", "--no-print-directory", "run"],
        cwd=folder,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.decode().split("\n")[-2:] == ["OK", ""]


def test_files_of_a_board(tmp_path: Path) -> None:
    folder = files_of(tmp_path / "out", "cortex-m33", "--name=net")
    written = {path.name for path in folder.iterdir()}
    assert {"Makefile", "startup.c", "board.ld", "main.c"} <= written
    script = (folder / "board.ld").read_text()
    assert "*(.rodata.net)" in script
    assert "ORIGIN = 0x10000000" in script
    for path in folder.iterdir():
        if path.suffix != ".bin" and path.suffix != ".o":
            assert "@" not in path.read_text().replace("$@", "").replace("@param", "")
