"""The package mapping: what is installed, and that nothing is forgotten."""

import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
from places import ROOT

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]


def packages_on_disk() -> set[str]:
    """The import names of all mapped folders that hold an `__init__.py`."""
    return {
        ".".join([package, *init.parent.relative_to(ROOT / folder).parts])
        for package, folder in FOLDERS.items()
        for init in (ROOT / folder).rglob("__init__.py")
    }


def test_every_package_is_listed() -> None:
    assert set(SETUPTOOLS["packages"]) == packages_on_disk()


def test_every_folder_of_modules_is_a_package() -> None:
    forgotten = {
        module.parent
        for folder in FOLDERS.values()
        for module in (ROOT / folder).rglob("*.py")
        if not (module.parent / "__init__.py").exists()
    }
    assert not forgotten


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy so that the checkout stays as it is."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, source / folder, ignore=ignore)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(source / "dist"), "."]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (path,) = (source / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_installs_only_glow(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"glow"}


def test_wheel_is_complete(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for package, folder in FOLDERS.items():
        files = (*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.ll"))
        for file in files:
            inner = file.relative_to(ROOT / folder).as_posix()
            assert f"{package.replace('.', '/')}/{inner}" in names
    assert "glow/py.typed" in names


def test_wheel_has_the_entry_points(wheel: zipfile.ZipFile) -> None:
    (path,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    sections = wheel.read(path).decode().strip().split("\n\n")
    assert (
        "[console_scripts]\nglow = glow.tools.start:glow\n"
        "glow-lsp = glow.tools.start:glow_lsp\n"
        "glow-opt = glow.tools.start:glow_opt\nglow-reduce = glow.tools.start:glow_reduce"
    ) in sections
    assert "[xdsl.universe]\nglow = glow.universe:GLOW_UNIVERSE" in sections
