"""Rounds in which each runtime has a turn, and which of them may be compared.

The virtual cores of a machine share an L3 at one moment and none at the next, for
seconds or minutes, and no runtime is to blame for it. So the latency is measured before and
after each round, while no runtime runs; rounds of one state make a row of the table, and rounds
in which it changed make none.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

TURN_MILLISECONDS = 500
MOST_INFERENCES = 200
SHARED, SPLIT = 200, 250
"""Nanoseconds of a round trip: cores that share an L3 are below the one, others above the other."""
STATES = ("shared", "split")
MOST = 2
"""Times the rounds asked for, where the state keeps changing."""

Latency = Callable[[], float | None]


def fastest(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The least seconds of each call; they take turns, so that a busy machine slows all."""
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            started = time.perf_counter()
            call()
            least[number] = min(least[number], time.perf_counter() - started)
    return least


class Player(Protocol):
    """A runtime that is stopped unless it runs."""

    def run(self, count: int) -> list[float]:
        """Returns the milliseconds of `count` inferences."""
        ...


@dataclass(frozen=True)
class Round:
    """A turn of every runtime."""

    times: Mapping[str, Sequence[float]]
    """The milliseconds of each runtime's inferences."""
    before: float | None
    """A cache line's round trip between the cores in nanoseconds, None where it is unknown."""
    after: float | None

    @property
    def state(self) -> str:
        """Returns whether the cores shared an L3: shared, split, mixed or unknown."""
        if self.before is None or self.after is None:
            return "unknown"
        if max(self.before, self.after) < SHARED:
            return "shared"
        return "split" if min(self.before, self.after) > SPLIT else "mixed"


@dataclass(frozen=True)
class Rounds:
    """Rounds that belong together."""

    state: str | None
    """`shared` or `split` in all of them; None where that is unknown or changed in each."""
    rounds: Sequence[Round]

    @property
    def latency(self) -> float | None:
        """Returns the median round trip between the cores."""
        ends = [end for played in self.rounds for end in (played.before, played.after)]
        known = [end for end in ends if end is not None]
        return median(known) if known else None

    @property
    def times(self) -> dict[str, list[float]]:
        """Returns the milliseconds of each runtime over all rounds."""
        return {
            name: [time for played in self.rounds for time in played.times[name]]
            for name in self.rounds[0].times
        }


def by_state(rounds: Sequence[Round]) -> list[Rounds]:
    """Returns the rounds with a shared L3 and with a split one; all together without either."""
    found = [
        Rounds(s, [played for played in rounds if played.state == s]) for s in STATES
    ]
    return [group for group in found if group.rounds] or [Rounds(None, rounds)]


def are_enough(rounds: Sequence[Round], wanted: int) -> bool:
    """Returns whether as many as `wanted` are of one state, or twice as many are played."""
    states = Counter(played.state for played in rounds if played.state != "mixed")
    return len(rounds) >= MOST * wanted or max(states.values(), default=0) >= wanted


def play(players: Mapping[str, Player], wanted: int, latency: Latency) -> list[Round]:
    """Returns rounds until there are enough; `latency` is measured before and after each."""
    inferences = {name: inferences_of(player) for name, player in players.items()}
    rounds: list[Round] = []
    before = latency()
    while not are_enough(rounds, wanted):
        turns = rotated(list(players), len(rounds))
        times = {name: players[name].run(inferences[name]) for name in turns}
        after = latency()
        rounds.append(Round(times, before, after))
        before = after
        print(f"  {described(rounds)}", file=sys.stderr)
    return rounds


def rotated(names: Sequence[str], by: int) -> list[str]:
    """Returns the names with the first `by` of them at the end.

    So another runtime is the first after each pause between two rounds.
    """
    first = by % len(names)
    return [*names[first:], *names[:first]]


def inferences_of(player: Player) -> int:
    """Returns how many inferences fill a turn."""
    return max(1, min(MOST_INFERENCES, int(TURN_MILLISECONDS / min(player.run(2)))))


def described(rounds: Sequence[Round]) -> str:
    """Returns the number of the last round, and the round trip between the cores."""
    last = rounds[-1]
    if last.before is None or last.after is None:
        return f"round {len(rounds)}"
    return (
        f"round {len(rounds)}: {last.state}, {last.before:.0f} to {last.after:.0f} ns"
    )
