"""Prints how long a compilation without a cache takes, and which part of it the passes are.

python benchmarks/compile_time.py resnet50.onnx bert_base.onnx
python benchmarks/compile_time.py --int8 resnet50.onnx
python benchmarks/compile_time.py --nodes 1000,4000,16000

Each compilation is in a process of its own with an empty cache. `graph` are the passes on the
network's graph (the optimizer in the narrow sense), `lowering` those from there to the
backend's nodes, `memory` those on instructions and buffers; the rest is imports, reading,
kernels, and code generation, which runs beside the others where there is more than one core.

With `--int8` networks are compiled in 8 bits too, calibrated on random inputs, beside f32.

With `--nodes` the networks are synthetic, of that many nodes (`benchmarks/networks/scaling.py`):
a compiler whose every step is linear takes the same time for each node of all sizes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

COMPILE = """
import json, sys, time
start = time.perf_counter()
import glow
from glow.passes.rewriting.trace import listening
with listening() as trace:
    glow.compile(sys.argv[1], threads=int(sys.argv[2]), quantize=sys.argv[3] == "int8")
total = time.perf_counter() - start
print(json.dumps({"total": total, "passes": trace.seconds, "cpu": time.process_time()}))
"""


class CompileError(Exception):
    """A network that did not compile; carries one line."""


@dataclass(frozen=True)
class Times:
    """Seconds of one compilation, with the imports."""

    total: float
    cpu: float
    """Processor time of all threads."""
    phases: Mapping[str, float]

    @property
    def share(self) -> float:
        """Returns the part of the time that all passes take."""
        return sum(self.phases.values()) / self.total


def measure(model: Path, threads: int, precision: str = "f32") -> Times:
    """Returns the times of a model; raises CompileError where it does not compile.

    `int8`: quantized while it is compiled.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "GLOW_CACHE_DIR": cache}
        arguments = [str(model), str(threads), precision]
        command = [sys.executable, "-W", "ignore", "-c", COMPILE, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False
        )
    if done.returncode != 0:
        raise CompileError((done.stderr.strip().splitlines() or ["no message"])[-1])
    answer = json.loads(done.stdout)
    return Times(answer["total"], answer["cpu"], by_phase(answer["passes"]))


def by_phase(passes: Mapping[str, float]) -> dict[str, float]:
    """Returns the seconds of each phase; of a pass of two phases the first has all."""
    from glow.backends.backend import get_backend
    from glow.options import CompileOptions

    options = CompileOptions()
    pipeline = get_backend(options.backend).pipeline(options)
    phase_of = {
        one.name: phase
        for name, phase in (
            ("instr", "memory"),
            ("lowered", "lowering"),
            ("graph", "graph"),
        )
        for one in pipeline[name].passes
    }
    phases = dict.fromkeys(("graph", "lowering", "memory"), 0.0)
    for name, seconds in passes.items():
        phases[phase_of.get(name, "graph")] += seconds
    return phases


def optimizer_share(model: Path, threads: int) -> float:
    """Returns the part of a cold compilation that all passes take."""
    return measure(model, threads).share


def lines(rows: Sequence[tuple[str, Times]]) -> Iterator[str]:
    """Yield the table as Markdown."""
    yield "| network | seconds | processor s | graph | lowering | memory | all passes |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, times in rows:
        shares = " | ".join(f"{s / times.total:.0%}" for s in times.phases.values())
        yield (
            f"| {name} | {times.total:.2f} | {times.cpu:.2f} | {shares} "
            f"| {times.share:.0%} |"
        )


def synthetic(counts: Sequence[int], folder: Path) -> Iterator[Path]:
    """Yield the files of all synthetic networks of the given numbers of nodes."""
    from benchmarks.networks.scaling import SCALING_NETWORKS

    for name, build in SCALING_NETWORKS.items():
        for count in counts:
            path = folder / f"{name}, {count} nodes.onnx"
            path.write_bytes(build(count).SerializeToString())
            yield path


def main() -> int:
    parser = argparse.ArgumentParser(prog="compile_time", description=__doc__)
    parser.add_argument("models", type=Path, nargs="*", help="ONNX files")
    parser.add_argument("--nodes", default="", metavar="N,M", help="synthetic networks")
    parser.add_argument("--int8", action="store_true", help="in 8 bits too")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.nodes.split(",") if count]
    with tempfile.TemporaryDirectory() as name:
        models = [*arguments.models, *synthetic(counts, Path(name))]
        try:
            rows = [
                (
                    f"{path.stem}, {precision}",
                    measure(path, arguments.threads, precision),
                )
                for path in models
                for precision in ("f32", "int8")[: 1 + arguments.int8]
            ]
        except CompileError as error:
            print(f"compile_time: {error}", file=sys.stderr)
            return 1
    for line in lines(rows):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
