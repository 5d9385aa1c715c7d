"""Prints Glow beside TVM where both tune a network for the same time.

python -m benchmarks.tuning.tvm --python ../compilers/bin/python --seconds 120 --threads 1

`--python` is an interpreter with TVM (`benchmarks/README.md` says what it needs). For each network
TVM's MetaSchedule searches for so many seconds (`benchmarks/peers/tune_tvm.py`), then `glow tune`
does, each in a folder of its own. Then both run on the same inputs, threads and cores, each in a
process of its own, in turns (`benchmarks/rounds.py`), beside Glow untuned. `ratio` is TVM's time
over Glow's tuned, `error` the largest difference between them over the largest value: above 1e-4 it
is an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.networks import NETWORKS, WIDER_NETWORKS, make_inputs
from benchmarks.peers.client import Server, ServerError, cores_of
from benchmarks.result import largest_error
from benchmarks.rounds import play
from glow.diagnostics import run_reporting
from glow.dialects.errors import GlowError, UsageError
from glow.runtime.calibration.cross_core import cross_core_latency

KNOWN = {**NETWORKS, **WIDER_NETWORKS}
USUAL = "resnet50,mobilenet_v2,minilm"
PEERS = Path(__file__).parents[1] / "peers"
NEEDED = (
    "import tvm, psutil, xgboost; from tvm import relax; from tvm.s_tir import "
    "meta_schedule; from tvm.relax.frontend.onnx import from_onnx; "
    "tvm.get_global_func('target.llvm_get_system_cpu')()"
)
TRIALS = 16
"""Of a kernel: a round of TVM's usual 64 can take the two minutes alone."""
LARGEST_ERROR = 1e-4
HEAD = (
    f"{'network':16} {'threads':>7} {'glow ms':>8} {'untuned':>8} {'tvm ms':>8} "
    f"{'ratio':>6} {'kernels':>7} {'error':>8}"
)


@dataclass(frozen=True)
class Row:
    """Milliseconds after equal time."""

    network: str
    threads: int
    times: Mapping[str, float]
    """By runtime."""
    tuned: int
    """Kernels that TVM has found schedules for."""
    error: float

    def line(self) -> str:
        """A row of the table."""
        ours, untuned, theirs = (
            self.times[name] for name in ("glow", "untuned", "tvm")
        )
        return (
            f"{self.network:16} {self.threads:7} {ours:8.2f} {untuned:8.2f} {theirs:8.2f} "
            f"{theirs / ours:6.2f} {self.tuned:7} {self.error:8.1e}"
        )


def check(python: str) -> None:
    """Raise GlowError where an interpreter has no TVM that tunes ONNX files for this CPU."""
    hint = "benchmarks/README.md says what to install"
    try:
        done = subprocess.run([python, "-c", NEEDED], capture_output=True, text=True)
    except OSError as error:
        raise GlowError(f"{python}: {error.strerror}", hint=hint) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise GlowError(f"{python} has no TVM that tunes: {lines[-1]}", hint=hint)


def tune(folder: Path, seconds: int, threads: int, python: str) -> int:
    """Both search, one behind the other; the kernels that TVM has schedules for."""
    model, database = folder / "model.onnx", folder / "tvm"
    theirs = [python, str(PEERS / "tune_tvm.py"), str(model), "-o", str(database)]
    theirs += ["--seconds", str(seconds), "--threads", str(threads)]
    theirs += ["--trials", str(TRIALS)]
    ours = [sys.executable, "-m", "glow.tools.glow", "tune", str(model)]
    ours += ["--budget", f"{seconds}s", "--threads", str(threads)]
    run(theirs, {})
    run(ours, environment(folder, "glow"))
    records = database / "database_tuning_record.json"
    if not records.exists() or not records.read_bytes().strip():
        return 0
    lines = records.read_text().splitlines()
    return len({line.partition(",")[0] for line in lines})


def environment(folder: Path, name: str) -> Mapping[str, str]:
    """The folder of what Glow compiles, and of TVM's schedules."""
    return {"GLOW_CACHE_DIR": str(folder / name), "TVM_DATABASE": str(folder / "tvm")}


def run(command: list[str], more: Mapping[str, str]) -> None:
    """Run a search, whose progress goes to stderr; raises GlowError where it fails."""
    done = subprocess.run(command, stdout=sys.stderr, env={**os.environ, **more})
    if done.returncode:
        raise GlowError(
            f"{Path(command[1]).name} ended with {done.returncode}: see above"
        )


def measure(name: str, seconds: int, threads: int, python: str, rounds: int) -> Row:
    """Tune a network by both, and run them in turns."""
    with tempfile.TemporaryDirectory() as text, ExitStack() as stack:
        folder = Path(text)
        model = KNOWN[name]()
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        np.savez(folder / "inputs.npz", allow_pickle=False, **make_inputs(model))
        found = tune(folder, seconds, threads, python)

        def start(column: str) -> Server:
            runtime = "tvm" if column == "tvm" else "glow"
            server = Server(
                runtime,
                folder / "model.onnx",
                folder / "inputs.npz",
                threads,
                environment(folder, column),
                python if column == "tvm" else sys.executable,
            )
            return stack.enter_context(server)

        servers = {column: start(column) for column in ("glow", "untuned", "tvm")}
        cores = cores_of(threads)
        played = play(servers, rounds, lambda: cross_core_latency(cores))
        times = {
            column: median(time for each in played for time in each.times[column])
            for column in servers
        }
        ours, theirs = (
            servers[column].save(folder / f"{column}.npz")[0]
            for column in ("glow", "tvm")
        )
    return Row(name, threads, times, found, largest_error(ours, theirs))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tvm", description=__doc__)
    parser.add_argument("--networks", default=USUAL, metavar="A,B")
    parser.add_argument("--python", default=sys.executable, help="has TVM")
    parser.add_argument("--seconds", type=int, default=120, help="of each search (120)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    wanted = arguments.networks.split(",")
    if unknown := [name for name in wanted if name not in KNOWN]:
        raise UsageError(f"unknown: {', '.join(unknown)}; known are {', '.join(KNOWN)}")
    check(arguments.python)
    print(HEAD)
    is_right = True
    for name in wanted:
        try:
            row = measure(
                name,
                arguments.seconds,
                arguments.threads,
                arguments.python,
                arguments.rounds,
            )
        except ServerError as error:
            raise GlowError(f"{name}: {error}") from None
        is_right &= row.error <= LARGEST_ERROR
        print(row.line(), flush=True)
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(run_reporting("tvm", main, debug=False))
