"""NVIDIA's assembler, of a toolkit or of PyPI's package, and what it says of kernels.

Networks run without it: the driver assembles. It tells what kernels need where there is no GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple

from glow.dialects.errors import GlowError

ENTRIES = re.compile(
    r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", re.DOTALL
)
WORDS = (r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes smem")


class Assembled(NamedTuple):
    """What a kernel needs."""

    name: str
    registers: int
    spills: int
    """Bytes."""
    shared_bytes: int


def find_ptxas() -> str | None:
    """The assembler, None where there is none (`pip install nvidia-cuda-nvcc`)."""
    folder = Path(sysconfig.get_path("purelib")) / "nvidia"
    found = next(folder.glob("*/bin/ptxas"), None)
    return shutil.which("ptxas") or (None if found is None else str(found))


def assemble(ptxas: str, text: str, gpu: str, folder: Path) -> list[Assembled]:
    """The kernels of an assembly, which is written to a folder.

    Raises GlowError with the assembler's first line for a text that it rejects.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "kernels.ptx"
    file.write_text(text)
    command = [ptxas, "-v", f"-arch={gpu}", str(file), "-o", str(folder / "cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise GlowError(f"ptxas rejects kernels: {said}")
    return [
        Assembled(name, *(_number(words, body) for words in WORDS))
        for name, body in ENTRIES.findall(done.stderr)
    ]


def _number(words: str, text: str) -> int:
    """A number that the assembler prints, 0 where it prints none."""
    found = re.search(words, text)
    return int(found[1]) if found else 0
