"""Tuned beside untuned networks, and wrong figures of cores: what the tables say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.tuning.reach import WRONG, target_of, wrong_figures
from benchmarks.tuning.tuned import MOST_PAIRS, Row, compare, read
from glow.dialects.errors import UsageError
from glow.lowering.target.target import Target, host_target


def runs(seconds: float, order: list[float]) -> Callable[[], float]:
    """A network that takes as long."""

    def run() -> float:
        order.append(seconds)
        return seconds

    return run


def test_pairs_alternate_and_all_compilations_count() -> None:
    order: list[float] = []
    pairs = [[runs(2.0, order), runs(1.0, order)], [runs(2.0, order), runs(3.0, order)]]
    verdict, untuned = compare(pairs)
    assert (verdict.ratio, untuned) == (1.0, 2.0)
    assert verdict.noise > 0
    assert len(order) == 4 * MOST_PAIRS
    assert order[:8] == [2.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 2.0]


def test_slower_is_what_noise_does_not_explain() -> None:
    row = Row("net", 1.0, 0, 1.0, 1.03, 0.005)
    assert row.is_slower
    assert row.line().endswith("SLOWER")
    assert not Row("net", 1.0, 0, 1.0, 1.03, 0.015).is_slower
    assert not Row("net", 1.0, 0, 1.0, 1.009, 0.0).is_slower


def test_files_of_other_settings_are_refused(tmp_path: Path) -> None:
    path, row = tmp_path / "rows.json", Row("net", 1.0, 0, 1.0, 1.0, 0.0)
    settings = {"budget": 1.0, "threads": 1}
    assert read(path, settings) == {}
    path.write_text(json.dumps({"settings": settings, "rows": [asdict(row)]}))
    assert read(path, settings) == {"net": row}
    with pytest.raises(UsageError, match=r"rows\.json is of another budget"):
        read(path, {"budget": 2.0, "threads": 1})


@pytest.mark.parametrize("machine", sorted(WRONG))
def test_wrong_figures_make_another_target(machine: str, tmp_path: Path) -> None:
    core = host_target().core
    figures = wrong_figures(core, WRONG[machine])
    assert all(value < getattr(core, name) for name, value in figures.items())
    wrong = Target.from_string(target_of(machine, tmp_path)).core
    for name, value in figures.items():
        assert getattr(wrong, name) == value
