"""Prints whether tuned networks are faster than untuned ones, and that none is slower.

python -m benchmarks.tuning.tuned --budget 12 --json tuned.json
python -m benchmarks.tuning.tuned --networks tcn,minilm --threads 2

Each network is tuned by `glow tune` in a cache folder of its own. Then it is compiled with that
folder and with an empty one, several times each, since where memory lies makes a difference, too,
and all of them run in alternating blocks. `ratio` is the median of tuned over untuned time, beside
its standard error; networks for which nothing was kept are the same code twice, and say what the
machine's noise is. The exit status is 1 where one is slower by more than a hundredth, beyond two
standard errors. The same command with the same file goes on with the networks that it lacks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.networks import NETWORKS, WIDER_NETWORKS, make_inputs
from benchmarks.networks.embedded import NETWORKS as EMBEDDED_NETWORKS
from glow.compiler import compile_model
from glow.diagnostics import run_reporting
from glow.dialects.errors import UsageError
from glow.options import CompileOptions
from glow.tools.machine.tune_command import Settings, tune
from glow.tuning.choices import CHOSEN, FOLDER, refresh
from glow.tuning.compare import Verdict, judge

KNOWN = {**NETWORKS, **WIDER_NETWORKS, **EMBEDDED_NETWORKS}
USUAL = (
    "resnet50", "mobilenet_v2", "squeezenet", "shufflenet", "inception_v1", "densenet121",
    "minilm", "lstm", "regnet", "resnext", "vit", "swin", "t5_encoder", "gpt2_decode",
    "tcn", "wavenet", "text_cnn", "mlp_batch256", "keyword_spotting", "anomaly_detector",
)  # fmt: skip
"""Twenty networks, from 20 microseconds to a tenth of a second."""
CANDIDATES = 24
COMPILATIONS = 3
BLOCK_SECONDS = 0.005
FEWEST_PAIRS, MOST_PAIRS = 4, 100
"""Of blocks, for each compilation."""
SECONDS = 6.0
"""For all pairs of a network, but for the fewest."""
SLOWER, NOISES = 1.01, 2.0
HEAD = f"{'network':18} {'ms':>8} {'kept':>4} {'tuning':>7} {'ratio':>6} {'noise':>6}"

Run = Callable[[], float]


@dataclass(frozen=True)
class Row:
    """What tuning did to a network."""

    network: str
    milliseconds: float
    """Untuned."""
    kept: int
    """Records of kernels."""
    tuning_seconds: float
    ratio: float
    noise: float

    @property
    def is_slower(self) -> bool:
        """Whether it is slower by over a hundredth, beyond what noise explains."""
        return self.ratio - NOISES * self.noise > SLOWER

    def line(self) -> str:
        """A row of the table."""
        word = "  SLOWER" if self.is_slower else ""
        return (
            f"{self.network:18} {self.milliseconds:8.3f} {self.kept:4} "
            f"{self.tuning_seconds:5.1f} s {self.ratio:6.3f} {self.noise:6.3f}{word}"
        )


@contextlib.contextmanager
def cache_folder(folder: Path) -> Generator[None]:
    """Compile with another cache folder, and the choices in it."""
    before = os.environ.get("GLOW_CACHE_DIR")
    os.environ["GLOW_CACHE_DIR"] = str(folder)
    refresh()
    try:
        yield
    finally:
        del os.environ["GLOW_CACHE_DIR"]
        if before is not None:
            os.environ["GLOW_CACHE_DIR"] = before
        refresh()


def measure(name: str, budget: float, threads: int) -> Row:
    """Tune a network, and compare it with the untuned one."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        model, path = KNOWN[name](), folder / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        inputs = make_inputs(model)
        options = CompileOptions(threads=threads)
        folders = folder / "untuned", folder / "tuned"
        start = time.perf_counter()
        with cache_folder(folders[1]), contextlib.redirect_stdout(sys.stderr):
            tune(path, options, Settings((), budget, CANDIDATES, resume=False))
        seconds = time.perf_counter() - start
        clock = time.thread_time if threads == 1 else time.perf_counter

        def compiled(cache: Path) -> Run:
            with cache_folder(cache):
                function = compile_model(path, options)
            return block(lambda: function.run(inputs), clock)

        both = [[compiled(each) for each in folders] for _ in range(COMPILATIONS)]
        verdict, untuned = compare(both)
        chosen = folders[1] / FOLDER / CHOSEN
        kept = len(chosen.read_bytes().splitlines()) if chosen.exists() else 0
    return Row(name, untuned * 1e3, kept, seconds, verdict.ratio, verdict.noise)


def block(run: Callable[[], object], clock: Callable[[], float]) -> Run:
    """The seconds of a run, over a block of several of a small network."""
    run()
    start = clock()
    run()
    runs = max(1, round(BLOCK_SECONDS / max(clock() - start, 1e-6)))

    def timed() -> float:
        start = clock()
        for _ in range(runs):
            run()
        return (clock() - start) / runs

    return timed


def compare(compilations: Sequence[Sequence[Run]]) -> tuple[Verdict, float]:
    """The second of each over the first, in alternating runs; the median seconds of the first."""
    ratios: list[float] = []
    untuned: list[float] = []
    end = time.perf_counter() + SECONDS
    for number in range(MOST_PAIRS):
        if number >= FEWEST_PAIRS and time.perf_counter() > end:
            break
        for first, second in compilations:
            if number % 2:
                after, before = second(), first()
            else:
                before, after = first(), second()
            ratios.append(after / before)
            untuned.append(before)
    return judge(ratios), statistics.median(untuned)


def read(path: Path | None, settings: object) -> dict[str, Row]:
    """The rows of a file that the same command has written; raises UsageError for another's."""
    if path is None or not path.exists():
        return {}
    content = json.loads(path.read_text())
    if content["settings"] != settings:
        raise UsageError(f"{path} is of another budget or number of threads")
    return {row["network"]: Row(**row) for row in content["rows"]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tuned", description=__doc__)
    parser.add_argument("--networks", default=",".join(USUAL), metavar="A,B")
    parser.add_argument("--budget", type=float, default=12.0, help="seconds each (12)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="go on with this")
    arguments = parser.parse_args()
    wanted = arguments.networks.split(",")
    if unknown := [name for name in wanted if name not in KNOWN]:
        raise UsageError(f"unknown: {', '.join(unknown)}; known are {', '.join(KNOWN)}")
    settings = {"budget": arguments.budget, "threads": arguments.threads}
    rows = read(arguments.json, settings)
    print(HEAD)
    for name in wanted:
        if name not in rows:
            rows[name] = measure(name, arguments.budget, arguments.threads)
            if arguments.json:
                values = [asdict(row) for row in rows.values()]
                text = json.dumps({"settings": settings, "rows": values}, indent=1)
                arguments.json.write_text(text + "\n")
        print(rows[name].line(), flush=True)
    chosen = [rows[name] for name in wanted]
    mean = statistics.geometric_mean(row.ratio for row in chosen)
    worst = max(row.ratio for row in chosen)
    print(f"{len(chosen)} networks: geometric mean {mean:.3f}, worst {worst:.3f}")
    return int(any(row.is_slower for row in chosen))


if __name__ == "__main__":
    sys.exit(run_reporting("tuned", main, debug=False))
