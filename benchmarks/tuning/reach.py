"""Prints how near to its best a network's kernels come, in a given time and on odd machines.

python -m benchmarks.tuning.reach resnet50 --budget 90 --threads 2
python -m benchmarks.tuning.reach minilm --budget 30 --machines host,half-cache,half-loads,avx2

A search with that budget, as `glow tune` makes it, then all candidates of each kernel without one.
Those of `--kernels` with the largest shares of the time are compared in turns of their own: the
cost model's choice, the search's, and the best of all. `model` and `search` are their times over
the best, summed with the kernels' shares; `reached` counts kernels that the search got to.

Machines are this one, and this one set wrong on purpose: figures of a core with half of each cache
or half as many loads a cycle, or code for AVX2 or without vectors (`scalar`). `network` is what the
search made of the network's time, and for the wrong figures `to host` that time over what a search
with the right ones has found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.networks import NETWORKS, WIDER_NETWORKS, make_inputs
from glow.backends.cpu.tuning.subject import CpuSubject
from glow.diagnostics import run_reporting
from glow.dialects.errors import UsageError
from glow.lowering.target.core import Core
from glow.lowering.target.core_file import core_text
from glow.lowering.target.target import host_target
from glow.lowering.target.target_names import target_name
from glow.options import CompileOptions
from glow.tuning.compare import Verdict, compare
from glow.tuning.search import (
    Budget,
    Found,
    Job,
    Search,
    Tuned,
    halve,
)

KNOWN = {**NETWORKS, **WIDER_NETWORKS}
ALL_CANDIDATES, FINAL_TURNS = 200, 24
HEAD = (
    f"{'network':14} {'machine':10} {'search':>7} {'reached':>8} {'kernels':>7} {'tried':>6} "
    f"{'model':>6} {'search':>6} {'network':>8} {'to host':>13}"
)
Run = Callable[[], float]

HALF_CACHE: Mapping[str, float] = {"l1_bytes": 0.5, "l2_bytes": 0.5, "l3_bytes": 0.5}
WRONG: Mapping[str, Mapping[str, float]] = {
    "half-cache": HALF_CACHE,
    "half-loads": {"load_pipes": 0.5},
}
"""Parts of the right figures by their names."""
CPUS = {"avx2": "x86-64-v3", "scalar": "scalar"}
MACHINES = ("host", *WRONG, *CPUS)


@dataclass(frozen=True)
class Reached:
    """A search on a machine."""

    tuned: Tuned
    seconds: float
    of: int
    """The kernels that it could reach."""
    run: Run
    """The network with what was kept."""
    compared: int
    tried: int
    model: float
    """Times over the best, by the kernels' shares."""
    search: float

    def line(self, network: str, machine: str, to_host: Verdict | None) -> str:
        """A row of the table."""
        reached = f"{len(self.tuned.found)}/{self.of}"
        beside = "" if to_host is None else f"{to_host.ratio:.3f} ± {to_host.noise:.3f}"
        return (
            f"{network:14} {machine:10} {self.seconds:5.0f} s {reached:>8} "
            f"{self.compared:7} {self.tried:6} {self.model:6.3f} {self.search:6.3f} "
            f"{self.tuned.ratio:8.3f} {beside:>13}"
        )


def target_of(machine: str, folder: Path) -> str:
    """The name of a machine's target; wrong figures stand in a file."""
    if machine in CPUS:
        return CPUS[machine]
    if machine not in WRONG:
        return "host"
    core = host_target().core
    path = folder / f"{machine}.json"
    path.write_text(core_text("", core, wrong_figures(core, WRONG[machine])))
    return target_name(None, None, str(path))


def wrong_figures(core: Core, parts: Mapping[str, float]) -> Mapping[str, float]:
    """Parts of a core's figures."""
    return {
        name: max(1, int(getattr(core, name) * part)) for name, part in parts.items()
    }


def measure(job: Job, budget: float, kernels: int, most: int) -> Reached:
    """Search in the budget, and then without one."""
    subject = CpuSubject(job)
    alone = sorted(
        (kernel for kernel in subject.kernels if kernel.alone),
        key=lambda kernel: -kernel.share,
    )
    clock = Budget(budget)
    tuned = Search(subject, clock, tell, ignore, ignore_kept).run()
    seconds = clock.spent
    found = {one.kernel.key: one for one in tuned.found}
    tried, sums = 0, [0.0, 0.0, 0.0]
    for kernel in alone[:kernels]:
        present = kernel.configs[0]
        every = halve(kernel, subject, Budget(float("inf")), most)
        tried += len({config for config, _ in every.times})
        searched = found[kernel.key].best if kernel.key in found else present
        best_of = sorted(every.times, key=lambda each: subject.score(each[1]))
        others = [every.best, *(config for config, _ in best_of[:2])]
        configs = list(dict.fromkeys([present, searched, *others]))
        times = subject.measure(kernel, configs, FINAL_TURNS)
        scores = dict(zip(configs, map(subject.score, times), strict=True))
        best = min(scores.values())
        for place, score in enumerate((scores[present], scores[searched], best)):
            sums[place] += kernel.share * score / scores[present]
    model, search, best = sums
    return Reached(
        tuned,
        seconds,
        len(alone),
        subject.network(tuned.kept),
        min(kernels, len(alone)),
        tried,
        model / best if best else 1.0,
        search / best if best else 1.0,
    )


def tell(line: str) -> None:
    """Show progress beside the table."""
    print(line, file=sys.stderr)


def ignore(found: Found) -> None:
    """Store no times."""


def ignore_kept(configs: dict[str, object], ratio: float) -> None:
    """Store no choices."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="reach", description=__doc__)
    parser.add_argument("networks", nargs="+", choices=sorted(KNOWN))
    parser.add_argument("--budget", type=float, default=90.0, help="seconds (90)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--machines", default="host", metavar="A,B")
    parser.add_argument("--kernels", type=int, default=100, help="compared (all)")
    parser.add_argument("--most", type=int, default=ALL_CANDIDATES, help="candidates")
    arguments = parser.parse_args()
    machines = arguments.machines.split(",")
    if unknown := [machine for machine in machines if machine not in MACHINES]:
        raise UsageError(
            f"unknown: {', '.join(unknown)}; known are {', '.join(MACHINES)}"
        )
    print(HEAD)
    with tempfile.TemporaryDirectory() as text:
        for name in arguments.networks:
            model = KNOWN[name]()
            host: Reached | None = None
            for machine in machines:
                options = CompileOptions(threads=arguments.threads)
                options = replace(options, target=target_of(machine, Path(text)))
                job = Job(model, options, make_inputs(model))
                reached = measure(
                    job, arguments.budget, arguments.kernels, arguments.most
                )
                is_wrong = machine in WRONG and host is not None
                to_host = compare(host.run, reached.run) if is_wrong and host else None
                host = reached if machine == "host" else host
                print(reached.line(name, machine, to_host), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_reporting("reach", main, debug=False))
