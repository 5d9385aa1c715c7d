"""The table of regret: sums over kernels, and what the first candidates are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from benchmarks.tuning.regret import Regret, is_early
from glow.tuning.measure import Times
from glow.tuning.search import Found, Tunable


@dataclass
class Clockwork:
    """Counts warm times alone."""

    seconds: Sequence[float] = ()
    """Of each candidate, when it is measured once more."""

    def score(self, times: Times) -> float:
        return times.warm

    def measure(
        self, kernel: Tunable, configs: Sequence[int], turns: int
    ) -> list[Times]:
        return [Times(self.seconds[config], 0.0) for config in configs]


def found(share: float, seconds: list[float], gain: float) -> Found:
    kernel = Tunable("0", "K", "K()", "K", share, range(len(seconds)))
    times = [(number, Times(each, 0.0)) for number, each in enumerate(seconds)]
    return Found(kernel, times, 0, gain)


def test_regret_is_the_sum_over_kernels() -> None:
    half = found(0.5, [2.0, 1.0], 0.5)
    none = found(0.25, [1.0, 1.5, 1.5], 0.0)
    regret = Regret.of([half, none], Clockwork())
    assert regret.ratio == pytest.approx(0.75 / 0.5)
    assert (regret.kernels, regret.candidates) == (2, 5)
    assert regret.worst is half
    assert "50.0% K" in regret.line("net")


def test_the_first_candidates_count_as_early() -> None:
    near, far = [1.5, 1.0, 1.2, 1.3, 1.4, 0.99], [1.5, 1.0, 1.2, 1.3, 1.4, 0.9]
    assert is_early(found(1.0, near, 0.1), Clockwork(near))
    assert not is_early(found(1.0, far, 0.1), Clockwork(far))
    assert is_early(found(1.0, far, 0.1), Clockwork(near))  # It was luck.
    assert is_early(found(1.0, [1.5, 1.0], 0.0), Clockwork())


def test_a_network_without_kernels_has_no_regret() -> None:
    assert Regret.of([], Clockwork()).ratio == 1.0
