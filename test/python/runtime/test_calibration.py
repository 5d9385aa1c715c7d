"""What is measured of this machine by itself: when, what of it counts, and who goes by it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import glow
from glow.lowering.target.core_file import core_text
from glow.lowering.target.cores import CORES
from glow.lowering.target.program_target import ProgramTarget
from glow.lowering.target.target import Target, host_target
from glow.runtime.caches.calibration import (
    calibration_file,
    settled,
    store_calibration,
)
from glow.runtime.calibration import background, loops
from glow.tuning import choices


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this machine, in a cache folder of its own."""
    monkeypatch.setenv("GLOW_TUNING", "on")
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path / "cache"))
    found = calibration_file()
    if found is None:
        pytest.skip("the system does not describe its processor")
    return found


def write(path: Path, **figures: float) -> None:
    """Figures of this machine."""
    host = host_target()
    store_calibration(path, core_text(host.cpu, host.core, figures))


def test_only_what_is_far_from_the_table_counts() -> None:
    zen5, generic = CORES["zen5"], CORES["generic-avx2"]
    near = {"memory_bytes_per_cycle": zen5.memory_bytes_per_cycle * 0.85}
    assert settled(near, zen5) == {}
    far = {"memory_bytes_per_cycle": 4.1, "fma_pipes": 1, "l3_latency": 77}
    found = settled(far, zen5)
    assert found.keys() == {"memory_bytes_per_cycle", "l3_latency"}
    assert settled({"memory_bytes_per_cycle": 4.2}, zen5).items() <= found.items()
    assert isinstance(found["l3_latency"], int)
    assert "fma_pipes" in settled({"fma_pipes": 1}, generic)
    assert settled({"memory_bytes_per_cycle": 1e-3}, generic) == {}


def test_the_host_goes_by_its_figures(path: Path) -> None:
    write(path, memory_bytes_per_cycle=0.5)
    table = host_target().core
    calibrated = Target.from_string("host")
    assert calibrated.core.memory_bytes_per_cycle == 0.5
    assert calibrated.core.family.startswith(f"{table.family}-")
    plain = Target.from_string("host,uncalibrated")
    assert plain.core == table
    assert plain.by_tables
    program = ProgramTarget.of(plain, "host,uncalibrated")
    assert program.name == host_target().cpu
    assert "host,uncalibrated" in program.names_here()
    with pytest.raises(glow.GlowError, match="unknown target 'host,uncalibrate'"):
        Target.from_string("host,uncalibrate")


def test_known_models_are_those_of_the_same_figures(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choices.measured() == ""
    write(path, memory_bytes_per_cycle=0.5)
    assert choices.measured() == ""  # A process looks once.
    monkeypatch.setenv("GLOW_CACHE_DIR", str(path.parents[1].rename(tmp_path / "new")))
    assert "0.5" in choices.measured()
    monkeypatch.setenv("GLOW_TUNING", "off")
    assert choices.measured() == ""


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}'])
def test_damaged_files_are_as_none(path: Path, content: str) -> None:
    store_calibration(path, content)
    assert Target.from_string("host").core == host_target().core


def test_the_first_compilation_begins_to_measure(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(background, "_spawn", lambda program: started.append(program))
    monkeypatch.setattr(background, "available_cores", lambda: 2)
    monkeypatch.setattr(background, "memory_bytes", lambda: 1 << 40)
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    monkeypatch.setattr(background, "_wait_for", lambda child: None)
    later = background.calibrate_later.__wrapped__
    monkeypatch.setattr(sys, "executable", "/usr/bin/editor")
    later(path)
    assert not started
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    later(path)
    later(path)  # As another process would, which finds the mark.
    assert started == ["/usr/bin/python3"]
    os.utime(next(path.parent.iterdir()), (0, 0))
    later(path)
    assert len(started) == 2
    write(path)
    os.utime(path.with_name(f".new-{path.stem}"), (0, 0))
    later(path)
    assert len(started) == 2


@pytest.mark.parametrize("load", [0.0, 1e3])
def test_a_busy_machine_is_not_measured(
    path: Path, monkeypatch: pytest.MonkeyPatch, load: float
) -> None:
    monkeypatch.setattr(loops, "ROUNDS", 1)
    monkeypatch.setattr(background, "CROWDED", 1e9)
    monkeypatch.setattr(background.os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(
        "glow.runtime.calibration.figures.measured_figures",
        lambda target: {"memory_bytes_per_cycle": 0.9 * target.core.l2_bytes_per_cycle},
    )
    background.measure(path)
    assert path.exists() == (load == 0.0)
    if path.exists():
        assert json.loads(path.read_text())["family"] == host_target().core.family
