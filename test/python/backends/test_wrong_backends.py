"""A package with a wrong backend ends in one line that names it, whoever asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from glow.backends import backend as backends
from glow.dialects.errors import GlowError
from glow.tools.glow_opt import run_glow_opt

DERIVED = """
from glow.backends.cpu import CpuBackend
from xdsl.ir import Dialect
class B(CpuBackend):
    name = "{name}"
    def dialects(self):
        return super().dialects() | {{{dialects}}}
    def passes(self):
        return super().passes() | {{{passes}}}
"""


def derived(name: str = "bad", dialects: str = "", passes: str = "") -> str:
    """The source of a backend that derives from the CPU's."""
    return DERIVED.format(name=name, dialects=dialects, passes=passes)


def install(site: Path, package: str, source: str, backend: str = "bad") -> None:
    """What pip leaves of a package with one module."""
    module = package.replace("-", "_")
    (site / f"{module}.py").write_text(source)
    information = site / f"{module}-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Name: {package}\nVersion: 1\n")
    points = f"[{backends.GROUP}]\n{backend} = {module}:B\n"
    (information / "entry_points.txt").write_text(points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages; what is loaded from it is forgotten."""
    monkeypatch.setattr(backends, "_loaded", {})
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


WRONG = {
    "raises": ("raise RuntimeError('no\\ndriver')", "RuntimeError: no driver"),
    "needs-more": ("import no_such_module", "No module named 'no_such_module'"),
    "no-class": ("C = 1", "AttributeError"),
    "no-backend": ("class B: pass", "is no glow.backends.backend.Backend"),
    "abstract": (
        "from glow.backends.backend import Backend\nclass B(Backend): name = 'bad'",
        "TypeError: .*abstract",
    ),
    "other-name": (derived("good"), "has the name 'good'; both names must be the same"),
    "dialect-glow": (
        derived(dialects="'glow': lambda: Dialect('glow', [], [])"),
        "backend 'bad': there is another dialect 'glow'",
    ),
    "dialect-arith": (
        derived(dialects="'arith': lambda: Dialect('arith', [], [])"),
        "backend 'bad': there is another dialect 'arith'",
    ),
    "dialect-cpu": (
        derived(dialects="'cpu': lambda: Dialect('cpu', [], [])"),
        "backend 'bad': there is another dialect 'cpu'",
    ),
    "pass-ours": (
        derived(passes="'lower-nodes': lambda: None"),
        "backend 'bad': there is another pass 'lower-nodes'",
    ),
    "pass-of-xdsl": (
        derived(passes="'canonicalize': lambda: None"),
        "backend 'bad': there is another pass 'canonicalize'",
    ),
}


@pytest.mark.parametrize("package", WRONG)
def test_error_says_what_is_wrong(package: str, site: Path) -> None:
    source, message = WRONG[package]
    install(site, package, source)
    with pytest.raises(GlowError, match=message) as caught:
        run_glow_opt(["--list-passes"])
    assert "'bad'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("package", [name for name in WRONG if "-" not in name])
def test_error_names_the_package(package: str, site: Path) -> None:
    install(site, package, WRONG[package][0])
    with pytest.raises(GlowError, match=f"of {package}\\)"):
        backends.get_backend("bad")


def test_packages_with_one_name(site: Path) -> None:
    for package in ("first", "second"):
        install(site, package, derived())
    with pytest.raises(GlowError, match="two packages have a backend 'bad'") as caught:
        backends.get_backend("bad")
    assert "first:B of first" in str(caught.value)
    assert "second:B of second" in str(caught.value)


def test_name_of_ours(site: Path) -> None:
    install(site, "impostor", derived(), backend="cpu")
    assert type(backends.get_backend("cpu")).__module__ == "glow.backends.cpu"
    with pytest.raises(GlowError, match="Glow itself and impostor:B of impostor"):
        backends.all_backends()


def test_good_one_is_loaded(site: Path) -> None:
    """Dialects and passes that it has from the CPU are no second ones."""
    install(site, "good", derived(dialects="'mine': lambda: Dialect('mine', [], [])"))
    run_glow_opt(["--list-passes"])
    assert backends.loaded_backends()[-1].name == "bad"


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("glow_opt", ["--list-passes"]),
        ("glow", ["run", "--backend=bad", str(ROOT / "docs" / "small.mlir")]),
    ],
)
def test_program_ends_in_one_line(
    program: str, arguments: list[str], tmp_path: Path
) -> None:
    install(tmp_path, "raises", WRONG["raises"][0])
    code = f"import sys; from glow.tools.start import {program}; sys.exit({program}())"
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert "RuntimeError: no driver" in result.stderr
    errors = [line for line in result.stderr.splitlines() if "error" in line.lower()]
    assert len(errors) == 1
    assert "Traceback" not in result.stderr
