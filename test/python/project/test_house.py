"""The shape of the tree is within its bounds, and the survey finds what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import house
import pytest
from places import ROOT


def test_the_tree_is_within_its_bounds() -> None:
    command = [sys.executable, str(ROOT / "test" / "house.py"), "--quiet"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (result.stdout.strip(), result.returncode) == ("", 0)


def survey(folder: Path, files: dict[str, str]) -> house.Imports:
    """The imports of made-up modules of `glow`."""
    modules: dict[str, Path] = {}
    for name, text in files.items():
        modules[name] = folder / f"{name}.py"
        modules[name].write_text(text)
    return house.read_imports(modules)


def test_imports_are_told_apart_by_where_they_stand(tmp_path: Path) -> None:
    found = survey(tmp_path, {
        "glow.a": "from glow import b\nclass C:\n def f(self):\n  import glow.c\n",
        "glow.b": "if TYPE_CHECKING:\n from glow.a import x\n",
        "glow.c": "import os\nfrom glow.c import y\n",
    })  # fmt: skip
    assert found.loaded == {("glow.a", "glow.b")}
    assert found.inside == {("glow.a", "glow.c")}
    assert found.typing == {("glow.b", "glow.a")}


def test_circles_are_groups_that_reach_each_other() -> None:
    chain = [("a", "b"), ("b", "c")]
    assert house.circles(chain) == []
    edges = [*chain, ("c", "a"), ("d", "a"), ("e", "f"), ("f", "e")]
    assert house.circles(edges) == [["a", "b", "c"], ["e", "f"]]


def test_arrows_point_down() -> None:
    edges = [("glow.tools.glow", "glow.dialects.node"), ("glow.tools.glow", "glow.x")]
    assert house.arrows_up(edges) == []
    wrong = ("glow.dialects.node", "glow.tools.glow")
    assert house.arrows_up([*edges, wrong]) == [wrong]


def test_backends_are_asked_through_the_interface() -> None:
    wrong = ("glow.compiler", "glow.backends.cpu.layout.packing")
    fine = [
        ("glow.compiler", "glow.backends.backend"),
        ("glow.backends.cpu.legality", "glow.backends.cpu.layout.packing"),
    ]
    assert house.edges_into_backends([*fine, wrong]) == [wrong]


@pytest.mark.parametrize(
    ("text", "lines", "parameters"),
    [
        ("def f(): pass\n", 1, 0),
        ('def f(a, /, b, *c, d=1, **e):\n    """g"""\n    return a\n', 3, 3),
        ("class C:\n    async def f(self, a):\n        pass\n", 2, 1),
    ],
)
def test_measures(tmp_path: Path, text: str, lines: int, parameters: int) -> None:
    file = tmp_path / "file.py"
    file.write_text(text)
    (function,) = house.functions(file)
    assert (house.length(function), house.parameters(function)) == (lines, parameters)


def test_corridors_and_long_files_are_found() -> None:
    found = house.House()
    house.survey_folders(found, [ROOT / "glow" / f"{n}.py" for n in range(0)])
    assert not found.broken
    file = ROOT / "glow" / "__init__.py"
    house.survey_folders(found, [file] * (house.FOLDER_FILES + 1))
    assert found.broken == [
        "folders of more than 25 files that are not alike: glow has 26"
    ]
