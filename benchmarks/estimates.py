"""Prints how far estimates of the time of nodes are from what their kernels take.

python benchmarks/estimates.py resnet50 mobilenet_v2 bert_base --rounds 20

Kernels are timed on one thread, and belong to the node of the graph that they are named after.
Who divides a network between devices needs the time of either half: for each cut of the graph,
in its order, both halves are compared with what they take, and the worst factor of those is
printed whose halves have a tenth of the time at least. `total` is the estimate over the time of
the whole network; a common factor of all estimates does not move the best cut, so that `share`
says how much the estimated part of a half differs from the measured one at most.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from benchmarks.networks import NETWORKS, make_inputs
from glow.backends.backend import get_backend
from glow.backends.cpu.report.kernel_profile import KernelProfile
from glow.backends.pipeline import GRAPH, INSTR
from glow.compiler import load, run_phases
from glow.diagnostics import run_reporting
from glow.dialects.node import node_name
from glow.options import CompileOptions
from glow.signature import main_function

SMALLEST_HALF = 0.1
HEAD = (
    f"{'network':16} {'nodes':>5} {'us':>9} {'total':>6} {'half':>6} {'share':>6}  at"
)


@dataclass(frozen=True)
class Part:
    """A node, or several of one name: what it should take and what it takes, in seconds."""

    name: str
    estimated: float
    measured: float


@dataclass(frozen=True)
class Worst:
    """The cuts of a network where estimates are furthest from the times."""

    half: float
    """The larger of estimate over time and time over estimate of a half, at most."""
    share: float
    """The difference of the parts of the whole before a cut, at most."""
    name: str
    """Of the node before the cut with the worst half."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="estimates", description=__doc__)
    parser.add_argument("networks", nargs="+", choices=NETWORKS, metavar="NETWORK")
    parser.add_argument("--rounds", type=int, default=20, help="default: 20")
    arguments = parser.parse_args()
    print(HEAD)
    for name in arguments.networks:
        print(line(name, parts_of(name, arguments.rounds)), flush=True)
    return 0


def line(name: str, parts: Sequence[Part]) -> str:
    """A row of the table."""
    worst = worst_cut(parts)
    estimated, measured = (
        sum(getattr(part, kind) for part in parts) for kind in ("estimated", "measured")
    )
    return (
        f"{name:16} {len(parts):5d} {measured * 1e6:9.1f} {estimated / measured:6.2f} "
        f"{worst.half:6.2f} {worst.share:6.1%}  {worst.name}"
    )


def worst_cut(parts: Sequence[Part]) -> Worst:
    """The worst of all cuts; both halves take a tenth of the time at least."""
    estimated = np.cumsum([part.estimated for part in parts])
    measured = np.cumsum([part.measured for part in parts])
    before, took = estimated / estimated[-1], measured / measured[-1]
    inside = (took >= SMALLEST_HALF) & (took <= 1 - SMALLEST_HALF)
    if not inside.any():
        return Worst(1.0, 0.0, "nowhere")
    halves = np.stack(
        [
            estimated[inside] / measured[inside],
            (estimated[-1] - estimated[inside]) / (measured[-1] - measured[inside]),
        ]
    )
    factors = np.maximum(halves, 1 / halves).max(0)
    names = [
        part.name for part, is_inside in zip(parts, inside, strict=True) if is_inside
    ]
    share = np.abs(before - took)[inside].max()
    return Worst(float(factors.max()), float(share), names[int(factors.argmax())])


def parts_of(network: str, rounds: int) -> list[Part]:
    """The nodes of a network in the order of its graph, on one thread."""
    options = CompileOptions(threads=1)
    model = NETWORKS[network]()
    module = load(model)
    run_phases(module, GRAPH, options)
    return compare(estimates(module, options), times(module, options, model, rounds))


def estimates(module: ModuleOp, options: CompileOptions) -> list[tuple[str, float]]:
    """The name and the estimate of each node."""
    backend = get_backend(options.backend)
    nodes = main_function(module).body.block.ops
    found = [(op, backend.estimate_cost(op, options)) for op in nodes]
    return [(node_name(op) or op.name, cost) for op, cost in found if cost is not None]


def times(module, options, model, rounds) -> list[tuple[str, float]]:
    """The name and the seconds of each instruction, in the order in which they run."""
    inspection = get_backend(options.backend).inspection()
    profile = inspection.profiled(module, options).profile(make_inputs(model), rounds)
    assert isinstance(profile, KernelProfile)
    spent = profile.times[..., 1] - profile.times[..., 0]
    fastest = np.stack([np.zeros_like(spent[:1]), spent.min(0, keepdims=True)], -1)
    profile = replace(profile, times=fastest)
    run_phases(module, INSTR, options)
    costs = inspection.costs(module, options.target, profile)
    return [
        (node_name(op) or op.name, cost.seconds or 0.0) for op, cost in costs.items()
    ]


def compare(
    estimated: Sequence[tuple[str, float]], measured: Sequence[tuple[str, float]]
) -> list[Part]:
    """The parts by name; times of other names belong to the node whose time is before."""
    expected: dict[str, float] = {}
    for name, seconds in estimated:
        expected[name] = expected.get(name, 0.0) + seconds
    spent, last = dict.fromkeys(expected, 0.0), estimated[0][0]
    for name, seconds in measured:
        last = name if name in spent else last
        spent[last] += seconds
    return [Part(name, expected[name], spent[name]) for name in expected]


if __name__ == "__main__":
    sys.exit(run_reporting("estimates", main, debug=False))
