"""The dumps in README.md and docs/architecture.md are what the compiler prints."""

from __future__ import annotations

import os
import re
from itertools import chain

import pytest
from places import ROOT

from glow.compiler import load, lower_to

DOCS = ROOT / "docs"
BLOCK = re.compile(r"<!-- dump (\w+) -->\n```\w+\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall((DOCS / "architecture.md").read_text())
PAGES = [*DOCS.glob("*.md"), ROOT / "README.md"]
README_BLOCKS = BLOCK.findall((ROOT / "README.md").read_text())


@pytest.mark.parametrize(("stage", "block"), BLOCKS + README_BLOCKS)
def test_dump_is_true(stage: str, block: str) -> None:
    """Each run of lines between `...` stands in the stage's output."""
    result = lower_to(load(DOCS / "small.mlir"), stage, target="avx512")
    output = "\n".join(line.strip() for line in str(result).splitlines())
    for run in block.split("...\n"):
        lines = "\n".join(line.strip() for line in run.splitlines())
        assert lines in output, f"{stage} prints something else than\n{run}"


def test_readme_shows_two_levels() -> None:
    assert [stage for stage, _ in README_BLOCKS] == ["graph", "instr"]


def test_every_level_is_shown() -> None:
    """No level is left out."""
    shown = {stage for stage, _ in BLOCKS}
    assert shown == {"graph", "lowered", "instr", "loops", "llvm"}


def test_modules_that_pages_name_are_there() -> None:
    """A page says `kernels/winograd/bounds.py`, or `bounds.py`, of a file of that name."""
    folders = ("glow", "glow_dialects", "passes", "lowering", "tools", "benchmarks")
    # os.walk passes over folders that vanish meanwhile.
    walks = [os.walk(ROOT / name) for name in (*folders, "examples", "test")]
    known = {
        f"{folder}/{name}"
        for folder, _, names in chain.from_iterable(walks)
        for name in names
    }
    missing = [
        f"{page.name}: {name}"
        for page in PAGES
        for name in re.findall(r"`([\w/.]+\.py)`", page.read_text(encoding="utf-8"))
        if not any(file.endswith(f"/{name}") for file in known)
    ]
    assert not missing


def test_tables_end_before_text() -> None:
    """Markdown takes a line of text right below a table for one more row of it."""
    rows = re.compile(r"^\|.*\n(?!\||<!--|\n)(.+)", re.MULTILINE)
    swallowed = [
        f"{page.name}: {line}"
        for page in PAGES
        for line in rows.findall(page.read_text(encoding="utf-8"))
    ]
    assert not swallowed
