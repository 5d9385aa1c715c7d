"""Measures whole training steps of Glow against PyTorch, eager and compiled.

python benchmarks/training.py --networks digits_mlp,resnet18 --threads 1,2 --json results.json

A step is the forward and the backward graph and the update by Adam, on one batch of 32; the
networks are those of `networks/trained.py`, and all runtimes start from the same weights. PyTorch
updates with its fused optimizer. Each runtime is a process of its own on the same cores, and
they take turns (`rounds.py`). Losses of the first steps are compared: where they differ, the
exit status is 1. The table goes to stdout as Markdown, progress to stderr.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.compare import counts, names, new_file, positive
from benchmarks.networks.trained import TRAINED_NETWORKS, make_batch
from benchmarks.peers.client import Server, ServerError, cores_of
from benchmarks.record import Run, commit, machine
from benchmarks.result import relative_spread
from benchmarks.rounds import by_state, play
from glow.runtime.calibration.cross_core import cross_core_latency

RUNTIMES = {
    "glow": "glow_training",
    "torch": "torch_training",
    "torch.compile": "torch_compiled_training",
}
PEERS = tuple(RUNTIMES)[1:]
LOSS_BUDGET = 1e-3
"""Most difference of the first losses: Adam makes whole steps of gradients near zero, too."""

COMPILE = """
import json, sys, time
import glow
from glow.training.program import step_module
start = time.perf_counter()
if sys.argv[2] == "step":
    glow.TrainStep(sys.argv[1], loss="cross_entropy", optimizer=glow.Adam(1e-3), threads=1)
else:
    glow.compile(sys.argv[1], threads=1)
seconds = time.perf_counter() - start
sizes = {}
if sys.argv[2] == "step":
    from glow.compiler import lower_to
    from glow.dialects.function_attributes import ARENA_BYTES, LIVE_BYTES
    from glow.signature import main_function
    module = step_module(sys.argv[1], "cross_entropy", glow.Adam(1e-3))
    lower_to(module, "instr")
    found = main_function(module).attributes
    sizes = {"arena": found[ARENA_BYTES].value.data, "bound": found[LIVE_BYTES].value.data}
print(json.dumps({"seconds": seconds, **sizes}))
"""


@dataclass(frozen=True)
class Compilation:
    """What a step costs before it runs, and the memory of its plan."""

    step_seconds: float
    inference_seconds: float
    arena_bytes: int
    bound_bytes: int


@dataclass(frozen=True)
class Row:
    """One network at one number of threads."""

    network: str
    threads: int
    state: str | None
    """Whether the cores shared an L3 (`rounds.py`)."""
    milliseconds: dict[str, float]
    """The median step by runtime."""
    spread: dict[str, float]
    peak_megabytes: dict[str, float]
    """Of the process while it takes steps."""
    losses: dict[str, list[float]]
    """Of the first steps."""
    load_seconds: dict[str, float]
    compilation: Compilation | None

    def ratio(self, peers: Sequence[str]) -> float | None:
        """Returns the time of the best of some peers over ours; None without any."""
        theirs = [
            self.milliseconds[name] for name in peers if name in self.milliseconds
        ]
        return min(theirs) / self.milliseconds["glow"] if theirs else None

    @property
    def difference(self) -> float:
        """Returns the largest difference of our first losses from a peer's, over the largest."""
        ours = np.array(self.losses["glow"])
        theirs = [np.array(self.losses[name]) for name in PEERS if name in self.losses]
        return max(
            (float(np.max(np.abs(ours - t)) / t.max()) for t in theirs), default=0.0
        )


def main() -> int:
    arguments = parse_arguments()
    run = Run(commit(), " ".join(["python", *sys.argv]), machine())
    results: dict[str, list[Row]] = {}
    failed = False
    for network in arguments.networks:
        try:
            results[network] = list(measure(network, arguments))
        except ServerError as error:
            print(f"training: {network}: {error}", file=sys.stderr)
            failed = True
            continue
        for row in results[network]:
            if not row.difference <= LOSS_BUDGET:
                text = f"training: error: {network}: losses are {row.losses}"
                print(text, file=sys.stderr)
                failed = True
        if arguments.json:
            write(arguments.json, run, results)
    print("\n".join(table([row for rows in results.values() for row in rows])))
    return int(failed)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="training", description="Measure training steps against PyTorch."
    )
    add = parser.add_argument
    known = list(TRAINED_NETWORKS)
    add("--networks", type=names(known), default=known, metavar="A,B")
    add("--threads", type=counts, default=[1, 2], metavar="N,M")
    add("--peers", type=names(PEERS), default=list(PEERS), metavar="A,B")
    add("--rounds", type=positive, default=5, metavar="N", help="turns of each runtime")
    add("--no-compilation", action="store_true", help="do not time compilations")
    add("--json", type=new_file, metavar="FILE", help="write all results here")
    arguments = parser.parse_args()
    if arguments.peers and find_spec("torch") is None:
        print("training: torch is not installed, left out", file=sys.stderr)
        arguments.peers = []
    return arguments


def measure(network: str, arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of a network; raises ServerError when a runtime fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = TRAINED_NETWORKS[network]()
        path = folder / f"{network}.onnx"
        path.write_bytes(model.SerializeToString())
        x, y = make_batch(model)
        np.savez(folder / "inputs.npz", x=x, y=y)
        compilation = None if arguments.no_compilation else compile_times(path)
        for threads in arguments.threads:
            yield from rows(path, threads, arguments, compilation)


def rows(
    path: Path,
    threads: int,
    arguments: argparse.Namespace,
    compilation: Compilation | None,
) -> Iterator[Row]:
    """Yield the rows at one number of threads, all runtimes alive at once."""
    environment = {"GLOW_CACHE_DIR": str(path.parent / "cache")}
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        for name in ("glow", *arguments.peers):
            print(f"{path.stem}, {threads} threads: {name} loads", file=sys.stderr)
            files = path, path.parent / "inputs.npz"
            server = Server(RUNTIMES[name], *files, threads, environment)
            servers[name] = stack.enter_context(server)
        cores = cores_of(threads)
        played = play(servers, arguments.rounds, lambda: cross_core_latency(cores))
        saved = {n: s.save(path.parent / "losses.npz") for n, s in servers.items()}
    for group in by_state(played):
        yield Row(
            path.stem,
            threads,
            group.state,
            {name: median(times) for name, times in group.times.items()},
            {name: relative_spread(times) for name, times in group.times.items()},
            {name: peak for name, (_, peak) in saved.items()},
            {name: arrays[0].tolist() for name, (arrays, _) in saved.items()},
            {name: server.load_seconds for name, server in servers.items()},
            compilation,
        )


def compile_times(path: Path) -> Compilation:
    """Returns what compiling the step and the inference take, each without a cache."""
    step, inference = (compiled(path, what) for what in ("step", "inference"))
    seconds = step["seconds"], inference["seconds"]
    return Compilation(*seconds, step["arena"], step["bound"])


def compiled(path: Path, what: str) -> Mapping[str, Any]:
    """Returns the seconds of one compilation; raises ServerError where it fails."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "GLOW_CACHE_DIR": cache}
        command = [sys.executable, "-c", COMPILE, str(path), what]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False
        )
    if done.returncode != 0:
        raise ServerError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout)


def write(path: Path, run: Run, results: Mapping[str, Sequence[Row]]) -> None:
    """Write all results in one step."""
    networks = {name: [asdict(row) for row in rows] for name, rows in results.items()}
    temporary = path.with_name(path.name + ".new")
    content = {"run": asdict(run), "networks": networks}
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the results as a Markdown table."""
    yield (
        "| network | threads | glow ms | torch ms | torch.compile ms | × eager "
        "| × better of both | MB | torch MB | torch.compile MB | arena / bound "
        "| compile s, step / inference | losses differ by |"
    )
    yield "|---|" + "--:|" * 12
    for row in rows:
        threads = f"{row.threads} {row.state}" if row.state else str(row.threads)
        cells = [row.network, threads]
        cells += [time_of(row, name) for name in RUNTIMES]
        ratios = row.ratio(["torch"]), row.ratio(PEERS)
        cells += ["–" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        peaks = row.peak_megabytes
        cells += [f"{peaks[name]:.0f}" if name in peaks else "–" for name in RUNTIMES]
        cells += [*compilation_cells(row.compilation), f"{row.difference:.0e}"]
        yield f"| {' | '.join(cells)} |"


def time_of(row: Row, name: str) -> str:
    """Returns a runtime's median and its spread."""
    if name not in row.milliseconds:
        return "–"
    return f"{row.milliseconds[name]:.3f} ±{row.spread[name]:.0%}"


def compilation_cells(compilation: Compilation | None) -> tuple[str, str]:
    if compilation is None:
        return "–", "–"
    arena, bound = compilation.arena_bytes, compilation.bound_bytes
    step, inference = compilation.step_seconds, compilation.inference_seconds
    times = f"{step:.1f} / {inference:.1f} = {step / inference:.1f}"
    return f"{arena / 1e6:.2f} / {bound / 1e6:.2f} = {arena / bound:.3f}", times


if __name__ == "__main__":
    sys.exit(main())
