"""What stands for our version in the keys of caches is what the process has imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from places import ROOT

from glow import sources
from glow.backends.backend import loaded_backends
from glow.sources import IMPORTED

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
FOLDERS: dict[str, str] = PROJECT["package-dir"]

OLD = "beta=0.5"
NEW = "beta=0.7"
"""What an ONNX file's HardSigmoid adds where it does not say."""

RUN = """
import sys, numpy as np
import glow
if "edit" in sys.argv:
    import glow.dialects.glow.activations as module
    text = open(module.__file__).read()
    assert sys.argv[3] in text
    open(module.__file__, "w").write(text.replace(sys.argv[3], sys.argv[4]))
print(glow.compile(sys.argv[1])(np.zeros(4, np.float32)).max())
"""

DIGEST = "from glow.sources import source_digest; print(source_digest())"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folder of a copy of the package, laid out as a wheel lays it out.

    Compiled files are copied too, which fit files of the same times.
    """
    for package, folder in FOLDERS.items():
        place = tmp_path / "site" / package.replace(".", "/")
        shutil.copytree(ROOT / folder, place, dirs_exist_ok=True)
    return tmp_path / "site"


def python(site: Path, *arguments: str) -> str:
    """What a program prints that finds the package in `site`, and caches beside it."""
    environment = dict(os.environ, PYTHONPATH=str(site))
    environment["GLOW_CACHE_DIR"] = str(site.parent / "cache")
    environment.pop("GLOW_MODEL_CACHE_MB", None)
    command = [sys.executable, "-P", "-c", *arguments]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_an_edit_after_the_import(installed: Path, tmp_path: Path) -> None:
    """The process goes on with what it has; who comes later computes with the new code."""
    path = str(tmp_path / "net.onnx")
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph(
        [helper.make_node("HardSigmoid", ["x"], ["y"])], "", [x], [y]
    )
    onnx.save(helper.make_model(graph), path)
    assert python(installed, RUN, path, "edit", OLD, NEW) == "0.5"
    assert not list((tmp_path / "cache").rglob("*.glow*"))
    assert python(installed, RUN, path) == "0.7"
    assert len(list((tmp_path / "cache/models").iterdir())) == 1


def test_every_file_is_a_part_of_the_digest(installed: Path) -> None:
    before = python(installed, DIGEST)
    assert python(installed, DIGEST) == before
    digests = {before}
    for package in set(FOLDERS) - {"glow.tools"}:
        folder = installed / package.replace(".", "/")
        last = max(folder.rglob("*.py"))
        last.write_bytes(last.read_bytes() + b"\n")
        digests.add(python(installed, DIGEST))
    native = installed / "glow/runtime/threads/pool.ll"
    native.write_text(native.read_text() + "\n")
    digests.add(python(installed, DIGEST))
    assert len(digests) == len(FOLDERS) + 1


def test_every_folder_of_a_clone_is_watched() -> None:
    """There the packages are folders beside each other, not within each other."""
    watched = {Path(path).resolve() for path in IMPORTED}
    for package in set(FOLDERS) - {"glow.tools"}:
        for kind in ("*.py", "*.ll"):
            assert set((ROOT / FOLDERS[package]).rglob(kind)) <= watched


def test_sources_that_are_not_in_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an archive: nothing tells versions apart, so nothing is stored."""

    def nowhere(_: str) -> None:
        raise NotADirectoryError

    monkeypatch.setattr(sources, "_walk", nowhere)
    assert sources.current_stamps() == {}
    monkeypatch.setattr(sources, "IMPORTED", {})
    assert not sources.are_unchanged()


def test_half_a_package_says_what_to_do(tmp_path: Path) -> None:
    """A clone's folder hides the package that is installed, and lacks what is beside it."""
    shutil.copytree(ROOT / "glow", tmp_path / "glow")
    program = "import sys; sys.meta_path[:] = sys.meta_path[:3]; import glow"
    command = [sys.executable, "-S", "-c", program]
    result = subprocess.run(
        command, cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "run `make venv`" in last


def test_two_clones_are_not_mixed(tmp_path: Path) -> None:
    """The environment of one clone, started in the other."""
    shutil.copytree(ROOT / "glow", tmp_path / "glow")
    command = [sys.executable, "-c", "import glow"]
    result = subprocess.run(
        command, cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert "run `make venv`" in result.stderr.splitlines()[-1]


PACKAGE = """
import sys
from pathlib import Path
from glow.sources import are_unchanged, package_digest
digest = package_digest(sys.argv[1])
print(digest, are_unchanged())
Path(sys.argv[2]).write_text("number = 2")
print(package_digest(sys.argv[1]) == digest, are_unchanged())
"""


@pytest.mark.parametrize("module", ["other.py", "other/__init__.py", "other/a/b.py"])
def test_other_packages_have_a_digest(module: str, tmp_path: Path) -> None:
    """It is theirs as a process found it, and after an edit nothing is stored."""
    path = tmp_path / "site" / module
    path.parent.mkdir(parents=True)
    path.write_text("number = 1")
    runs = [
        python(tmp_path / "site", PACKAGE, "other", str(path)).splitlines()
        for _ in range(2)
    ]
    (first, last), (second, _) = runs
    assert first.endswith(" True")
    assert last == "True False"
    assert second.split()[0] != first.split()[0]


def test_backends_of_ours_have_no_version_of_their_own() -> None:
    """The keys of caches have the hash of our sources already."""
    assert not any(backend.version() for backend in loaded_backends())


IMPORTS = """
import sys
from pathlib import Path
from glow.sources import imports_are_unchanged
import glow.dialects.errors as errors
print(imports_are_unchanged())
text = Path(errors.__file__).read_text()
Path(errors.__file__).write_text(text + chr(10))
print(imports_are_unchanged())
if sys.argv[1] == "reload":
    import importlib
    importlib.reload(errors)
else:
    import glow.tensor_info
print(imports_are_unchanged())
"""


@pytest.mark.parametrize("way", ["import", "reload"])
def test_what_is_imported_before_an_edit_is_as_before(
    way: str, installed: Path
) -> None:
    """What comes into the process after one is not."""
    assert python(installed, IMPORTS, way).split() == ["True", "True", "False"]
