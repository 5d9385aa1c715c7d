"""Figures of a file stand before those of a core's table; `glow calibrate` writes such a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

import glow
from glow.dialects.errors import GlowError
from glow.lowering.target.core import FIGURES
from glow.lowering.target.core_file import FORMAT, core_text
from glow.lowering.target.target import Target, host_target
from glow.lowering.target.target_names import target_name
from glow.options import CompileOptions
from glow.runtime.calibration import all_cores, loops
from glow.runtime.threads.cores import available_cores
from glow.tools.glow import main

ZEN5 = Target.from_string("znver5").core
SMALL = ROOT / "docs" / "small.mlir"


def write(path: Path, **figures: float) -> Path:
    """A file of a Zen 5."""
    path.write_text(core_text("znver5", ZEN5, figures))
    return path


def test_figures_of_a_file_come_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a_with-avx2 b.json", memory_bytes_per_cycle=5, l1_ways=8)
    target = Target.from_string(target_name("znver5", None, str(path)))
    core = target.core
    assert (core.memory_bytes_per_cycle, core.l1_ways) == (5, 8)
    assert (core.l2_bytes, core.fma_pipes) == (ZEN5.l2_bytes, ZEN5.fma_pipes)
    assert core.family.startswith("zen5-")
    again = write(tmp_path / "again.json", l1_ways=8, memory_bytes_per_cycle=5)
    assert Target.from_string(f"znver5@{again}") == target
    other = write(tmp_path / "other.json", l1_ways=8)
    assert Target.from_string(f"znver5@{other}").core.family != core.family


WRONG = {
    "{": "has no figures of a core: Expecting",
    "[]": "has no figures of a core",
    "{}": r"has no figures of a core \(format 'glow core figures 1'\)",
    json.dumps({"format": FORMAT}): "the figures are of None, the target is of 'zen5'",
    json.dumps({"format": FORMAT, "family": "zen5"}): "there are no figures",
    core_text("", ZEN5, {"l4_bytes": 1}): "there is no figure 'l4_bytes'",
    core_text("", ZEN5, {"l2_bytes": 0}): "l2_bytes must be a number above 0, not 0",
    core_text(
        "", ZEN5, {"l2_bytes": True}
    ): "l2_bytes must be a number above 0, not Tr",
    core_text(
        "", ZEN5, {"clock_hertz": float("nan")}
    ): "must be a number above 0, not n",
    core_text("", ZEN5, {"l2_bytes": 1.5}): "l2_bytes must be a whole number, not 1.5",
    core_text(
        "", ZEN5, {"l2_bytes": "1"}
    ): "l2_bytes must be a number above 0, not '1'",
}


@pytest.mark.parametrize("content", WRONG)
def test_wrong_files_are_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "core.json"
    path.write_text(content)
    with pytest.raises(GlowError, match=WRONG[content]) as caught:
        target_name("znver5", None, str(path))
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


def test_files_for_other_cores_or_of_nobody_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "core.json", l1_ways=8)
    with pytest.raises(
        GlowError, match="are of 'zen5', the target is of 'generic-neon'"
    ):
        target_name("neon", None, str(path))
    with pytest.raises(GlowError, match=r"missing\.json: No such file"):
        target_name("znver5", None, str(tmp_path / "missing.json"))
    with pytest.raises(GlowError, match="target_core is a file, not int"):
        CompileOptions(target_core=1)


def test_known_models_are_those_of_the_same_figures(tmp_path: Path) -> None:
    path = write(tmp_path / "core.json", l1_ways=8)
    options = CompileOptions(target="znver5", target_core=path)
    before = options.that_change_code()
    write(path, l1_ways=12)
    assert options.that_change_code() != before
    path.unlink()
    with pytest.raises(GlowError, match=r"core\.json: No such file"):
        options.that_change_code()


def test_calibrate_measures_this_core(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file that compiles networks, of figures that no core is far from."""
    monkeypatch.setattr(loops, "ROUNDS", 3)
    monkeypatch.setattr(all_cores, "CROWDED", 1e9)
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.argv", ["glow", "calibrate"])
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code in (0, None)
    path = tmp_path / "cache" / "core.json"
    figures = json.loads(path.read_text())["figures"]
    printed = capsys.readouterr().out
    assert figures.keys() <= set(FIGURES)
    assert all(f"\n{name} " in f"\n{printed}" for name in figures)
    assert 2e8 < figures["clock_hertz"] < 2e10
    assert 1 <= figures["fma_latency"] < 50
    assert 0.1 < figures["memory_bytes_per_cycle"] < 500
    if "others use this machine" not in printed and available_cores() > 1:
        assert figures["barrier_cycles"] > 10
        assert 0.01 < figures["contended_memory_bytes_per_cycle"] < 500
    program = SMALL
    image = np.ones((1, 3, 4, 4), np.float32)
    wanted = glow.compile(program)(image)
    found = glow.compile(program, target_core=path)(image)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    module = glow.lower_to(glow_module(program), "lowered", target_core=path)
    assert f'core = "{host_target().core.family}-' in str(module)


def glow_module(path: Path):
    """The module of a file."""
    from glow.compiler import load

    return load(path)
