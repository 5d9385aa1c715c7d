"""The search: kernels alone by successive halving, then what is kept in whole networks.

    for each kernel, those first that may gain most:
        all candidates that there is time for, 3 turns; the faster half, 6; ... until one is left
    the network with all winners against the network as it is, in alternating runs:
        kept if it is faster by more than its noise, else each half of the winners, ...
    the network with all that was kept against what it was, once more, both compiled anew: who picks
        the lucky ones of many comparisons has to ask again, and where memory lies is luck, too

Nothing here knows a kernel: what is tuned answers as a `Subject`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

from glow.tuning.compare import NETWORK_GAIN, compare
from glow.tuning.measure import Times

if TYPE_CHECKING:
    from glow.dialects.weight_table import Array
    from glow.options import CompileOptions
    from glow.tuning.remote.board import Bench

FIRST_TURNS = 3
FEWEST_TURNS, MOST_TURNS = 3, 12
LEAST_GAIN = 0.01
"""Of a kernel alone: less is not worth a place in its network."""
KERNEL_SHARE = 0.6
"""Of the budget, for kernels alone."""

Configs = Mapping[str, Any]
"""Configurations by the key of a kernel."""


@dataclass(frozen=True)
class Tunable:
    """A kernel that can be configured."""

    key: str
    family: str
    spec: str
    """All that the configuration depends on."""
    text: str
    """For people: family and sizes."""
    share: float
    """Of the network's time, the present configuration's."""
    configs: Sequence[Any]
    """The candidates, the present one first, the others in the order of the model."""
    alone: bool = True
    """Whether it can run without its network."""
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields that its network has to judge, whatever the others are."""
    judged: str = ""
    """The field of which its network has to judge the best candidate with another value."""


@dataclass(frozen=True)
class Job:
    """A network that is tuned: a model as `glow.compile` takes it, with values for its inputs."""

    model: Any
    options: CompileOptions
    inputs: Mapping[str, Array]
    bench: Bench | None = None
    """Where it is measured, if not here."""


class Subject(Protocol):
    """A network whose kernels are tuned."""

    @property
    def kernels(self) -> Sequence[Tunable]:
        """What can be configured."""
        ...

    def build(self, kernel: Tunable, config: Any) -> None:
        """Make a candidate ready, unless it is."""
        ...

    def measure(
        self, kernel: Tunable, configs: Sequence[Any], turns: int
    ) -> list[Times]:
        """The times of a kernel alone in some configurations."""
        ...

    def described(self, kernel: Tunable, config: Any) -> list[float]:
        """What a learned model sees of a configuration."""
        ...

    def score(self, times: Times) -> float:
        """The seconds that count of a kernel's times, as its operands are in the network."""
        ...

    def network(self, configs: Configs) -> Callable[[], float]:
        """A run of the network with those configurations, which gives its seconds."""
        ...

    def forget(self) -> None:
        """Let go of networks: the next ones are compiled anew, and lie elsewhere in memory."""
        ...


@dataclass
class Budget:
    """Seconds that may be spent."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def spent(self) -> float:
        """The seconds since the beginning."""
        return self.clock() - self.began

    def left(self, share: float = 1.0) -> float:
        """The seconds until a share of it is spent; negative where more is."""
        return share * self.seconds - self.spent

    def has(self, share: float = 1.0) -> bool:
        """Whether less than a share of it is spent."""
        return self.left(share) > 0


@dataclass
class Found:
    """What is known of one kernel: the times of candidates, and the best of them."""

    kernel: Tunable
    times: list[tuple[Any, Times]] = field(default_factory=list[tuple[Any, Times]])
    best: Any = None
    gain: float = 0.0
    """The share of its own time that the best one saves."""

    @property
    def saved(self) -> float:
        """The share of the network's time."""
        return self.kernel.share * self.gain


def halve(kernel: Tunable, subject: Subject, budget: Budget, most: int) -> Found:
    """The best of a kernel's first `most` candidates; it keeps its own unless one is faster.

    The present configuration stays in the race, so that the last rounds compare with it.
    """
    found, turns = Found(kernel), FIRST_TURNS
    racing = list(kernel.configs[: min(most, affordable(kernel, subject, budget))])
    present = racing[0]
    while len(racing) > 1:
        times = subject.measure(kernel, racing, turns)
        pairs = zip(racing, times, strict=True)
        found.times += [(config, each) for config, each in pairs if isfinite(each.warm)]
        if not isfinite(
            times[0].warm
        ):  # Lost on a board: there is nothing to compare with.
            break
        scores = {number: subject.score(each) for number, each in enumerate(times)}
        order = sorted(scores, key=scores.__getitem__)
        found.best = racing[order[0]]
        found.gain = 1 - scores[order[0]] / scores[0]
        last = len(racing) <= 2 and turns >= MOST_TURNS
        if last or not budget.has(KERNEL_SHARE):
            break
        kept = [racing[number] for number in order[: max(1, len(racing) // 2)]]
        racing = [present, *(config for config in kept if config != present)]
        turns = min(2 * turns, MOST_TURNS)
    return settled(found)


def affordable(kernel: Tunable, subject: Subject, budget: Budget) -> int:
    """How many candidates there is time for, by what the first one takes; two at least."""
    present, start = kernel.configs[0], budget.spent
    subject.build(kernel, present)
    built = budget.spent
    subject.measure(kernel, [present], 1)
    seconds = built - start + FIRST_TURNS * (budget.spent - built)
    enough = budget.left(KERNEL_SHARE) / max(seconds, 1e-9)
    return max(2, int(min(enough, len(kernel.configs))))


def field_text(name: str, config: Any) -> str:
    """What a field of a configuration says, for people; nothing without a name."""
    return f"{name} = {getattr(config, name)}: ".lower() if name else ""


def settled(found: Found) -> Found:
    """The same with the present configuration where the best one gains too little."""
    if found.gain < LEAST_GAIN:
        found.best, found.gain = found.kernel.configs[0], 0.0
    return found


@dataclass
class Tuned:
    """What a search found."""

    found: list[Found] = field(default_factory=list[Found])
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    """The configurations that make the network faster, by the key of the kernel."""
    ratio: float = 1.0
    """The network's time with them over its time without."""
    interrupted: bool = False

    @property
    def expected(self) -> float:
        """The network's time over that without, if it gained what its kernels did alone."""
        return 1 - sum(found.saved for found in self.found)


@dataclass
class Search:
    """One search within a budget; `tell` gets lines about its progress."""

    subject: Subject
    budget: Budget
    tell: Callable[[str], None]
    note: Callable[[Found], None]
    """Gets the times of each kernel at once, so that an interruption loses none."""
    keep: Callable[[dict[str, Any], float], None]
    """Gets what was kept, and the ratio of the network's times."""
    most_candidates: int = 24
    done: Mapping[str, Found] = field(default_factory=dict[str, Found])
    """Kernels that were measured before (`--resume`)."""
    tuned: Tuned = field(default_factory=Tuned)
    _seen: set[frozenset[tuple[str, Any]]] = field(
        default_factory=set[frozenset[tuple[str, Any]]]
    )
    """Networks that were compared."""

    def run(self) -> Tuned:
        """Search until the budget is spent or nothing is left; Ctrl-C ends it early."""
        try:
            self._kernels()
            self._network()
            self._confirm()
        except KeyboardInterrupt:
            self.tuned.interrupted = True
        return self.tuned

    def _kernels(self) -> None:
        alone = [kernel for kernel in self.subject.kernels if kernel.alone]
        order = sorted(alone, key=lambda kernel: -kernel.share)
        for number, kernel in enumerate(order, 1):
            found = self.done.get(kernel.key)
            if found is None:
                if not self.budget.has(KERNEL_SHARE):
                    self.tell(f"{len(order) - number + 1} kernels are left")
                    return
                found = halve(kernel, self.subject, self.budget, self.most_candidates)
                self.note(found)
            self.tuned.found.append(found)
            self.tell(
                f"{number:3}/{len(order)} {kernel.share:6.1%} {found.gain:6.1%} "
                f"{self.tuned.expected:6.3f} {kernel.text}"
            )

    def _network(self) -> None:
        """Keep what makes the network faster, then single choices that need it to judge."""
        winners = [found for found in self.tuned.found if found.gain > 0]
        self._winners(sorted(winners, key=lambda found: -found.saved))
        for kernel in sorted(self.subject.kernels, key=lambda kernel: -kernel.share):
            if kernel.share > NETWORK_GAIN:  # The network shows nothing of others.
                for config in self._alternatives(kernel):
                    text = f"{field_text(kernel.judged, config)}{kernel.text}"
                    self._try({kernel.key: config}, text)

    def _alternatives(self, kernel: Tunable) -> Iterator[Any]:
        """The configurations of a kernel that only its network can judge."""
        kept = self.tuned.kept.get(kernel.key)
        if kernel.judged:
            yield from self._rival(kernel)
        elif kept is not None and kernel.changes:
            yield replace(kept, **kernel.changes)
        elif not kernel.alone:
            yield from kernel.configs[1:]

    def _rival(self, kernel: Tunable) -> Sequence[Any]:
        """The best candidate with another value of the field than the network's, if there is one:
        the fastest alone, or else the first.
        """
        present = self.tuned.kept.get(kernel.key, kernel.configs[0])

        def is_other(config: Any) -> bool:
            return getattr(config, kernel.judged) != getattr(present, kernel.judged)

        times = {
            config: self.subject.score(each)
            for found in self.tuned.found
            if found.kernel.key == kernel.key
            for config, each in found.times
            if is_other(config)
        }
        if times:
            return [min(times, key=times.__getitem__)]
        return [config for config in kernel.configs if is_other(config)][:1]

    def _winners(self, winners: Sequence[Found]) -> None:
        """Keep all of some winners, or of each half those that make the network faster."""
        trial = {found.kernel.key: found.best for found in winners}
        if not trial or self._try(trial, f"{len(winners)} kernels"):
            return
        if len(winners) > 1:
            half = len(winners) // 2
            self._winners(winners[:half])
            self._winners(winners[half:])

    def _confirm(self) -> None:
        """Keep nothing unless networks that no choice was made by show it, too."""
        tuned = self.tuned
        if not tuned.kept:
            return
        self.subject.forget()
        verdict = compare(self.subject.network({}), self.subject.network(tuned.kept))
        tuned.ratio = verdict.ratio
        word = "" if verdict.is_faster else ", which is forgotten"
        self.tell(
            f"network {1 - verdict.ratio:+6.1%} of its time, noise {verdict.noise:.1%}, "
            f"with all that was kept{word}"
        )
        if not verdict.is_faster:
            present = {one.key: one.configs[0] for one in self.subject.kernels}
            self.keep({key: present[key] for key in tuned.kept}, 1.0)
            tuned.kept, tuned.ratio = {}, 1.0

    def _try(self, configs: dict[str, Any], what: str) -> bool:
        """Keep some configurations if the network is faster with them."""
        tuned = self.tuned
        combined = frozenset({**tuned.kept, **configs}.items())
        if combined in self._seen or not self.budget.has():
            return False
        self._seen.add(combined)
        verdict = compare(
            self.subject.network(tuned.kept),
            self.subject.network({**tuned.kept, **configs}),
        )
        word = "kept" if verdict.is_faster else "not kept"
        self.tell(
            f"network {1 - verdict.ratio:+6.1%} of its time, noise {verdict.noise:.1%}: "
            f"{word}: {what}"
        )
        if verdict.is_faster:
            tuned.kept |= configs
            tuned.ratio *= verdict.ratio
            self.keep(configs, verdict.ratio)
        return verdict.is_faster
