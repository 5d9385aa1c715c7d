"""Rounds of the benchmark by how far apart the cores were, with made-up times and distances."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest

from benchmarks import compare, rounds
from benchmarks.networks import TINY_NETWORKS
from benchmarks.peers.contestants import Contest
from benchmarks.rounds import Round, are_enough, by_state, described, play
from benchmarks.table import table
from glow.runtime.calibration.cross_core import (
    RALLY_TYPE,
    cross_core_latency,
    rally_library,
)

NEAR, BETWEEN, FAR = 70.0, 220.0, 375.0


def rounds_between(distances: Iterable[float | None]) -> list[Round]:
    """Returns a round before each latency but the first; its time is its number."""
    return [
        Round({"glow": [float(number)], "ort": [10.0 * number]}, before, after)
        for number, (before, after) in enumerate(pairwise(distances))
    ]


class FakePlayer:
    """A runtime whose inferences take as many milliseconds as were asked for."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def run(self, count: int) -> list[float]:
        self.counts.append(count)
        return [float(count)]


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (NEAR, NEAR, "shared"),
        (FAR, FAR, "split"),
        (NEAR, FAR, "mixed"),
        (FAR, NEAR, "mixed"),
        (BETWEEN, BETWEEN, "mixed"),
        (NEAR, BETWEEN, "mixed"),
        (FAR, BETWEEN, "mixed"),
        (None, NEAR, "unknown"),
        (FAR, None, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_state_must_hold_through_the_round(
    before: float | None, after: float | None, state: str
) -> None:
    assert Round({}, before, after).state == state


def test_each_state_has_its_own_times() -> None:
    near, far = by_state(rounds_between([FAR, FAR, NEAR, NEAR, NEAR - 10, FAR, FAR]))
    assert (near.state, far.state) == ("shared", "split")
    assert near.times == {"glow": [2.0, 3.0], "ort": [20.0, 30.0]}
    assert far.times == {"glow": [0.0, 5.0], "ort": [0.0, 50.0]}
    assert near.latency == NEAR
    assert far.latency == FAR


def test_state_that_was_not_seen_has_no_row() -> None:
    (far,) = by_state(rounds_between([FAR, FAR, NEAR, FAR]))
    assert far.state == "split"
    assert far.times["glow"] == [0.0]


def test_mixed_rounds_stand_together_where_there_are_no_others() -> None:
    (both,) = by_state(rounds_between([NEAR, FAR, NEAR]))
    assert both.state is None
    assert both.times["glow"] == [0.0, 1.0]
    assert both.latency == (NEAR + FAR) / 2


def test_distance_may_be_unknown() -> None:
    (only,) = by_state(rounds_between([None, None, None]))
    assert only.state is None
    assert only.latency is None
    assert only.times["ort"] == [0.0, 10.0]


@pytest.mark.parametrize(
    ("distances", "wanted", "enough"),
    [
        ([NEAR, NEAR, NEAR], 2, True),
        ([NEAR, NEAR, FAR, FAR], 2, False),
        ([NEAR, FAR, NEAR], 2, False),
        ([NEAR, FAR, NEAR, FAR], 2, False),
        ([NEAR, FAR, NEAR, FAR, NEAR], 2, True),
        ([None, None, None], 2, True),
        ([None, None], 2, False),
    ],
)
def test_rounds_go_on_until_enough_are_alike(
    distances: list[float | None], wanted: int, enough: bool
) -> None:
    assert are_enough(rounds_between(distances), wanted) is enough


def test_all_play_in_every_round(capsys: pytest.CaptureFixture[str]) -> None:
    players = {"glow": FakePlayer(), "ort": FakePlayer()}
    distances = iter([FAR, NEAR, NEAR, NEAR])
    played = play(players, 2, lambda: next(distances))
    assert [turn.state for turn in played] == ["mixed", "shared", "shared"]
    fill = rounds.TURN_MILLISECONDS // 2
    assert [player.counts for player in players.values()] == 2 * [
        [2, *3 * [min(fill, rounds.MOST_INFERENCES)]]
    ]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  round 1: mixed, 375 to 70 ns"
    assert len(lines) == 3


def test_progress_says_no_distance_that_is_not_known() -> None:
    assert described(rounds_between([None, None])) == "round 1"


def test_every_runtime_is_the_first_after_the_pause_in_its_turn() -> None:
    order: list[str] = []

    class Named(FakePlayer):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def run(self, count: int) -> list[float]:
            order.append(self.name)
            return super().run(count)

    players = {name: Named(name) for name in ("glow", "ort", "openvino")}
    play(players, 4, lambda: NEAR)
    turns = [order[start : start + 3] for start in range(3, len(order), 3)]
    assert turns == [
        ["glow", "ort", "openvino"],
        ["ort", "openvino", "glow"],
        ["openvino", "glow", "ort"],
        ["glow", "ort", "openvino"],
    ]


def test_both_states_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    distances = iter([NEAR, NEAR, FAR, FAR, FAR])

    def next_latency(cores: Sequence[int]) -> float:
        return next(distances)

    monkeypatch.setattr(compare, "KNOWN", TINY_NETWORKS)
    monkeypatch.setattr(compare, "cross_core_latency", next_latency)
    monkeypatch.setattr(rounds, "TURN_MILLISECONDS", 1)
    results = list(compare.compare("mobilenet_v2", [2], Contest(["ort"]), 2))
    rows = table(results).splitlines()[2:]
    assert [row.split("|")[2].strip() for row in rows] == ["2 shared", "2 split"]
    near, far = (result.to_json() for result in results)
    keys = ["threads", "state", "rounds", "cross_core_nanoseconds"]
    assert [near[key] for key in keys] == [2, "shared", 1, NEAR]
    assert [far[key] for key in keys] == [2, "split", 2, FAR]
    shared = ["cold_seconds", "cold_megabytes", "load_seconds", "peak_megabytes"]
    assert [near[key] for key in shared] == [far[key] for key in shared]


def test_distance_is_positive_or_unknown() -> None:
    latency = cross_core_latency(sorted(os.sched_getaffinity(0))[:2])
    assert latency is None or latency > 0


def test_single_core_has_no_distance() -> None:
    assert cross_core_latency(sorted(os.sched_getaffinity(0))[:1]) is None


def test_player_without_a_partner_gives_up() -> None:
    ball = ctypes.c_int64(0)
    rally = RALLY_TYPE(rally_library().address("rally"))
    assert rally(ctypes.addressof(ball), 0, 2) == 1
    assert ball.value == 1
    assert rally(ctypes.addressof(ball), 2, 4) == 0
    assert ball.value == 1
