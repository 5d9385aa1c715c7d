"""Where the time of a network goes, kernel call by kernel call.

The network runs as it always does, with a look at the clock around each call on every
thread. A call takes as long as the thread that takes longest; what threads spend between
calls, mostly waiting for each other, is a row of its own. A kernel's specification says
how many operations it stands for (a multiplication and an addition are two, and a fast
algorithm counts as the direct sums that it replaces); bytes are the sizes of the buffers
that a call names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from glow.backends.cpu.program.kernel_table import kernel_table
from glow.backends.cpu.program.program import KernelCall
from glow.backends.cpu.report.traced_function import Nanoseconds, build_traced_function
from glow.backends.pipeline import INSTR
from glow.compiled_model import CompiledModel
from glow.compiler import load, run_phases
from glow.dialects.weight_table import Array
from glow.lowering.target.target_names import runnable_target
from glow.options import CompileOptions
from glow.signature import main_function, signature_of

if TYPE_CHECKING:
    from glow.compiler import Model

SIZES = (
    "batch",
    "rows",
    "columns",
    "depth",
    "channels",
    "in_channels",
    "out_channels",
)
"""What specifications call the sizes that a row should show."""


@dataclass(frozen=True)
class Row:
    """One call of a network, or several of one kernel."""

    label: str
    calls: int
    seconds: float
    """Of the thread that takes longest."""
    work: float
    """Seconds of all threads."""
    operations: int
    bytes: int

    def plus(self, other: Row) -> Row:
        """Both rows as one."""
        return Row(
            self.label,
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.work + other.work,
            self.operations + other.operations,
            self.bytes + other.bytes,
        )


@dataclass(frozen=True)
class KernelProfile:
    """The calls of a network and when each thread began and ended them.

    `times` are nanoseconds [runs, threads, calls, 2].
    """

    calls: Sequence[KernelCall]
    times: Nanoseconds

    @property
    def threads(self) -> int:
        """How many threads ran."""
        return self.times.shape[1]

    @cached_property
    def seconds(self) -> float:
        """The median run, from the first call to the end of the last."""
        if not self.calls:
            return 0.0
        begin, end = self.times[..., 0], self.times[..., 1]
        return float(np.median(end.max((1, 2)) - begin.min((1, 2)))) * 1e-9

    def rows(self) -> list[Row]:
        """One row a call: its median over the runs."""
        spent = self.times[..., 1] - self.times[..., 0]
        longest, all_threads = spent.max(1), spent.sum(1)
        seconds = np.median(longest, 0) * 1e-9
        work = np.median(all_threads, 0) * 1e-9
        return [
            Row(
                describe(call),
                1,
                float(seconds[number]),
                float(work[number]),
                operations_of(call),
                sum(binding.size for binding in call.bindings),
            )
            for number, call in enumerate(self.calls)
        ]

    def table(self, *, grouped: bool = True) -> str:
        """The rows as text, with what is spent between calls and a sum in the end."""
        rows = self.rows()
        return "\n".join(
            _table(grouped_rows(rows) if grouped else rows, self.seconds, self.threads)
        )

    def chrome_trace(self) -> str:
        """The last run as JSON that chrome://tracing and Perfetto read."""
        last = self.times[-1]
        start = int(last.min(initial=np.iinfo(np.int64).max))
        events = [
            {
                "name": call.kernel.label,
                "cat": "kernel",
                "ph": "X",
                "ts": (int(begin) - start) / 1e3,
                "dur": (int(end) - int(begin)) / 1e3,
                "pid": 0,
                "tid": thread,
                "args": {"kernel": describe(call), "operations": operations_of(call)},
            }
            for thread in range(self.threads)
            for call, (begin, end) in zip(self.calls, last[thread], strict=True)
        ]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


class TracedModel:
    """A network that runs as it always does, and can be profiled."""

    def __init__(self, model: Model, options: CompileOptions) -> None:
        """Compiles the model; what is cached is compiled again."""
        module = load(model, options)
        signature = signature_of(main_function(module))
        run_phases(module, INSTR, options)
        self._function, self._calls = build_traced_function(
            module,
            runnable_target(options.target),
            options.threads,
            kernel_table(options.backend),
        )
        self.model = CompiledModel(signature, self._function)

    def profile(self, inputs: Mapping[str, Array], runs: int) -> KernelProfile:
        """The times of `runs` runs, after one that warms the caches."""
        self.model.run(inputs)
        times: list[Nanoseconds] = []
        for _ in range(runs):
            self.model.run(inputs)
            times.append(self._function.times())
        most = max(map(len, times))  # Fewer while another call had the thread pool.
        return KernelProfile(
            self._calls, np.stack([run for run in times if len(run) == most])
        )


def spec_of(call: KernelCall) -> object:
    """What the kernel was built from, without the label before it."""
    spec = call.kernel.spec
    return cast("tuple[object, ...]", spec)[-1] if isinstance(spec, tuple) else spec


def operations_of(call: KernelCall) -> int:
    """The operations of a call, as far as its specification tells."""
    return getattr(spec_of(call), "operations", 0)


def describe(call: KernelCall) -> str:
    """The kernel with the sizes that its specification names."""
    digest = call.kernel.name.rpartition("_")[2][:4]
    return f"{call.kernel.label} {digest} {shape_text(spec_of(call))}".rstrip()


def shape_text(spec: object) -> str:
    """The sizes that a specification, or the one inside it, names."""
    spec = getattr(spec, "planes", getattr(spec, "spec", spec))
    sizes = [str(getattr(spec, name)) for name in SIZES if hasattr(spec, name)]
    kernel, strides, plane = window_of(spec)
    if plane:
        sizes.append(f"{kernel}/{strides} on {plane}")
    return " ".join(sizes).replace(", ", "x")


def window_of(spec: object) -> tuple[object, object, object]:
    """The kernel, strides and plane of a convolution or pool; none of another kernel."""
    window = getattr(spec, "window", None)
    if window is not None:
        return window.kernel, window.strides, window.input
    size = getattr(spec, "kernel", None)
    plane = None if size is None else getattr(spec, "plane", None)
    return getattr(spec, "kernel_plane", (size, size)), (1, 1), plane


def grouped_rows(rows: Sequence[Row]) -> list[Row]:
    """One row for each kernel, the longest first."""
    groups: dict[str, Row] = {}
    for row in rows:
        known = groups.get(row.label)
        groups[row.label] = row if known is None else known.plus(row)
    return sorted(groups.values(), key=lambda row: -row.seconds)


def _table(rows: Sequence[Row], total: float, threads: int) -> Iterator[str]:
    yield (
        f"{'us':>10} {'share':>6} {'calls':>5} {'GF/s':>7} {'GB/s':>6} {'busy':>5}  kernel"
    )
    everything = Row("all", 0, 0.0, 0.0, 0, 0)
    for row in rows:
        everything = everything.plus(row)
    between = max(0.0, total - everything.seconds)
    last = everything.plus(Row("", 0, between, 0.0, 0, 0))
    for row in (*rows, Row("between calls", 0, between, 0.0, 0, 0), last):
        seconds = max(row.seconds, 1e-9)
        yield (
            f"{row.seconds * 1e6:10.1f} {row.seconds / (last.seconds or 1.0):6.1%} "
            f"{row.calls:5d} {row.operations / seconds / 1e9:7.1f} "
            f"{row.bytes / seconds / 1e9:6.1f} "
            f"{row.work / seconds / threads:5.0%}  {row.label}"
        )
