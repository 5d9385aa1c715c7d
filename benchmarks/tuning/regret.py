"""Prints how much faster kernels would be in their best configurations: the regret of the model.

python -m benchmarks.tuning.regret resnet50 mobilenet_v2 minilm --most 60

Each kernel of a network that can be configured runs alone in turns with its candidates (`glow
tune` measures so, too), the faster half of them more often. `regret` is the time of the chosen
ones over that of the best, summed with their shares of the network's time; best ones are those of
the last round, which few candidates reach, so that luck plays no part. `first 5` is the share of
kernels of which the first five candidates, in the model's order, have one within 2 % of the best.

With `--keep` all times become records in the cache folder, as those of a search, from which
`glow tune --fit` learns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.networks import NETWORKS, make_inputs
from glow.backends.cpu.tuning.subject import CpuSubject
from glow.diagnostics import run_reporting
from glow.lowering.target.target_names import runnable_target
from glow.options import CompileOptions
from glow.tools.machine.tune_command import Store
from glow.tuning.search import Budget, Found, Job, Subject, halve

FIRST = 5
CLOSE = 1.02
FINAL_TURNS = 24
HEAD = (
    f"{'network':16} {'kernels':>7} {'tried':>6} {'share':>6} {'regret':>7} {'first 5':>7}"
    "  worst"
)


@dataclass(frozen=True)
class Regret:
    """What the kernels of a network lose."""

    kernels: int
    candidates: int
    share: float
    """Of the network's time that these kernels take."""
    ratio: float
    first: float
    worst: Found | None

    @staticmethod
    def of(found: Sequence[Found], subject: Subject) -> Regret:
        """The sums over kernels."""
        share = sum(one.kernel.share for one in found)
        best = sum(one.kernel.share * (1 - one.gain) for one in found)
        return Regret(
            len(found),
            sum(len({config for config, _ in one.times}) for one in found),
            share,
            share / best if best else 1.0,
            sum(is_early(one, subject) for one in found) / max(1, len(found)),
            max(found, key=lambda one: one.saved, default=None),
        )

    def line(self, name: str) -> str:
        """A row of the table."""
        worst = self.worst
        text = "" if worst is None else f"{worst.gain:.1%} {worst.kernel.text}"
        return (
            f"{name:16} {self.kernels:7} {self.candidates:6} {self.share:6.0%} "
            f"{self.ratio:7.3f} {self.first:7.0%}  {text}"
        )


def is_early(found: Found, subject: Subject) -> bool:
    """Whether one of the first candidates is close to the best, in turns of their own."""
    last = {config: subject.score(times) for config, times in found.times}
    first, best = list(last)[:FIRST], sorted(last, key=last.__getitem__)[:FIRST]
    both = list(dict.fromkeys([*first, *best]))
    if len(both) <= len(first):
        return True
    times = subject.measure(found.kernel, both, FINAL_TURNS)
    scores = [subject.score(each) for each in times]
    return min(scores[: len(first)]) <= CLOSE * min(scores)


def kernels_of(subject: Subject, most: int, least: float) -> Iterator[Found]:
    """The best candidates of the kernels that take a share of the time."""
    endless = Budget(float("inf"))
    for kernel in subject.kernels:
        if kernel.alone and kernel.share >= least:
            yield halve(kernel, subject, endless, most)


def main() -> int:
    parser = argparse.ArgumentParser(prog="regret", description=__doc__)
    parser.add_argument("networks", nargs="+", choices=sorted(NETWORKS))
    parser.add_argument("--most", type=int, default=60, help="candidates (60)")
    parser.add_argument(
        "--least", type=float, default=0.005, help="share of the time (0.005)"
    )
    parser.add_argument("--keep", action="store_true", help="write records")
    parser.add_argument("-v", "--verbose", action="store_true", help="each kernel")
    arguments = parser.parse_args()
    print(HEAD)
    for name in arguments.networks:
        model = NETWORKS[name]()
        options = CompileOptions(threads=1)
        subject = CpuSubject(Job(model, options, make_inputs(model)))
        store = Store(subject, runnable_target(options.target))
        found: list[Found] = []
        for one in kernels_of(subject, arguments.most, arguments.least):
            found.append(one)
            if arguments.keep:
                store.note(one)
            if arguments.verbose:
                print(f"  {one.kernel.share:6.1%} {one.gain:6.1%} {one.kernel.text}")
        print(Regret.of(found, subject).line(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_reporting("regret", main, debug=False))
