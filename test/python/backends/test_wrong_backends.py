"""A package with a wrong backend ends in one line that names it, whoever asks for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT
from xdsl.universe import Universe

import glow
from glow.backends import backend as backends
from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt
from glow.universe import new_context

SMALL = ROOT / "docs" / "small.mlir"

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
    monkeypatch.setattr(backends, "_rejected", {})
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
def test_a_warning_says_what_is_wrong(
    package: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What asks for no backend by name works without the wrong one."""
    source, message = WRONG[package]
    install(site, package, source)
    with pytest.warns(RuntimeWarning, match=message) as caught:
        run_glow_opt(["--list-passes"])
    assert "'bad'" in str(caught[0].message)
    assert "\n" not in str(caught[0].message)
    assert "--lower-nodes" in capsys.readouterr().out


@pytest.mark.parametrize("package", [name for name in WRONG if "-" not in name])
def test_error_names_the_package(package: str, site: Path) -> None:
    install(site, package, WRONG[package][0])
    with pytest.raises(GlowError, match=f"of {package}\\)"):
        backends.get_backend("bad")


def test_a_name_of_others_is_an_error_where_the_backend_is_asked_for(
    site: Path,
) -> None:
    source, message = WRONG["dialect-cpu"]
    install(site, "dialect-cpu", source)
    with (
        pytest.raises(GlowError, match=message),
        pytest.warns(RuntimeWarning, match=message),
    ):
        glow.compile(SMALL, backend="bad")
    assert glow.compile(SMALL).backend == "cpu"


def test_packages_with_one_name(site: Path) -> None:
    for package in ("first", "second"):
        install(site, package, derived())
    with pytest.raises(GlowError, match="two packages have a backend 'bad'") as caught:
        backends.get_backend("bad")
    assert "first:B of first" in str(caught.value)
    assert "second:B of second" in str(caught.value)
    with pytest.warns(RuntimeWarning, match="first:B of first and second:B of second"):
        assert [one.name for one in backends.all_backends()] == [*backends.OWN]


def test_name_of_ours(site: Path) -> None:
    install(site, "impostor", derived(), backend="cpu")
    assert type(backends.get_backend("cpu")).__module__ == "glow.backends.cpu"
    with pytest.warns(RuntimeWarning, match="Glow itself and impostor:B of impostor"):
        backends.all_backends()


def test_devices_say_what_cannot_be_loaded(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "needs-more", WRONG["needs-more"][0])
    run_glow(["devices"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["bad", "cpu:0"]
    assert "cannot be used: backend 'bad' (needs_more:B of needs-more)" in lines[0]
    assert "No module named 'no_such_module'" in lines[0]
    run_glow(["devices", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert "no_such_module" in found[0]["problem"]
    assert found[0]["devices"] == []
    assert found[1]["problem"] is None


def test_a_package_may_tell_xdsl_itself(site: Path) -> None:
    """Its dialect stands in a universe of its own, too, which xDSL's tools read."""
    universe = "\nfrom xdsl.universe import Universe\nMINE = Dialect('mine', [], [])\n"
    universe += "U = Universe(all_dialects={'mine': lambda: MINE})\n"
    source = derived(dialects="'mine': lambda: MINE") + universe
    install(site, "both", source)
    points = site / "both-1.dist-info" / "entry_points.txt"
    points.write_text(points.read_text() + "[xdsl.universe]\nboth = both:U\n")
    assert "mine" in Universe.get_multiverse().all_dialects
    assert "mine" in new_context().registered_dialect_names


def test_good_one_is_loaded(site: Path) -> None:
    """Dialects and passes that it has from the CPU are no second ones."""
    install(site, "good", derived(dialects="'mine': lambda: Dialect('mine', [], [])"))
    run_glow_opt(["--list-passes"])
    assert backends.loaded_backends()[-1].name == "bad"


def test_program_ends_in_one_line(tmp_path: Path) -> None:
    result = run_program(tmp_path, "glow", "run", "--backend=bad", str(SMALL))
    assert result.returncode == 1
    assert "RuntimeError: no driver" in result.stderr
    errors = [line for line in result.stderr.splitlines() if "error" in line.lower()]
    assert len(errors) == 1
    assert "Traceback" not in result.stderr


def test_other_backends_work_on(tmp_path: Path) -> None:
    result = run_program(tmp_path, "glow_opt", str(SMALL))
    assert result.returncode == 0
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("warning: backend 'bad' (raises:B of raises) cannot")
    assert warning.endswith("RuntimeError: no driver")
    assert "glow.conv2d" in result.stdout


UNIVERSES = {
    "raises": (
        "raise RuntimeError('no\\ndialect')",
        "cannot be loaded: RuntimeError: no dialect",
    ),
    "nothing": ("U = 1", "is no xdsl.universe.Universe"),
    "taken": (
        "from xdsl.universe import Universe\nU = Universe(all_dialects={'arith': None})",
        "has 'arith', which another one has",
    ),
}


@pytest.mark.parametrize("kind", UNIVERSES)
def test_a_wrong_universe_is_a_warning(kind: str, site: Path) -> None:
    source, message = UNIVERSES[kind]
    install(site, f"wrong-{kind}", source)
    points = site / f"wrong_{kind}-1.dist-info" / "entry_points.txt"
    points.write_text(f"[xdsl.universe]\nmine = wrong_{kind}:U\n")
    with pytest.warns(RuntimeWarning) as caught:
        assert {"glow", "arith"} <= new_context().registered_dialect_names
    texts = [str(each.message) for each in caught]
    assert texts == [f"xdsl.universe 'mine' of wrong-{kind} {message}"]


def run_program(
    site: Path, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a console script where the package `raises` is installed."""
    install(site, "raises", WRONG["raises"][0])
    code = f"import sys; from glow.tools.start import {program}; sys.exit({program}())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
