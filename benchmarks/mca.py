"""Prints what LLVM's pipeline simulator makes of inner loops, for CPUs that are not here.

python benchmarks/mca.py --networks resnet50,mobilenet_v2,minilm

The convolutions and products of networks are compiled for each core family, and the inner loop of
each kernel, the densest in multiply-adds, goes through `llvm-mca`: an issue queue, the ports
and latencies that LLVM's scheduling model of that CPU has, and a first cache that always has the
data. A row is a CPU: of so many loops the least and the median share of the peak, the loops below
85 %, and which is worst. A loop that is slow on one family alone points at a tile that does not
fit it. The peak is the simulator's own, of multiply-adds between registers, as its models are of
some CPUs not what was measured: Ice Lake and Sapphire Rapids have one pipe of 512 bits there, and
the Zen models (5 has that of 4) take a broadcast from memory for a shuffle.

`llvm-mca` comes with LLVM's packages (Debian: `llvm-22`); `--tool` names another one.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from onnx import ModelProto

from benchmarks.networks import NETWORKS, WIDER_NETWORKS, make_inputs
from glow.backends.cpu.report.kernel_profile import TracedModel
from glow.compiler import lower
from glow.diagnostics import run_reporting
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model
from glow.lowering.target.target import Target, host_target
from glow.options import CompileOptions

CPUS = {
    "x86_64-linux-gnu": (
        "cascadelake", "icelake-server", "sapphirerapids", "znver3", "znver4", "znver5",
    ),
    "aarch64-linux-gnu": ("neoverse-n1", "neoverse-v1"),
}  # fmt: skip
"""By the names that LLVM has for them."""

DENSE = ("conv", "matmul", "batch_matmul", "winograd", "strassen")
"""What names of kernels begin with whose inner loops are mostly multiply-adds."""

GOAL = 0.85
"""Of the peak."""

FEW = 4
"""Multiply-adds of an inner loop that is no tile."""

CHAINS = 12
"""Sums of the loop that shows the peak: as many as the slowest multiply-adds need."""

ITERATIONS = 200
ROUNDS = 20
MULTIPLY_ADD = re.compile(r"\s+(?:vfn?m(?:add|sub)\d+ps|fml[as])\s")
WIDTHS = {"z": 64, "y": 32, "x": 16}


@dataclass(frozen=True)
class Loop:
    """The instructions of an inner loop, and how many of them multiply and add vectors."""

    kernel: str
    lines: tuple[str, ...]
    multiply_adds: int

    @property
    def vector_bytes(self) -> int:
        """The width of its multiply-adds."""
        line = next(one for one in self.lines if MULTIPLY_ADD.match(one))
        found = re.search(r"%([xyz])mm", line)
        return WIDTHS[found[1]] if found else 16


def assembly_of(model: bytes, options: CompileOptions) -> str:
    """The code of a network."""
    text = lower(import_model(model), "asm", options)
    assert isinstance(text, str)
    return text


def inner_loops(assembly: str) -> Iterator[Loop]:
    """The loop of each dense kernel that has most multiply-adds."""
    for kernel, text in functions(assembly).items():
        if kernel.startswith(DENSE):
            loops = [one for one in loops_of(kernel, text) if one.multiply_adds >= FEW]
            if loops:
                yield max(loops, key=lambda one: one.multiply_adds / len(one.lines))


def functions(assembly: str) -> Mapping[str, Sequence[str]]:
    """The lines of each function by its name, without directives and comments."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in assembly.splitlines():
        if match := re.match(r"([A-Za-z_]\w*):", line):
            lines = found.setdefault(match[1], [])
        elif re.match(r"\.L\w+:|\s+[a-z]", line):
            lines.append(re.split(r"\s*(?:#|//)", line, maxsplit=1)[0])
    return found


def loops_of(kernel: str, lines: Sequence[str]) -> Iterator[Loop]:
    """Blocks that end with a jump to their own beginning."""
    label, block = "", list[str]()
    for line in lines:
        if line.startswith(".L"):
            label, block = line.rstrip(":"), []
            continue
        block.append(line)
        if label and re.match(rf"\s+(?:j\w+|b\.\w+|cbn?z|tbn?z)\s.*{label}$", line):
            count = sum(bool(MULTIPLY_ADD.match(one)) for one in block)
            yield Loop(kernel, tuple(block), count)


def simulate(tool: str, target: Target, loops: Sequence[Loop]) -> list[float]:
    """The cycles of an iteration of each loop."""
    comment = "#" if "x86" in target.triple else "//"
    text = "\n".join(
        f"{comment} LLVM-MCA-BEGIN {number}\n" + "\n".join(loop.lines) + f"\n{comment} LLVM-MCA-END"
        for number, loop in enumerate(loops)
    )  # fmt: skip
    command = [tool, f"-mtriple={target.triple}", f"-mcpu={target.cpu}", "--json"]
    command += [f"-iterations={ITERATIONS}", "-skip-unsupported-instructions=any"]
    done = subprocess.run(command, input=text + "\n", text=True, capture_output=True)
    if done.returncode:
        raise GlowError(f"{tool} failed: {done.stderr.strip().splitlines()[0]}")
    regions = json.loads(done.stdout)["CodeRegions"]
    return [one["SummaryView"]["TotalCycles"] / ITERATIONS for one in regions]


def peak_loop(target: Target, vector_bytes: int) -> Loop:
    """Multiply-adds of registers that do not wait for each other."""
    letter = next((one for one, size in WIDTHS.items() if size == vector_bytes), "x")
    line = f"\tvfmadd231ps\t%{letter}mm30, %{letter}mm31, %{letter}mm{{}}"
    if vector_bytes < 64:  # Whose CPU may have but sixteen registers.
        line = line.replace("30", "14").replace("31,", "15,")
    if "x86" not in target.triple:
        line = "\tfmla\tv{}.4s, v30.4s, v31.4s"
    lines = tuple(line.format(number) for number in range(CHAINS))
    return Loop("peak", lines, CHAINS)


def shares(tool: str, target: Target, loops: Sequence[Loop]) -> list[float]:
    """What each loop reaches of the rate of such multiply-adds alone, of the same width."""
    widths = sorted({loop.vector_bytes for loop in loops})
    peaks = [peak_loop(target, width) for width in widths]
    cycles = simulate(tool, target, [*peaks, *loops])
    rates = dict(zip(widths, cycles, strict=False))
    return [
        loop.multiply_adds / each / (CHAINS / rates[loop.vector_bytes])
        for loop, each in zip(loops, cycles[len(peaks) :], strict=True)
    ]


def rates_here(model: ModelProto, numerics: str) -> Mapping[str, float]:
    """Operations a second of each kernel on this machine, by its name."""
    traced = TracedModel(model, CompileOptions(threads=1, numerics=numerics))
    profile = traced.profile(make_inputs(model), ROUNDS)
    spent, done = defaultdict[str, float](float), defaultdict[str, int](int)
    for call, each in zip(profile.calls, profile.rows(), strict=True):
        spent[call.kernel.name] += each.seconds
        done[call.kernel.name] += each.operations
    return {name: done[name] / seconds for name, seconds in spent.items()}


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's: 1 where both have the same order."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def simulated(
    tool: str, cpu: str, models: Mapping[str, ModelProto], numerics: str
) -> list[tuple[str, Loop, float]]:
    """The network, the inner loop and its share of the peak, of each dense kernel."""
    target = Target.from_string(cpu)
    found: list[tuple[str, Loop, float]] = []
    for name, model in models.items():
        how = CompileOptions(target=cpu, numerics=numerics)
        loops = list(inner_loops(assembly_of(model.SerializeToString(), how)))
        reached = shares(tool, target, loops)
        found += zip([name] * len(loops), loops, reached, strict=True)
    return found


def row(cpu: str, found: Sequence[tuple[str, Loop, float]]) -> str:
    """A line of the table."""
    low = [one for one in found if one[2] < GOAL]
    network, loop, least = min(found, key=lambda one: one[2])
    middle = median(share for _, _, share in found)
    return (
        f"{cpu:15} {len(found):5d} {least:6.0%} {middle:6.0%} {len(low):9d}  "
        f"{network} {loop.kernel}"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="mca", description=__doc__.split("\n")[0])
    parser.add_argument("--networks", default="resnet50,mobilenet_v2,minilm")
    parser.add_argument("--cpus", default=",".join(sum(CPUS.values(), ())))
    parser.add_argument("--numerics", choices=("exact", "default"), default="exact")
    parser.add_argument("--tool", default="llvm-mca-22", help="default: llvm-mca-22")
    parser.add_argument("-v", "--verbose", action="store_true", help="all loops below")
    parser.add_argument(
        "--measure", action="store_true", help="compare with times on this machine"
    )
    options = parser.parse_args()
    if shutil.which(options.tool) is None:
        raise GlowError(f"no program '{options.tool}'", hint="install LLVM's tools")
    known = {**NETWORKS, **WIDER_NETWORKS}
    models = {name: known[name]() for name in options.networks.split(",")}
    print(
        f"{'cpu':15} {'loops':>5} {'least':>6} {'median':>6} {'below 85%':>9}  the least"
    )
    for cpu in options.cpus.split(","):
        found = simulated(options.tool, cpu, models, options.numerics)
        print(row(cpu, found), flush=True)
        if options.verbose:
            for name, loop, share in found:
                if share < GOAL:
                    print(f"  {share:6.0%} {name} {loop.kernel}: {loop.multiply_adds}")
    if options.measure:
        host = host_target().cpu
        for name, model in models.items():
            found = simulated(options.tool, host, {name: model}, options.numerics)
            rates = rates_here(model, options.numerics)
            known_here = [one for one in found if one[1].kernel in rates]
            correlation = rank_correlation(
                [share for _, _, share in known_here],
                [rates[loop.kernel] for _, loop, _ in known_here],
            )
            print(f"{name} on {host}: rank correlation {correlation:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(run_reporting("mca", main, debug=False))
