"""`docs/passes.md` says what is there: passes are registered, lit tests run them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from places import ROOT
from support.programs.validation import all_passes, commands, passes_of

PAGE = ROOT / "docs" / "passes.md"
PASS_NAME = re.compile(r"`([a-z]+(?:-[a-z0-9]+)*)`")
COUNTS = {"Graph passes": 59 + 34, "Instruction passes": 13 + 3, "Node lowering": 43}
"""Rows: Glow's 59 passes and what is beyond; its 13 and memory; its lowerings,
and those of attention and of the largest elements."""

Row = tuple[str, ...]


@cache
def rows() -> list[tuple[str, Row]]:
    """The heading and the cells of each row of the page's tables."""
    found: list[tuple[str, Row]] = []
    heading = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith(("| Glow |", "| what |")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            found.append((heading, tuple(cell.strip("| ") for cell in cells)))
    return found


def names(text: str) -> list[str]:
    """The passes that a cell names, without words that are no passes."""
    return [
        name for name in PASS_NAME.findall(text) if "-" in name or name in all_passes()
    ]


def test_no_pass_of_glow_is_missing() -> None:
    for heading, count in COUNTS.items():
        firsts = [cells[0] for found, cells in rows() if found == heading]
        assert len(firsts) == len(set(firsts)) == count, heading


@pytest.mark.parametrize("number", range(sum(COUNTS.values())))
def test_row_is_true(number: int) -> None:
    _, cells = rows()[number]
    first, ours, *_, test = cells
    assert all(cells), f"{first} has an empty cell"
    mentioned = names(ours)
    assert set(mentioned) <= all_passes().keys(), first
    if ours.startswith("none:"):
        assert len(ours) > len("none: because"), f"{first} needs a reason"
    else:
        assert mentioned, f"{first} names no pass"
        assert test.endswith(".mlir`"), f"{first} has no lit test"
    for name in test.replace("`", "").split(", ") if test != "none" else ():
        path = ROOT / "test" / name
        assert path.is_file(), name
        if not ours.startswith("none:"):
            assert set(mentioned) & run_by(path), f"{name} runs none of {mentioned}"


def run_by(path: Path) -> set[str]:
    """The passes of a lit test's RUN lines."""
    found = commands(path.read_text())
    return {
        p.name for words in found if words[0] == "glow-opt" for p in passes_of(words)
    }


def test_every_graph_pass_has_a_row() -> None:
    from glow.passes.graph import PASSES

    text = PAGE.read_text()
    missing = [name for name in PASSES if f"`{name}`" not in text]
    assert missing == ["verify-graph"]
