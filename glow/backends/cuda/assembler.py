"""NVIDIA's assembler, of a toolkit or of PyPI's package: machine code, and what it says of kernels.

Networks run without it: the driver assembles, a kernel after the other. It works beside the
compiler, and tells what kernels need where there is no GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from glow.dialects.errors import GlowError
from glow.runtime.caches.object_cache import ObjectCache, cache_key

ENTRIES = re.compile(
    r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry|\Z)", re.DOTALL
)
CUBIN = "cubin"
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
    done = run_assembler(ptxas, text, gpu, folder)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise GlowError(f"ptxas rejects kernels: {said}")
    return [
        Assembled(name, *(_number(words, body) for words in WORDS))
        for name, body in ENTRIES.findall(done.stderr)
    ]


def run_assembler(
    ptxas: str, text: str, gpu: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Assembles a text to the file `cubin` in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "kernels.ptx"
    file.write_text(text)
    command = [ptxas, "-v", f"-arch={gpu}", str(file), "-o", str(folder / CUBIN)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@cache
def assembler_version(ptxas: str) -> str:
    """What an assembler says of itself."""
    command = [ptxas, "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def machine_code(text: str, gpu: str) -> bytes | None:
    """The code of an assembly for a GPU, from the cache on disk where it is known.

    None without an assembler, or one that rejects the text: it may be older than the driver.
    """
    ptxas = find_ptxas()
    if ptxas is None:
        return None
    if re.search(rf"^\.target {gpu}a\b", text, re.MULTILINE):
        gpu += "a"  # With what this GPU has and later ones have not.
    cache, content = ObjectCache(), f"cubin {assembler_version(ptxas)}{text}"
    key = cache_key(content, gpu)
    if (entry := cache.load(key)) is not None:
        return entry[0]
    with TemporaryDirectory() as folder:
        if run_assembler(ptxas, text, gpu, Path(folder)).returncode:
            return None
        code = (Path(folder) / CUBIN).read_bytes()
    cache.store(key, [code])
    return code


def _number(words: str, text: str) -> int:
    """A number that the assembler prints, 0 where it prints none."""
    found = re.search(words, text)
    return int(found[1]) if found else 0
