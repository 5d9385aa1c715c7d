"""NVIDIA's assembler, of a toolkit or of PyPI's package, and what it says of kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest


class Assembled(NamedTuple):
    """What a kernel needs."""

    name: str
    registers: int
    spills: int
    shared_bytes: int


def ptxas() -> str | None:
    """The assembler, None where there is none (`pip install nvidia-cuda-nvcc`)."""
    folder = Path(sysconfig.get_path("purelib")) / "nvidia"
    found = next(folder.glob("*/bin/ptxas"), None)
    return shutil.which("ptxas") or (None if found is None else str(found))


def assemble(text: str, gpu: str, folder: Path) -> list[Assembled]:
    """The kernels of an assembly; skips the test where there is no assembler."""
    assembler = ptxas()
    if assembler is None:
        pytest.skip("ptxas is not installed")
    file = folder / "kernels.ptx"
    file.write_text(text)
    command = [assembler, "-v", f"-arch={gpu}", str(file), "-o", str(folder / "cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [
        Assembled(name, *(number_of(words, body) for words in WORDS))
        for name, body in re.findall(
            r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)",
            done.stderr,
            re.DOTALL,
        )
    ]


WORDS = (r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes smem")


def number_of(words: str, text: str) -> int:
    """A number that the assembler prints, 0 where it prints none."""
    found = re.search(words, text)
    return int(found[1]) if found else 0
