"""Our CUDA backend beside its peers on a GPU: what is the same without one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT
from support.gpu.fake_cuda import FakeCuda
from support.gpu.host_kernels import host_kernels, simulated

from benchmarks.devices.nvidia import (
    files,
    networks,
    product_race,
    products,
    profile,
)
from benchmarks.devices.nvidia.profile import addition
from benchmarks.devices.nvidia.turns import alternate, timed_by_host
from benchmarks.devices.nvidia.units import Limits, Report, Unit, ask, run_units
from glow.backends.cuda import driver
from glow.lowering.target.target import Target
from glow.options import CompileOptions

SMALL = products.Case("bf16", 32, 64, 64, "sm_90", "default")


def rows_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.skipif(driver.driver_library() is not None, reason="there is a driver")
def test_without_a_driver_nothing_is_measured() -> None:
    command = [sys.executable, "-m", "benchmarks.devices.nvidia"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert done.stdout == (
        "nothing is measured: there is no libcuda.so.1, which NVIDIA's driver brings\n"
    )


def test_turns_go_on_without_one_that_fails() -> None:
    def fails() -> None:
        raise ValueError("no\nmore")

    calls = {"one": lambda: None, "other": fails}
    times = alternate({name: timed_by_host(call) for name, call in calls.items()})
    assert times.errors == {"other": "ValueError: no"}
    assert times.median("other") is None
    assert times.median("one") is not None


def test_units_that_fail_or_hang_take_no_other_along(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(report: Report) -> None:
        raise ValueError("it has no kernel")

    def hangs(report: Report):
        return lambda _: time.sleep(60)

    def never_ready(report: Report) -> None:
        time.sleep(60)

    def works(report: Report):
        return lambda report: report.row("row", "a row", seconds=1.0)

    units = [Unit(each.__name__, each) for each in (fails, hangs, never_ready, works)]
    report = Report(tmp_path / "rows.json")
    end = time.perf_counter() + 60
    run_units(units, report, Limits(end, 1.0, 0.5, 4))
    said = capfd.readouterr().out
    assert "  fails: ValueError: it has no kernel\n" in said
    assert "  hangs: is stopped after 0 s\n" in said
    assert "  never_ready: is left out: not ready after " in said
    assert "a row\n" in said
    (row,) = [row for row in rows_of(report.file) if row["kind"] == "row"]
    assert row == {"kind": "row", "text": "a row", "seconds": 1.0}


def test_a_question_has_an_answer_in_time() -> None:
    assert ask(lambda: {"gpu": "sm_90"}, 30) == {"gpu": "sm_90"}
    assert "does not answer" in str(ask(lambda: time.sleep(60) or {}, 0.2)["problem"])


@pytest.mark.parametrize(
    "case", list(products.cases()), ids=lambda c: f"{c.name} {c.ours}"
)
def test_cases_have_kernels_and_costs(case: products.Case) -> None:
    found = products.chosen(case)
    assert 0 < found.seconds < 1e-2
    is_warpgroup = found.tile.startswith("warpgroup")
    wanted = case.gpu == "sm_90a" and not case.is_skinny
    is_f32 = case.format == "f32" and case.numerics != "fast"
    assert is_warpgroup == (wanted and not is_f32)


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "i8"])
@pytest.mark.parametrize("rows", [1, 32])
def test_products_on_a_driver_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, rows: int
) -> None:
    """The kernel that is chosen runs in the simulator, and its result is right."""
    case = replace(SMALL, format=name, m=rows)
    request = products.chosen(case).request
    kernel = request.build_threads(request.name, Target.from_string(case.gpu))
    library = FakeCuda({request.name: simulated(kernel)})
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    monkeypatch.setattr(products.Case, "launches", 2)
    monkeypatch.setattr(products.Case, "weight_copies", 2)
    monkeypatch.setattr(products, "COPY_BYTES", 1 << 16)
    monkeypatch.setattr(product_race, "alternate", lambda timers: alternate(timers, 1))
    report = Report(tmp_path / "rows.json")
    product_race.prepared(case, has_torch=False, report=report)(report)
    (row,) = [row for row in rows_of(report.file) if row["kind"] == "product"]
    assert (row["way"], row["is_wrong"]) == (case.ours, False)
    assert row["seconds"] > 0


def test_a_network_its_kernels_and_calls_on_a_driver_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The sum of a network is right; each of its kernels has a row, and what it has to do."""
    monkeypatch.setattr(files, "KNOWN", {"addition": addition})
    monkeypatch.setattr(profile, "CALLS", 10)
    choice = files.Choice("addition", "f32", "sm_90a")
    own = files.Files(tmp_path, "addition")
    own.write()
    library = FakeCuda(host_kernels(own.model, CompileOptions("cuda", "sm_90a")))
    monkeypatch.setattr(driver, "driver_library", lambda: library)
    monkeypatch.setattr(networks, "alternate", lambda timers: alternate(timers, 1))
    report = Report(tmp_path / "rows.json")
    for unit in (
        *networks.units(own, choice, []),
        profile.profile_unit(own, choice),
        profile.overhead_unit("sm_90a"),
    ):
        measure = unit.prepare(report)
        assert measure is not None
        measure(report)
    rows = rows_of(report.file)
    assert not [row for row in rows if row["kind"] == "problem"]
    assert [(r["measure"], r["error"]) for r in rows if r["kind"] == "network"] == [
        ("device", 0.0),
        ("call", None),
    ]
    (kernel,) = [row for row in rows if row["kind"] == "kernel"]
    assert kernel["bytes"] == 48
    assert kernel["share"] == 1.0
    (call,) = [row for row in rows if row["kind"] == "overhead"]
    assert min(call["seconds"], call["host_replay"], call["replay_seconds"]) > 0
