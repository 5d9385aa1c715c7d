"""Upstream MLIR, where it is installed: the judge of the text that we print.

It is optional. `GLOW_MLIR_OPT` names a program; otherwise the search path and Debian's folder
are looked through (`apt install mlir-22-tools`). `mlir-translate` stands beside `mlir-opt`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

VERSION = 22
"""The oldest release whose syntax is ours."""

ABSENT = (
    f"no mlir-opt {VERSION} or newer here: install Debian's mlir-{VERSION}-tools "
    "or name one in GLOW_MLIR_OPT"
)

SEPARATOR = "// -----\n"
"""Between texts that are read, and printed, one by one."""

TO_LLVM = (
    "func.func(convert-vector-to-scf{full-unroll=true target-rank=1})",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-vector-to-llvm",
    "convert-arith-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true}",
    "convert-cf-to-llvm",
    "convert-ub-to-llvm",
    "reconcile-unrealized-casts",
)
"""Upstream's way from the loops level to the llvm dialect."""


@cache
def find_mlir_opt() -> Path | None:
    """Where mlir-opt is, None if there is none that is new enough."""
    named = os.environ.get("GLOW_MLIR_OPT")
    candidates = [
        named,
        shutil.which("mlir-opt"),
        shutil.which(f"mlir-opt-{VERSION}"),
        f"/usr/lib/llvm-{VERSION}/bin/mlir-opt",
    ]
    for candidate in candidates[:1] if named else candidates[1:]:
        if candidate and version_of(candidate) >= VERSION:
            return Path(candidate)
    return None


def version_of(program: str) -> int:
    """The major version of an MLIR program, 0 if it does not run."""
    try:
        text = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return 0
    found = re.search(r"LLVM version (\d+)", text)
    return int(found[1]) if found else 0


def mlir_translate_of(mlir_opt: Path) -> Path:
    """The mlir-translate that belongs to an mlir-opt."""
    return mlir_opt.with_name(mlir_opt.name.replace("mlir-opt", "mlir-translate"))


def run_program(program: Path, options: list[str], text: str) -> str:
    """What a program prints for a text; an AssertionError with its message if it fails."""
    done = subprocess.run(
        [program, *options], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def mlir_opt(text: str, *options: str) -> str:
    """What mlir-opt prints for a text that it accepts."""
    program = find_mlir_opt()
    assert program is not None, ABSENT
    return run_program(program, list(options), text)


def mlir_opt_each(texts: Sequence[str], *options: str) -> list[str]:
    """What mlir-opt prints for each of some texts: its start takes longer than they do."""
    printed = mlir_opt(SEPARATOR.join(texts), "--split-input-file", *options)
    return printed.split(SEPARATOR)


def mlir_translate(text: str) -> str:
    """The LLVM IR of a text in the llvm dialect."""
    program = find_mlir_opt()
    assert program is not None, ABSENT
    return run_program(mlir_translate_of(program), ["--mlir-to-llvmir"], text)


def lower_upstream(text: str) -> str:
    """The LLVM IR that upstream makes of a module at the loops level."""
    pipeline = f"--pass-pipeline=builtin.module({','.join(TO_LLVM)})"
    return mlir_translate(mlir_opt(text, pipeline))
