"""NVIDIA's assembler for tests, which are skipped where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from glow.backends.cuda import assembler
from glow.backends.cuda.assembler import Assembled, find_ptxas


def assemble(text: str, gpu: str, folder: Path) -> list[Assembled]:
    """The kernels of an assembly; skips the test where there is no assembler."""
    found = find_ptxas()
    if found is None:
        pytest.skip("ptxas is not installed")
    return assembler.assemble(found, text, gpu, folder)
