"""The search for what only a whole network can judge, on a simulated one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from glow.tuning.compare import PAIRS
from glow.tuning.measure import Times
from glow.tuning.search import Budget, Search, Tunable, Tuned

RUN_SECONDS = 0.01


@dataclass(frozen=True)
class Phases:
    """A configuration of which the network judges one field."""

    tile: int
    fused: bool


def choice(key: str, share: float, *configs: Any, **more: Any) -> Tunable:
    """Something that cannot run alone."""
    usual = {"alone": False, **more}
    return Tunable(key, "AlgorithmSpec", key, f"no {key}", share, configs, **usual)


@dataclass
class Network:
    """A network that takes `gains` less of its time with choices, and so long to compile."""

    kernels: Sequence[Tunable]
    gains: Mapping[str, Mapping[Any, float]]
    """Of a choice by its configuration; nothing for others."""
    alone: Mapping[Any, float] = field(default_factory=dict[Any, float])
    """The seconds of a configuration by itself."""
    noise: float = 0.002
    compile_seconds: float = 1.0
    now: float = 0.0
    tried: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    random: np.random.Generator = field(
        default_factory=lambda: np.random.default_rng(0)
    )

    def build(self, kernel: Tunable, config: Any) -> None:
        pass

    def measure(
        self, kernel: Tunable, configs: Sequence[Any], turns: int
    ) -> list[Times]:
        return [Times(self.alone[config], self.alone[config]) for config in configs]

    def described(self, kernel: Tunable, config: Any) -> list[float]:
        return []

    def score(self, times: Times) -> float:
        return times.warm

    def network(self, configs: Mapping[str, Any]) -> Callable[[], float]:
        self.now += self.compile_seconds
        self.tried.append(dict(configs))
        gain = sum(self.gains[key].get(config, 0) for key, config in configs.items())

        def run() -> float:
            self.now += RUN_SECONDS
            return (1 - gain) * (1 + self.noise * self.random.standard_normal())

        return run

    def forget(self) -> None:
        pass


def search(network: Network, seconds: float = 1e6) -> Tuned:
    budget = Budget(seconds, lambda: network.now)
    lines: list[str] = []
    return Search(
        network, budget, lines.append, lambda found: None, lambda configs, ratio: None
    ).run()


GAINS = {"winograd": -0.2, "batch": 0.08, "blocks": 0.0, "bf16": 0.03, "plain": -0.01}


@pytest.mark.parametrize("seed", range(4))
def test_planted_choices_are_found_and_no_others(seed: int) -> None:
    names = list(GAINS)
    np.random.default_rng(seed).shuffle(names)
    network = Network(
        [choice(name, 0.1 + 0.1 * n, 1, 0) for n, name in enumerate(names)],
        {name: {0: gain} for name, gain in GAINS.items()},
        random=np.random.default_rng(seed),
    )
    assert search(network).kept == {"batch": 0, "bf16": 0}


def test_choices_are_tried_by_their_share_and_none_that_no_network_shows() -> None:
    shares = {"small": 0.002, "middle": 0.1, "large": 0.6}
    network = Network(
        [choice(name, share, 1, 0) for name, share in shares.items()],
        {name: {} for name in shares},
    )
    search(network)
    assert [configs for configs in network.tried if configs] == [
        {"large": 0},
        {"middle": 0},
    ]


def test_few_networks_are_compared_within_a_budget() -> None:
    """One that gains most is found before the budget is spent."""
    network = Network(
        [choice(f"layer{n}", (20 - n) / 20, 1, 0) for n in range(20)],
        {f"layer{n}": {0: 0.1} if n == 0 else {} for n in range(20)},
    )
    one = 2 * network.compile_seconds + 2 * (PAIRS + 1) * RUN_SECONDS
    tuned = search(network, seconds=3 * one)
    assert tuned.kept == {"layer0": 0}
    assert network.now <= 5 * one  # The one that was begun, and the last comparison.


FUSED = [Phases(4, True), Phases(6, True), Phases(4, False), Phases(6, False)]
SECONDS = dict(zip(FUSED, (1.0, 0.9, 1.3, 1.2), strict=True))


@pytest.mark.parametrize(
    ("in_network", "kept"),
    [
        ({FUSED[1]: 0.02, FUSED[2]: 0.05, FUSED[3]: 0.1}, FUSED[3]),
        ({FUSED[1]: 0.02, FUSED[2]: 0.05, FUSED[3]: -0.1}, FUSED[1]),
        ({FUSED[1]: -0.02, FUSED[3]: 0.1}, FUSED[3]),
    ],
)
def test_the_best_of_the_other_kind_is_tried_though_it_is_slower_alone(
    in_network: Mapping[Phases, float], kept: Phases
) -> None:
    kernel = choice("k", 0.5, *FUSED, alone=True, judged="fused")
    assert search(Network([kernel], {"k": in_network}, SECONDS)).kept == {"k": kept}


def test_the_first_of_the_other_kind_is_tried_of_kernels_that_were_not_measured() -> (
    None
):
    kernel = choice("k", 0.5, *FUSED, judged="fused")
    network = Network([kernel], {"k": {FUSED[2]: 0.1}})
    assert search(network).kept == {"k": FUSED[2]}


def test_no_network_is_compared_twice() -> None:
    """What winners showed of a configuration is not asked again of it alone."""
    kernel = choice("k", 0.5, *FUSED, alone=True, judged="fused")
    seconds = dict(zip(FUSED, (1.0, 1.1, 0.8, 1.2), strict=True))
    network = Network([kernel], {"k": {}}, seconds)
    assert search(network).kept == {}
    assert [configs for configs in network.tried if configs] == [{"k": FUSED[2]}]
