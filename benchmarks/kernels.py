"""Prints what each convolution and matrix product of a network reaches of the machine's peak.

python benchmarks/kernels.py resnet50.onnx --threads 1

One row for each distinct shape, the longest first: all kernels of an algorithm together, such
as the phases of a Winograd convolution. GFLOP/s count the direct sums, so that a fast algorithm
may exceed the peak, which is that of independent multiply-adds in the same run. `glow run
--profile` prints all kernels.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx

from benchmarks.networks import make_inputs
from glow.backends.cpu.report.kernel_profile import (
    KernelProfile,
    Row,
    TracedModel,
    grouped_rows,
    shape_text,
    spec_of,
)
from glow.diagnostics import run_reporting
from glow.dialects.numerics import NUMERICS
from glow.lowering.target.target import Target, host_target
from glow.options import CompileOptions
from glow.runtime.buffers import aligned_empty
from glow.runtime.linking.library import Library
from glow.runtime.native_code import compile_object
from glow.runtime.threads.thread_pool import thread_pool

ACCUMULATORS = 12
"""Enough to hide the latency of a multiply-add, and fewer than any CPU's registers."""
ITERATIONS = 2_000_000
PEAK_ROUNDS = 5


def main() -> int:
    arguments = parse_arguments()
    model = TracedModel(
        arguments.model,
        CompileOptions(threads=arguments.threads, numerics=arguments.numerics),
    )
    inputs = make_inputs(onnx.load(arguments.model))
    peak = Peak(host_target(), arguments.threads)
    before = peak.measure()
    profile = model.profile(inputs, arguments.rounds)
    gigaflops = max(before, peak.measure()) / 1e9
    print("\n".join(table(profile, gigaflops)))
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="kernels", description="Measure the kernels of a network."
    )
    parser.add_argument("model", type=Path, help="an ONNX file")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--rounds", type=int, default=20, help="default: 20")
    parser.add_argument("--numerics", choices=NUMERICS, default="default")
    return parser.parse_args()


def table(profile: KernelProfile, gigaflops: float) -> Iterator[str]:
    """The lines of the table; what computes no products is one row."""
    yield f"{'us':>10} {'share':>6} {'calls':>5} {'GF/s':>7} {'% peak':>6}  kernel and shape"
    shapes = shape_rows(profile)
    products = [row for row in shapes if row.operations]
    others = [row for row in shapes if not row.operations]
    spent = sum(row.seconds for row in shapes)
    for row in (*products, total("other kernels", others)):
        yield line(row, spent, gigaflops)
    yield line(total("all", shapes), spent, gigaflops)
    yield f"the peak is {gigaflops:.1f} GFLOP/s on {profile.threads} threads"


def shape_rows(profile: KernelProfile) -> list[Row]:
    """One row for each algorithm and shape, the longest first."""
    rows = [
        replace(row, label=shape_label(call.kernel.label, spec_of(call)))
        for call, row in zip(profile.calls, profile.rows(), strict=True)
    ]
    return grouped_rows(rows)


def shape_label(kernel: str, spec: object) -> str:
    """The algorithm, without the phase that a kernel of its has, and the shape."""
    return f"{kernel.split('_')[0] if hasattr(spec, 'spec') else kernel} {shape_text(spec)}"


def total(label: str, rows: Sequence[Row]) -> Row:
    """The sum of rows."""
    everything = Row(label, 0, 0.0, 0.0, 0, 0)
    for row in rows:
        everything = everything.plus(row)
    return everything


def line(row: Row, spent: float, gigaflops: float) -> str:
    """A line of the table."""
    rate = row.operations / max(row.seconds, 1e-9) / 1e9
    return (
        f"{row.seconds * 1e6:10.1f} {row.seconds / spent:6.1%} {row.calls:5d} {rate:7.1f} "
        f"{rate / gigaflops:6.0%}  {row.label}"
    )


class Peak:
    """A loop of independent multiply-adds that runs on all threads."""

    def __init__(self, target: Target, threads: int) -> None:
        imports = {"glow_barrier": thread_pool().barrier_address}
        image = compile_object(peak_code(target), target)
        self._library = Library([image], ["peak"], imports)
        self._result = aligned_empty(threads * target.vector_bytes)
        self._threads = threads
        self._operations = 2 * ITERATIONS * ACCUMULATORS * target.lanes(32) * threads

    def measure(self) -> float:
        """Operations a second, the best of a few rounds."""
        address = self._library.address("peak")
        pointer = self._result.ctypes.data
        best = np.inf
        for _ in range(PEAK_ROUNDS):
            start = time.perf_counter()
            thread_pool().run(address, 0, 0, pointer, self._threads)
            best = min(best, time.perf_counter() - start)
        return self._operations / best


def peak_code(target: Target) -> str:
    """The LLVM IR of the loop, with the arguments that the thread pool passes."""
    lanes = target.lanes(32)
    vector, names = f"<{lanes} x float>", range(ACCUMULATORS)
    start = "zeroinitializer"
    phis = [
        f"  %a{k} = phi {vector} [ {start}, %entry ], [ %b{k}, %loop ]" for k in names
    ]
    steps = [multiply_add(f"b{k}", f"%a{k}", vector, target) for k in names]
    sums = [
        f"  %s{k + 1} = fadd {vector} {f'%s{k}' if k else '%b0'}, %b{k}" for k in names
    ]
    body = "\n".join([*phis, *steps])
    return f"""
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})
define void @peak(ptr %c, ptr %m, ptr %results, i64 %thread, i64 %threads, ptr %b) nounwind
    "prefer-vector-width"="{8 * target.vector_bytes}" {{
entry:
  %place = getelementptr {vector}, ptr %results, i64 %thread
  %x = load {vector}, ptr %place
  br label %loop
loop:
  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add i64 %turn, 1
  %more = icmp ult i64 %next, {ITERATIONS}
  br i1 %more, label %loop, label %done
done:
{chr(10).join(sums)}
  store {vector} %s{ACCUMULATORS}, ptr %place
  ret void
}}
"""


def multiply_add(result: str, sum_: str, vector: str, target: Target) -> str:
    """One step of an accumulator."""
    if not target.fma_instruction:
        product = f"  %p{result} = fmul {vector} %x, %x"
        return f"{product}\n  %{result} = fadd {vector} %p{result}, {sum_}"
    function = f"@llvm.fma.v{target.lanes(32)}f32"
    return f"  %{result} = call {vector} {function}({vector} %x, {vector} %x, {vector} {sum_})"


if __name__ == "__main__":
    sys.exit(run_reporting("kernels", main, debug=False))
