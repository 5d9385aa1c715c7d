"""Bundles of systems: on this machine's CPU, and as C programs in QEMU's user emulation.

The second needs `ziglang` (a C cross compiler, which builds its library once, in half a minute)
and `qemu-user-static`; `make bundles` runs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import glow
from glow.lowering.target.target import Target, host_target
from glow.tools.glow import run_glow

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"

LEVELS = [
    name
    for name in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "neon")
    if Target.from_string(name).runs_on(host_target())
]

EMULATED = {
    "neon": ("aarch64", "qemu-aarch64-static -cpu cortex-a72"),
    "neon-dotprod": ("aarch64", "qemu-aarch64-static -cpu max"),
    "neon-i8mm": ("aarch64", "qemu-aarch64-static -cpu max"),
    "riscv64": ("riscv64", "qemu-riscv64-static -cpu rv64,v=false"),
    "riscv64-v": (
        "riscv64",
        "qemu-riscv64-static -cpu rv64,v=true,vlen=128,vext_spec=v1.0",
    ),
}
"""The architecture, and the command that runs programs of a target."""


@pytest.mark.parametrize("target", LEVELS)
def test_levels_of_this_cpu(target: str, tmp_path: Path) -> None:
    options = ["--emit=bundle", "-o", str(tmp_path / "out"), "--optimize=size"]
    run_glow(["compile", str(DIGITS), *options, f"--target={target}"])
    loaded = glow.load(tmp_path / "out")
    image = np.random.default_rng(0).random((1, 1, 8, 8), np.float32)
    expected = glow.compile(DIGITS, threads=1)(image)
    off = np.abs(loaded(image) - expected).max()
    assert off <= 1e-5 * np.abs(expected).max()


@pytest.mark.skipif(not os.environ.get("GLOW_ALL_TARGETS"), reason="make bundles")
@pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed")
@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("target", EMULATED)
def test_programs_in_user_emulation(
    target: str, quantized: bool, tmp_path: Path
) -> None:
    architecture, command = EMULATED[target]
    emulator = command.split()[0]
    if shutil.which(emulator) is None:
        pytest.skip(f"{emulator} is not installed")
    profile, folder = tmp_path / "digits.yaml", tmp_path / "out"
    data = ["--data", str(DIGITS.parent / "calibration.npz"), "--batches", "16"]
    run_glow(["profile", str(DIGITS), *data, "-o", str(profile)])
    quantize = [f"--quantize={profile}"] if quantized else []
    options = ["--emit=bundle", "-o", str(folder), f"--target={target}", *quantize]
    run_glow(["compile", str(DIGITS), *options])
    compiler = f"{sys.executable} -m ziglang cc -target {architecture}-linux-musl"
    settings = [f"CC={compiler}", "CFLAGS=-O1 -static", f"RUN={command}"]
    run = subprocess.run(
        ["make", "--no-print-directory", "run", *settings],
        cwd=folder,
        check=False,
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.decode().split("\n")[-2:] == ["OK", ""]
