"""A limit of memory: from Python, from both tools, and what they say when it is too low."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import glow
from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt

SMALL = ROOT / "docs" / "small.mlir"
"""Needs 1024 bytes."""

MESSAGE = (
    r"the memory limit is 1023 bytes, but @main needs 1024: its peak is at instr\."
)


def test_limit_that_is_kept() -> None:
    x = np.ones((1, 3, 4, 4), np.float32)
    limited, free = glow.compile(SMALL, memory_limit=1024), glow.compile(SMALL)
    assert np.array_equal(limited(x), free(x))


def test_limit_that_is_too_low(tmp_path: Path) -> None:
    with pytest.raises(GlowError, match=MESSAGE):
        glow.compile(SMALL, memory_limit=1023)
    output = tmp_path / "small.o"
    with pytest.raises(GlowError, match=MESSAGE):
        run_glow(["compile", str(SMALL), "--memory-limit", "1023", "-o", str(output)])
    assert not output.exists()


def test_limit_of_a_backend_without_a_plan() -> None:
    with pytest.raises(GlowError, match="a memory limit needs a backend that plans"):
        glow.compile(SMALL, memory_limit=1024, backend="interpreter")


def test_limit_without_a_plan() -> None:
    with pytest.raises(GlowError, match="--memory-limit is for --plan-memory"):
        run_glow_opt([str(SMALL), "--cse", "--memory-limit=1024"])
