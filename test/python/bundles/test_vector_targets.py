"""Bundles for vectors that Unicorn does not have: in QEMU, int8 has the bits of the JIT.

A program takes the place of the example's `main.c` and prints what comes out. RISC-V needs
`ziglang`, which builds its C library once, in half a minute: `make bundles` runs that.
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
from glow.quantization import for_target
from glow.tools.glow import run_glow

DIGITS = ROOT / "examples" / "digits"

PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "digits.h"

static uint8_t mutables[DIGITS_MUTABLES_BYTES] __attribute__((aligned(DIGITS_ALIGNMENT)));
static uint8_t activations[DIGITS_ACTIVATIONS_BYTES] __attribute__((aligned(DIGITS_ALIGNMENT)));
static const uint8_t image[] = {@IMAGE@};

int main(void) {
  memcpy(mutables + DIGITS_IMAGE_OFFSET, image, sizeof image);
  if (digits(digits_constants, mutables, activations)) return 1;
  for (unsigned i = 0; i < DIGITS_LOGITS_BYTES; i++)
    printf("%02x", mutables[DIGITS_LOGITS_OFFSET + i]);
  printf("\\n");
  return 0;
}
"""

BOARD = "arm-none-eabi-gcc", "qemu-system-arm", "make"
RISCV = "qemu-riscv64-static", "make"
RUN = "qemu-riscv64-static -cpu rv64,v=true,vlen={},vext_spec=v1.0"
ZIG = f"CC={sys.executable} -m ziglang cc -target riscv64-linux-musl"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "digits.yaml"
    data = ["--data", str(DIGITS / "calibration.npz"), "--batches", "2"]
    run_glow(["profile", str(DIGITS / "digits.onnx"), *data, "-o", str(path)])
    return path


def missing(tools: tuple[str, ...]) -> list[str]:
    return [tool for tool in tools if shutil.which(tool) is None]


def logits_of(folder: Path, image: np.ndarray, *settings: str) -> np.ndarray:
    """What `make run` prints, as numbers."""
    numbers = ",".join(map(str, image.tobytes()))
    (folder / "main.c").write_text(PROGRAM.replace("@IMAGE@", numbers))
    run = subprocess.run(
        ["make", "--no-print-directory", "run", *settings],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return np.frombuffer(bytes.fromhex(run.stdout.split()[-1]), np.float32)


def check(
    target: str, optimize: str, profile: Path, folder: Path, *settings: str
) -> None:
    model = DIGITS / "digits.onnx"
    options = [f"--target={target}", f"--quantize={profile}", "--weights=linked"]
    options += [f"--optimize={optimize}", "--numerics=exact"]
    run_glow(["compile", str(model), "--emit=bundle", "-o", str(folder), *options])
    image = np.random.default_rng(7).random((1, 1, 8, 8), np.float32)
    same = for_target(None, target)
    network = glow.compile(model, quantize=str(profile), quantization=same, threads=1)
    found = logits_of(folder, image, *settings)
    np.testing.assert_array_equal(found, network(image).reshape(-1))


@pytest.mark.skipif(bool(missing(BOARD)), reason=f"{missing(BOARD)} not installed")
@pytest.mark.parametrize(
    "optimize", ["speed", "size"] if os.environ.get("GLOW_ALL_TARGETS") else ["size"]
)
def test_helium_has_the_bits_of_the_jit(
    optimize: str, profile: Path, tmp_path: Path
) -> None:
    check("cortex-m55", optimize, profile, tmp_path / "out")


@pytest.mark.skipif(not os.environ.get("GLOW_ALL_TARGETS"), reason="make bundles")
@pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed")
@pytest.mark.skipif(bool(missing(RISCV)), reason=f"{missing(RISCV)} not installed")
@pytest.mark.parametrize("vector_bits", [128, 256])
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_vectors_of_riscv_have_the_bits_of_the_jit(
    optimize: str, vector_bits: int, profile: Path, tmp_path: Path
) -> None:
    settings = ZIG, "CFLAGS=-O1 -static", f"RUN={RUN.format(vector_bits)}"
    check("riscv64-v", optimize, profile, tmp_path / "out", *settings)
