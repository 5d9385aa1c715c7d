"""What is measured of this machine by itself: when, what of it counts, and who goes by it."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

import numpy as np
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
from glow.runtime.calibration import all_cores, background, figures, loops
from glow.runtime.calibration.all_cores import AllCores, CoresBusyError
from glow.runtime.calibration.figures import Figures
from glow.tools.machine import calibrate_command
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
    far = {"memory_bytes_per_cycle": 4.1, "fma_pipes": 1, "shared_l3_latency": 200}
    found = settled(far, zen5)
    assert found.keys() == {"memory_bytes_per_cycle", "shared_l3_latency"}
    assert settled({"memory_bytes_per_cycle": 4.2}, zen5).items() <= found.items()
    assert isinstance(found["shared_l3_latency"], int)
    assert "fma_pipes" in settled({"fma_pipes": 1}, generic)
    assert settled({"memory_bytes_per_cycle": 1e-3}, generic) == {}


@pytest.mark.parametrize(
    ("rate", "count"), [(0.4, 1), (1.1, 1), (1.4, 2), (2.1, 2), (2.7, 3)]
)
def test_a_core_has_the_pipes_that_it_shows(rate: float, count: int) -> None:
    assert figures.pipes(rate) == count


def test_what_is_read_of_a_last_cache_is_not_in_the_second() -> None:
    """The share of a core of a mesh is no more than its second cache; few cores have enough."""
    for name, limit in (("neoverse-n1", 16), ("sapphire-rapids", 16), ("zen5", 256)):
        core = CORES[name]
        assert figures.last_bytes(core) >= 2 * core.l2_bytes
        assert figures.fits_last_cache(core, limit)
    assert not figures.fits_last_cache(CORES["neoverse-n1"], 32)
    assert not figures.fits_last_cache(CORES["cortex-a72"], 2)


def test_measuring_again_keeps_what_compilations_go_by() -> None:
    """A figure near a border of two steps would else be the one or the other."""
    generic = CORES["generic-avx2"]
    runs: list[dict[str, float]] = [{"barrier_cycles": 560}, {"barrier_cycles": 600}]
    first, other = (settled(figures, generic) for figures in runs)
    assert first != other
    assert settled(runs[1], generic, first) == first
    assert settled({"barrier_cycles": 900}, generic, first)["barrier_cycles"] > 800
    assert settled({}, generic, first) == {}


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


class SomeFigures:
    """What takes no time to measure; other processes have the cores at first."""

    def __init__(self, target: Target) -> None:
        self.core, self.attempts = target.core, 0

    def of_a_core(self) -> dict[str, float]:
        return {"memory_bytes_per_cycle": 0.5 * self.core.memory_bytes_per_cycle}

    def of_all_cores(self) -> dict[str, float]:
        self.attempts += 1
        if self.attempts < 3:
            raise CoresBusyError
        return {"barrier_cycles": 3 * self.core.barrier_cycles}

    of_all_cores_when_free = Figures.of_all_cores_when_free


@pytest.mark.parametrize("load", [0.0, 1e3])
def test_a_busy_machine_is_not_measured(
    path: Path, monkeypatch: pytest.MonkeyPatch, load: float
) -> None:
    monkeypatch.setattr(background, "CROWDED", 1e9)
    monkeypatch.setattr(figures, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(background.os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(figures, "Figures", SomeFigures)
    background.measure(path)
    assert path.exists() == (load == 0.0)
    if path.exists():
        content = json.loads(path.read_text())
        assert content["family"] == host_target().core.family
        assert content["figures"].keys() == {"memory_bytes_per_cycle", "barrier_cycles"}


def test_calibrate_keeps_nothing_of_a_busy_machine(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(calibrate_command, "Figures", SomeFigures)
    for alone, seconds in ((True, 0.0), (False, 60.0)):
        monkeypatch.setattr(calibrate_command, "WAIT_SECONDS", seconds)
        monkeypatch.setattr(
            calibrate_command, "undisturbed", lambda work, is_=alone: (is_, work())
        )
        calibrate_command.calibrate(None)
        assert "others use this machine" in capsys.readouterr().out
        assert not path.exists()
    monkeypatch.setattr(calibrate_command, "undisturbed", lambda work: (True, work()))
    calibrate_command.calibrate(None)
    assert "compilations for this machine go by" in capsys.readouterr().out
    assert "barrier_cycles" in path.read_text()


def test_cores_that_others_have_are_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run on fewer threads than asked for is none."""
    monkeypatch.setattr(all_cores, "CROWDED", 1e9)
    monkeypatch.setattr(all_cores, "RUNS", 2)
    cores = AllCores(host_target(), 2)
    buffer = loops.filled(1 << 16)
    monkeypatch.setattr(cores, "_pool", OneThread())
    for measure in (cores.bytes_per_second, cores.near_bytes_per_second):
        with pytest.raises(CoresBusyError):
            measure(buffer)
    with pytest.raises(CoresBusyError):
        cores.barrier_seconds()


class OneThread:
    """A pool that has one thread for each call."""

    def run(self, *arguments: int) -> int:
        return 1


@pytest.mark.parametrize("threads", [2, 3])
def test_all_parts_are_read(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread's bits of its part, whichever turn it is; a barrier takes some time."""
    monkeypatch.setattr(all_cores, "CROWDED", 1e9)
    monkeypatch.setattr(all_cores, "RUNS", 1)
    target, parts = host_target(), 2 if threads == 2 else 4
    cores = AllCores(target, threads)
    monkeypatch.setattr(cores, "_pool", Everybody(threads))
    buffer = loops.filled(parts << 12)
    buffer[:] = np.repeat(1 << np.arange(parts), 1 << 12)
    assert cores.near_bytes_per_second(buffer) > 0
    results = cores._results[:: all_cores.PAGE]
    assert [*results] == [1 << thread for thread in range(threads)]


class Everybody:
    """A pool whose threads run one after the other."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def run(
        self, program: int, data: int, plan: int, results: int, threads: int
    ) -> int:
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(program)
        for thread in range(self.threads):
            call(data, plan, results, thread, threads, None)
        return self.threads
