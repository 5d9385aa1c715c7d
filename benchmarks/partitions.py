"""Prints how networks divide: estimated and measured shares of time, bytes, and bits.

python benchmarks/partitions.py resnet50 bert_base --parts 2 3 --strategy balance

Each part is compiled alone and timed alone, on one thread. `expected` is a part's share of the
estimated time, `measured` of the time that parts take; `off` is the largest difference between
them as a part of the measured share. `crossing` are the bytes that go from part to part, and
`stages` what a pipeline of the parts could gain at most: the time of the whole network over that
of the slowest part. `equal` says whether the parts give the bits of the network in one piece,
which they must where numerics are exact.

With `--requests 64` so many requests at a time go through a `glow.Host`: one whose device has one
core, and one with a core for each part (`strategy=pipeline`). The better of some rounds counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from benchmarks.networks import NETWORKS, make_inputs
from benchmarks.rounds import fastest
from glow.backends.backend import get_backend
from glow.backends.pipeline import GRAPH
from glow.compiled_model import Array
from glow.compiler import compile_module, load, run_phases
from glow.diagnostics import run_reporting
from glow.dialects.weights import clone_module
from glow.host.host import Host
from glow.host.partition_plan import Part, PartitionPlan, split_module
from glow.options import CompileOptions
from glow.passes.graph.partition.devices import parse_devices
from glow.passes.graph.partition.divide import STRATEGIES, Division, divide

Call = Callable[[], object]

HEAD = (
    f"{'network':14} {'parts':>5} {'strategy':9} {'expected':>15} {'measured':>15} "
    f"{'off':>6} {'crossing':>10} {'ms':>8} {'stages':>6}  equal"
)


@dataclass(frozen=True)
class Row:
    """What a division of a network came to; seconds by part."""

    network: str
    strategy: str
    estimated: Sequence[float]
    measured: Sequence[float]
    crossing_bytes: int
    whole: float
    """The seconds of the network in one piece."""
    is_equal: bool

    def __str__(self) -> str:
        expected, measured = shares(self.estimated), shares(self.measured)
        texts = [
            "/".join(f"{share:.1%}" for share in some) for some in (expected, measured)
        ]
        return (
            f"{self.network:14} {len(measured):5d} {self.strategy:9} {texts[0]:>15} "
            f"{texts[1]:>15} {self.off:6.1%} {self.crossing_bytes:10,d} "
            f"{self.whole * 1e3:8.2f} {self.whole / max(self.measured):6.2f}  "
            f"{'yes' if self.is_equal else 'NO'}"
        )

    @property
    def off(self) -> float:
        """The largest difference of a share from what was measured, as a part of that."""
        pairs = zip(shares(self.estimated), shares(self.measured), strict=True)
        return max(abs(one - other) / other for one, other in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(prog="partitions", description=__doc__)
    parser.add_argument("networks", nargs="+", choices=NETWORKS, metavar="NETWORK")
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--strategy", choices=STRATEGIES[1:4], default="balance")
    parser.add_argument("--numerics", default="exact", help="default: exact")
    parser.add_argument("--rounds", type=int, default=20, help="default: 20")
    parser.add_argument("--requests", type=int, help="through a host, at a time")
    arguments = parser.parse_args()
    options = CompileOptions(threads=1, numerics=arguments.numerics)
    if arguments.requests is not None:
        for name in arguments.networks:
            for count in arguments.parts:
                print(pipelined(name, count, arguments.requests, arguments.rounds))
        return 0
    print(HEAD)
    rows: list[Row] = []
    for name in arguments.networks:
        for count in arguments.parts:
            row = measure(name, count, arguments.strategy, options, arguments.rounds)
            print(row, flush=True)
            rows.append(row)
    return 0 if all(row.is_equal for row in rows) else 1


def measure(
    name: str, count: int, strategy: str, options: CompileOptions, rounds: int
) -> Row:
    """Divide a network, run its parts, and compare with the whole."""
    model = NETWORKS[name]()
    module = load(model)
    run_phases(module, GRAPH, options)
    inputs = make_inputs(model)
    whole = compile_module(clone_module(module), options)
    plan = divided(module, count, strategy, options)
    estimated = [estimate(part, options) for part in plan.parts]
    values, calls = run_parts(plan, inputs, options)
    expected = whole.run(inputs)
    seconds, *measured = fastest([partial(whole.run, inputs), *calls], rounds)
    crossing = sum(
        values[value].nbytes
        for part in plan.parts
        for value in part.takes
        if value not in plan.inputs
    )
    is_equal = all(np.array_equal(values[key], expected[key]) for key in expected)
    return Row(name, strategy, estimated, measured, crossing, seconds, is_equal)


def pipelined(name: str, count: int, requests: int, rounds: int) -> str:
    """The requests a second on one core, and on a core for each of so many parts."""
    network = NETWORKS[name]()
    inputs, model = make_inputs(network), network.SerializeToString()
    cores = [f"cpu@{core}" for core in range(count)]
    with Host(devices=cores[:1]) as one, Host(devices=cores) as several:
        one.add("net", model, threads=1, batching="off")
        several.add("net", model, threads=1, partition="pipeline")

        def call(host: Host) -> None:
            futures = [host.run("net", inputs) for _ in range(requests)]
            for future in futures:
                future.result()

        calls = [partial(call, one), partial(call, several)]
        seconds = fastest(calls, rounds)
    rates = [requests / each for each in seconds]
    return (
        f"{name:14} one core {rates[0]:7.1f}/s, {count} stages {rates[1]:7.1f}/s, "
        f"{rates[1] / rates[0]:.2f} times"
    )


def divided(
    module: ModuleOp, count: int, strategy: str, options: CompileOptions
) -> PartitionPlan:
    """The plan of a network on so many devices; the module is changed."""
    division = Division(parse_devices([f"cpu*{count}"]), strategy)
    divide(module, division, lambda _, op: cost(op, options))
    return split_module(module)


def cost(op, options: CompileOptions) -> float:
    """The estimate of an operation; none for what is no node."""
    return get_backend(options.backend).estimate_cost(op, options) or 0.0


def estimate(part: Part, options: CompileOptions) -> float:
    """The estimated seconds of a part."""
    return sum(cost(op, options) for op in part.module.walk())


def run_parts(
    plan: PartitionPlan, inputs: Mapping[str, Array], options: CompileOptions
) -> tuple[dict[str, Array], list[Call]]:
    """All values by name, and a call of each part."""
    values, calls = {**inputs}, list[Call]()
    for part in plan.parts:
        own = replace(options, backend=part.backend)
        model = compile_module(clone_module(part.module), own)
        taken = {key: values[key] for key in part.takes}
        calls.append(partial(model.run, taken))
        values |= model.run(taken)
    return values, calls


def shares(seconds: Sequence[float]) -> list[float]:
    """Each as a part of the sum."""
    return [one / sum(seconds) for one in seconds]


if __name__ == "__main__":
    sys.exit(run_reporting("partitions", main, debug=False))
