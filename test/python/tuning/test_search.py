"""The search on simulated machines: it finds what was planted, and keeps nothing that lies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from glow.tuning.compare import PAIRS, judge
from glow.tuning.measure import Meter, Times
from glow.tuning.search import Budget, Found, Search, Tunable, settled

KERNELS = 6
CANDIDATES = 24


@dataclass
class Clock:
    """Seconds that pass only when something is measured."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Machine:
    """Kernels whose candidates take known times, with noise; the order of the model is random."""

    noise: float
    clock: Clock
    in_network: float = 1.0
    """How much of a kernel's gain its network has; negative: it loses."""
    losers: Collection[int] = ()
    """Kernels whose gain is a great loss in the network."""
    lucky_calls: float = math.inf
    """The network has no gain any more after so many runs."""
    lucky_builds: float = math.inf
    """The network has none any more where it was compiled so often anew."""
    forgotten: int = 0
    interrupt_after: int = 10**9
    build_seconds: float = 0.0
    """What a candidate takes before it can be measured."""
    seed: int = 0
    measured: int = 0
    random: np.random.Generator = field(init=False)
    times: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.times = {
            f"{k:016x}": self.random.uniform(1.0, 2.0, CANDIDATES) * (k + 1)
            for k in range(KERNELS)
        }
        for times in self.times.values():
            times[self.random.integers(1, CANDIDATES)] = 0.7 * times.min()
        total = sum(times[0] for times in self.times.values())
        self.kernels: Sequence[Tunable] = [
            Tunable(key, "K", key, key, times[0] / total, range(CANDIDATES))
            for key, times in self.times.items()
        ]

    def build(self, kernel: Tunable, config: Any) -> None:
        self.clock.now += self.build_seconds

    def measure(
        self, kernel: Tunable, configs: Sequence[Any], turns: int
    ) -> list[Times]:
        self.measured += 1
        if self.measured > self.interrupt_after:
            raise KeyboardInterrupt
        self.clock.now += 0.1 * len(configs)
        found = []
        for config in configs:
            factors = 1 + self.noise * self.random.standard_normal(turns)
            seconds = self.times[kernel.key][config] * float(np.median(factors))
            found.append(Times(seconds, 2 * seconds))
        return found

    def score(self, times: Times) -> float:
        return times.weighted(0.5)

    def network(self, configs: Mapping[str, Any]) -> Callable[[], float]:
        def run() -> float:
            self.clock.now += 0.01
            seconds = 0.0
            self.lucky_calls -= 1
            for number, (key, times) in enumerate(self.times.items()):
                gain = times[0] - times[configs.get(key, 0)]
                share = -50.0 if number in self.losers else self.in_network
                is_lucky = self.lucky_calls > 0 and self.forgotten < self.lucky_builds
                seconds += times[0] - (share * gain if is_lucky else -0.01)
            return seconds * (1 + self.noise * self.random.standard_normal())

        return run

    def forget(self) -> None:
        self.forgotten += 1


def search(machine: Machine, seconds: float = 1e6, **more: Any) -> Search:
    notes: list[Found] = []
    return Search(
        machine,
        Budget(seconds, machine.clock),
        lambda line: None,
        notes.append,
        lambda configs, ratio: None,
        **more,
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_planted_best_is_found_and_kept(seed: int) -> None:
    machine = Machine(0.02, Clock(), seed=seed)
    tuned = search(machine).run()
    best = {key: int(times.argmin()) for key, times in machine.times.items()}
    assert tuned.kept == best
    assert tuned.ratio < 0.8


def test_nothing_is_kept_that_the_network_does_not_show() -> None:
    tuned = search(Machine(0.02, Clock(), in_network=-0.05)).run()
    assert tuned.found
    assert any(found.gain > 0 for found in tuned.found)
    assert tuned.kept == {}


@pytest.mark.parametrize("losers", [[0], [2, 5], [0, 1, 2]])
def test_winners_are_kept_beside_others_that_lose(losers: list[int]) -> None:
    machine = Machine(0.001, Clock(), losers=losers)
    tuned = search(machine).run()
    keys = [key for n, key in enumerate(machine.times) if n not in losers]
    assert tuned.kept == {key: int(machine.times[key].argmin()) for key in keys}


def test_what_was_luck_is_forgotten() -> None:
    """The network with all that is kept has to be faster once more."""
    kept: list[tuple[dict[str, Any], float]] = []
    machine = Machine(0.0, Clock(), lucky_calls=43)
    one = search(machine)
    one.keep = lambda configs, ratio: kept.append((configs, ratio))
    tuned = one.run()
    assert tuned.kept == {}
    assert tuned.ratio == 1.0
    (found, gain), (present, none) = kept
    assert found.keys() == present.keys()
    assert gain < 1.0 == none
    assert set(present.values()) == {0}


def test_luck_of_one_compilation_is_forgotten() -> None:
    assert search(Machine(0.0, Clock(), lucky_builds=1)).run().kept == {}
    assert search(Machine(0.0, Clock(), lucky_builds=2)).run().kept != {}


def test_what_is_left_in_the_end_has_to_exceed_its_noise() -> None:
    """At last the network is faster in three runs of four, but seldom by as much."""
    machine = Machine(0.0, Clock())
    network, count = machine.network, itertools.count()

    def last(configs: Mapping[str, Any]) -> Callable[[], float]:
        if not machine.forgotten:
            return network(configs)
        ratios = (0.8, 0.995, 0.995, 1.2)
        return lambda: ratios[next(count) % 4] if configs else 1.0

    machine.network = last
    assert search(machine).run().kept == {}
    assert next(count) >= PAIRS


def test_noise_is_no_gain() -> None:
    """Equal candidates win alone by luck, fifty times; their network tells."""
    for seed in range(5):
        machine = Machine(0.03, Clock(), seed=seed)
        for times in machine.times.values():
            times[:] = times[0]
        assert search(machine).run().ratio > 0.98


def test_a_budget_is_kept_and_spent_where_it_pays_first() -> None:
    machine = Machine(0.02, Clock())
    tuned = search(machine, seconds=20.0).run()
    assert 0 < len(tuned.found) < KERNELS
    assert machine.clock.now < 30
    shares = sorted((kernel.share for kernel in machine.kernels), reverse=True)
    assert [found.kernel.share for found in tuned.found] == shares[: len(tuned.found)]


@pytest.mark.parametrize("seconds", [0.5, 2.0, 5.0])
def test_a_budget_below_the_time_of_one_kernel_is_kept(seconds: float) -> None:
    """Candidates are built while there is time: the present one and another at least."""
    machine = Machine(0.0, Clock(), build_seconds=0.5)
    search(machine, seconds=seconds).run()
    assert machine.measured
    assert machine.clock.now <= seconds + 2 * machine.build_seconds


def test_progress_says_what_the_network_would_take() -> None:
    machine, lines = Machine(0.0, Clock()), list[str]()
    one = search(machine)
    one.tell = lines.append
    one.run()
    times = machine.times.values()
    best = sum(each.min() for each in times) / sum(each[0] for each in times)
    assert f" {best:.3f} " in lines[KERNELS - 1]


def test_an_interrupted_search_keeps_what_there_is() -> None:
    machine = Machine(0.02, Clock(), interrupt_after=12)
    tuned = search(machine).run()
    assert tuned.interrupted
    assert tuned.found


def test_a_resumed_search_measures_no_kernel_again() -> None:
    machine = Machine(0.0, Clock())
    done = {found.kernel.key: found for found in search(machine).run().found}
    again = Machine(0.0, Clock(), interrupt_after=0)
    tuned = search(again, done=done).run()
    assert not tuned.interrupted
    assert tuned.kept


def test_a_gain_that_is_too_small_is_none_in_records_either() -> None:
    kernel = Machine(0.0, Clock()).kernels[0]
    assert settled(Found(kernel, best=3, gain=0.02)).best == 3
    found = settled(Found(kernel, best=3, gain=0.005))
    assert (found.best, found.gain) == (kernel.configs[0], 0.0)


def test_a_verdict_needs_more_than_its_noise() -> None:
    assert judge([0.97, 0.98, 0.96, 0.97] * 10).is_faster
    assert not judge([0.8, 1.3, 0.7, 1.2, 0.96] * 4).is_faster
    assert not judge([0.999] * 20).is_faster


def test_measured_times_are_those_of_calls() -> None:
    calls = [0, 0]

    def trial(number: int) -> Callable[[], None]:
        def run() -> None:
            calls[number] += 1
            sum(range(1000 * (1 + 20 * number)))

        return run

    short, long = Meter(1 << 12).measure([trial(0), trial(1)], 3)
    assert min(calls) >= 3 * 2
    assert min(short.warm, short.cold, long.warm, long.cold) > 0
