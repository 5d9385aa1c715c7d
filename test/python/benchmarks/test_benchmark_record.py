"""The files of benchmark runs: what is wrong fails, rows are of one run, the page is the file."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import compare, performance_page
from benchmarks.peers.client import ServerError
from benchmarks.record import (
    Record,
    RecordError,
    Run,
    open_record,
    read_record,
    this_run,
)
from benchmarks.result import Result
from benchmarks.table import table

RUN = Run("abc", "python benchmarks/compare.py --rounds 4", {
    "processor": "A", "family_and_model": "1/2", "features": ["avx2"], "cores": 2,
    "memory_gigabytes": 8, "system": "Linux 6", "python": "3.11",
})  # fmt: skip


def result_of(network: str = "lstm", error: float = 1e-6, ours: str = "glow") -> Result:
    """Returns a row of made-up numbers; `ours` is off by `error`."""
    errors = {"glow": {"ort": 1e-6}, "glow exact": {"ort": 1e-6}, ours: {"ort": error}}
    times = {"glow": 1.0, "ort": 2.0, "glow exact": 1.5}
    same = dict.fromkeys(times, 1.0)
    return Result(
        network, 1, None, None, 4, times, same, same, same, 1.0, 100.0, 0.2, errors, {}
    )


def run_compare(
    monkeypatch: pytest.MonkeyPatch, results: dict[str, Result | None], *options: str
) -> tuple[int, list[str]]:
    """Returns the exit status of `compare.py` and the networks that it measured.

    The runtimes are not run: `results` has what each network gives, None where one fails.
    """
    measured: list[str] = []

    def made_up(network: str, *_: object) -> Iterator[Result]:
        measured.append(network)
        found = results[network]
        if found is None:
            raise ServerError("ort: broken")
        yield found

    class Installed(compare.Contest):
        def _is_installed(self, peer: str) -> bool:
            return True

    names = ["--networks", ",".join(results)]
    monkeypatch.setattr(compare, "compare", made_up)
    monkeypatch.setattr(compare, "Contest", Installed)
    monkeypatch.setattr(sys, "argv", ["compare", *names, *options])
    return compare.main(), measured


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (result_of(error=2e-4), "glow differs from ort by 2.0e-04"),
        (result_of(error=3e-5, ours="glow exact"), "glow exact differs from ort"),
        (result_of(error=math.nan), "glow or ort computed NaN or infinity"),
        (result_of("resnet50_u8s8", error=0.3), "glow differs from ort by 3.0e-01"),
        (replace(result_of(error=0.1), precision="bf16"), "glow differs from ort"),
    ],
)
def test_wrong_results_fail(
    row: Result,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "results.json"
    status, _ = run_compare(monkeypatch, {row.network: row}, "--json", str(file))
    assert status == 1
    assert f"compare: error: {row.network}: {said}" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    "row",
    [
        result_of(error=9e-5),
        result_of(error=1.5e-5, ours="glow exact"),
        result_of("resnet50_u8s8", error=0.1),
        replace(result_of(error=0.01), precision="bf16"),
    ],
)
def test_results_within_the_bound_pass(
    row: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_compare(monkeypatch, {row.network: row}) == (0, [row.network])


def test_run_goes_on_where_it_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    rows = {"lstm": result_of("lstm"), "minilm": None, "vgg19": result_of("vgg19")}
    options = ("--json", str(file), "--rounds", "3")
    assert run_compare(monkeypatch, rows, *options) == (1, [*rows])
    assert [*read_record(file).networks] == ["lstm", "vgg19"]
    rows = {**rows, "minilm": result_of("minilm")}
    assert run_compare(monkeypatch, rows, *options) == (0, ["minilm"])
    assert [*read_record(file).networks] == ["lstm", "vgg19", "minilm"]
    slower = replace(result_of("lstm"), cold_seconds=9.0)
    again = run_compare(monkeypatch, {"lstm": slower}, *options, "--again")
    assert again == (0, ["lstm"])
    assert read_record(file).networks["lstm"] == [slower]


@pytest.mark.parametrize("field", ["commit", "command", "machine"])
def test_rows_are_of_one_run(field: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    Record(RUN, {"lstm": [result_of()]}).write(file)
    assert open_record(file, RUN).results == [result_of()]
    other = Run(**{**vars(RUN), field: {} if field == "machine" else "other"})
    with pytest.raises(RecordError, match=rf"is of another run \(its {field} is"):
        open_record(file, other)


def test_other_run_is_refused_before_it_measures(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "results.json"
    Record(RUN, {}).write(file)
    done = run_compare(monkeypatch, {"lstm": result_of()}, "--json", str(file))
    assert done == (1, [])
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": 3, "networks": {}}'])
def test_file_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(RecordError, match="not the file of a run"):
        open_record(file, RUN)


def test_run_says_where_it_comes_from() -> None:
    run = this_run(["--threads", "1,2"])
    assert run.command == "python benchmarks/compare.py --threads 1,2"
    assert run.machine["cores"]
    assert run.commit
    assert json.loads(json.dumps(run.machine)) == run.machine


def test_page_has_the_table_and_the_run(tmp_path: Path) -> None:
    rows = [result_of("lstm"), result_of("minilm")]
    Record(RUN, {row.network: [row] for row in rows}).write(tmp_path / "f32.json")
    page = "a\n<!-- results f32.json -->\nstale\n<!-- end of results -->\nb\n"
    written = performance_page.rendered(page, tmp_path)
    assert table(rows) in written
    assert "Commit `abc`, `python benchmarks/compare.py --rounds 4`" in written
    assert "stale" not in written
    assert written.startswith("a\n")
    assert written.endswith("\nb\n")
    assert performance_page.rendered(written, tmp_path) == written
    (tmp_path / "f32.json").unlink()
    without = performance_page.rendered(written, tmp_path)
    assert without == page.replace("stale\n", "")


def test_performance_page_is_what_its_files_say() -> None:
    page = performance_page.PAGE.read_text(encoding="utf-8")
    assert performance_page.rendered(page, performance_page.RESULTS) == page


def test_files_of_runs_are_right_and_of_one_commit() -> None:
    for record in map(read_record, performance_page.RESULTS.glob("*.json")):
        assert "+changes" not in record.run.commit
        assert [line for row in record.results for line in row.faults()] == []
        assert all(
            row.spread.keys() == row.milliseconds.keys() for row in record.results
        )
