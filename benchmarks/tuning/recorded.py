"""Prints the regret of the cost models, and what their first candidates are worth, by records.

python -m benchmarks.tuning.recorded benchmarks/results/tuning_zen4.jsonl.xz --target znver4

What `regret` measures, of a machine that was measured before: the candidates that there are now, in
their order, are looked up in the records of the kernels of each network. `regret` is the time of
the chosen ones over that of the best, summed over kernels, with half of the calls cold; `first 5`
the share of kernels of which the first five candidates have one within 2 % of the best. Times of
candidates that left a search early are those of few turns, so that `regret` itself, which measures
the first and the best ones once more, finds less. `unknown` are kernels without records, most of
them too small a share of their network.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.networks import NETWORKS
from benchmarks.tuning.regret import CLOSE, FIRST
from glow.backends.cpu.tuning.algorithms import AlgorithmSpec
from glow.backends.cpu.tuning.candidates import candidates
from glow.backends.cpu.tuning.families import FAMILIES, config_from
from glow.backends.cpu.tuning.subject import COLD_SHARE, KernelSpace
from glow.backends.pipeline import LOWERED
from glow.compiler import load, lower
from glow.diagnostics import run_reporting
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.tuning import choices
from glow.tuning.measure import Times
from glow.tuning.records import Record, Records, content_of, records_in

USUAL = "minilm bert_base mobilenet_v2 densenet121 resnet50 squeezenet".split()
HEAD = f"{'network':16} {'kernels':>7} {'unknown':>7} {'regret':>7} {'first 5':>7}"


@dataclass(frozen=True)
class Recorded:
    """What a kernel takes in its best configuration, in the chosen one, and in the first few."""

    best: float
    chosen: float
    first: float


def recorded(seconds: Sequence[float | None]) -> Recorded | None:
    """Of the times of candidates in their order, None of those that were not measured."""
    known = [each for each in seconds if each is not None]
    first = [each for each in seconds[:FIRST] if each is not None]
    chosen = seconds[0] if seconds else None
    if chosen is None:
        return None
    return Recorded(min(known), chosen, min(first))


def kernels_of(name: str, target: str, records: Records) -> Iterator[Recorded | None]:
    """Each kernel of a network that can be configured, None of one without records."""
    options = CompileOptions(target=target, threads=1)
    space = KernelSpace(Target.from_string(target))
    with choices.watching(space.note):
        lower(load(NETWORKS[name](), options), LOWERED, options)
    for key, spec in space.specs.items():
        if not isinstance(spec, AlgorithmSpec):
            seconds = {
                config_from(FAMILIES[each.family].config, each.config): score(each)
                for _, each in records.of(key)
            }
            yield recorded([seconds.get(one) for one in candidates(spec, space.target)])


def score(record: Record) -> float:
    """The seconds of a call, half of them cold."""
    times = Times(record.warm or 0.0, record.cold or 0.0)
    return times.weighted(COLD_SHARE)


def line(name: str, kernels: Sequence[Recorded | None]) -> str:
    """A row of the table."""
    known = [kernel for kernel in kernels if kernel is not None]
    best = sum(kernel.best for kernel in known)
    regret = sum(kernel.chosen for kernel in known) / best if known else 1.0
    early = sum(kernel.first <= CLOSE * kernel.best for kernel in known)
    return (
        f"{name:16} {len(known):7} {len(kernels) - len(known):7} {regret:7.3f} "
        f"{early / max(1, len(known)):7.0%}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="recorded", description=__doc__)
    parser.add_argument(
        "records", type=Path, help="a file such as tuning_zen4.jsonl.xz"
    )
    parser.add_argument("--target", required=True, help="what was measured: znver4")
    parser.add_argument(
        "--networks", nargs="+", choices=sorted(NETWORKS), default=USUAL
    )
    arguments = parser.parse_args()
    records = records_in(content_of(arguments.records), arguments.records, None)
    Target.from_string(arguments.target)  # Before anything is printed.
    print(HEAD)
    every: list[Recorded | None] = []
    for name in arguments.networks:
        kernels = list(kernels_of(name, arguments.target, records))
        print(line(name, kernels), flush=True)
        every += kernels
    print(line("all", every))
    return 0


if __name__ == "__main__":
    sys.exit(run_reporting("recorded", main, debug=False))
