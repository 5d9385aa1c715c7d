"""`docs/add-an-operator.md`, followed to the letter in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

PAGE = (ROOT / "docs" / "add-an-operator.md").read_text()
PACKAGES = {
    "dialects": "glow_dialects",
    "passes": "passes",
    "lowering": "lowering",
    "tools": "tools",
}
"""The folders at the top level under the names that they have once installed."""

EDIT = re.compile(
    r"^In `([^`]+)`, (above|below) `([^`]+)`:\n\n```python\n(.*?)^```$", re.M | re.S
)
PROGRAM = re.compile(r"^Run:\n\n```python\n(.*?)^```$", re.M | re.S)


def copied_tree(root: Path) -> Path:
    """A copy of the sources, importable from its root."""
    for folder in ("glow", *PACKAGES.values(), "test/python/support"):
        shutil.copytree(ROOT / folder, root / folder)
    for package, folder in PACKAGES.items():
        (root / "glow" / package).symlink_to(root / folder)
    return root


def edited(text: str, side: str, anchor: str, block: str) -> str:
    """The file with a block above or below its one line that starts with the anchor."""
    lines = text.splitlines(keepends=True)
    (place,) = (n for n, line in enumerate(lines) if line.startswith(anchor))
    if side == "above":
        space = "" if block.startswith("from ") else "\n\n"
        return "".join([*lines[:place], block, space, *lines[place:]])
    return "".join([*lines[: place + 1], block, *lines[place + 1 :]])


def run(program: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the page on the copy."""
    path = os.pathsep.join(map(str, (tree, tree / "test/python")))
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy with all blocks of the page."""
    root = copied_tree(tmp_path_factory.mktemp("operator"))
    for name, side, anchor, block in EDIT.findall(PAGE):
        path = root / name
        path.write_text(edited(path.read_text(), side, anchor, block))
    return root


@pytest.mark.parametrize("number", range(len(PROGRAM.findall(PAGE))))
def test_program_of_the_page_runs(number: int, tree: Path) -> None:
    program = PROGRAM.findall(PAGE)[number]
    at_home = f"import glow; assert glow.__file__.startswith({str(tree)!r})\n"
    result = run(at_home + program, tree)
    assert result.returncode == 0, result.stderr


def test_every_block_of_python_is_used() -> None:
    blocks = len(EDIT.findall(PAGE)) + len(PROGRAM.findall(PAGE))
    assert blocks == PAGE.count("```python") > 0


def test_an_element_wise_node_is_one_entry_and_others_four_files() -> None:
    first, second = PAGE.split("## Any other operator")
    assert [name for name, *_ in EDIT.findall(first)] == [
        "glow_dialects/glow/activations.py"
    ]
    files = {name for name, *_ in EDIT.findall(second) if not name.startswith("test/")}
    assert len(files) == 4


def test_a_node_without_its_lowering_is_told_by_the_tests(tree: Path) -> None:
    """The same node, but for the row that says how it is computed."""
    program = (
        "from glow.lowering.lower_nodes import lower_nodes\n"
        "from glow.dialects import glow\n"
        "del lower_nodes.LOWERINGS[glow.GlobalLpPoolOp]\n"
        "from support.nodes.node_examples import nodes_under_test\nnodes_under_test()"
    )
    last = run(program, tree).stderr.splitlines()[-1]
    assert "glow.global_lp_pool has neither a lowering nor a kernel" in last
    assert "lowering/lower_nodes/" in last
