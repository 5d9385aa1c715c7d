"""Where the time of a network goes: each of its kernels alone, and calls beside them.

A kernel is launched some times in a row, so that what it reads is in the L2 where it fits; the time
of the whole graph, in which it may not be, is printed beside the sum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

import glow
from benchmarks.devices.nvidia.files import Choice, Files, Work, read_work, write_work
from benchmarks.devices.nvidia.networks import compiled, function_of
from benchmarks.devices.nvidia.turns import first_line
from benchmarks.devices.nvidia.units import Measure, Report, Unit
from glow.backends.cuda.cuda_function import KernelTime
from glow.compiled_model import CompiledModel

LAUNCHES, REPEATS = 10, 5
PRINTED = 25
BAR = 15e-6
"""What a call that computes nothing may take."""
CALLS = 2000
PHASES = ("enter", "begin_upload", "replay", "begin_download", "synchronize")
"""What a call asks of its device, in order."""


@dataclass(frozen=True)
class Group:
    """The calls of one kernel, or of one kind of kernels, with what each has to do."""

    times: Sequence[KernelTime]
    works: Sequence[Work]
    """None of them where that is not known."""

    @property
    def seconds(self) -> float:
        """Of all calls."""
        return sum(found.seconds for found in self.times)

    @property
    def model_seconds(self) -> float:
        """The model's of all calls."""
        return sum(work.seconds for work in self.works)

    @property
    def rates(self) -> tuple[float, float]:
        """Bytes and floating-point operations in a second."""
        moved = sum(work.bytes for work in self.works)
        operations = 2 * sum(work.multiply_adds for work in self.works)
        return moved / self.seconds, operations / self.seconds

    def line(self, total: float, name: str) -> str:
        """Its share, time, rates and what the model says."""
        count, (moved, operations) = len(self.times), self.rates
        text = f"  {100 * self.seconds / total:5.1f} % {1e6 * self.seconds:9.1f} us"
        text += f" {count:4} x {1e6 * self.seconds / count:8.1f} us  {name:26}"
        if not self.works:
            return text
        return (
            f"{text} model {1e6 * self.model_seconds:9.1f} us"
            f" ({self.seconds / self.model_seconds:5.1f} x)"
            f" {moved / 1e9:6.0f} GB/s {operations / 1e12:6.1f} TFLOP/s"
        )


def grouped(
    times: Sequence[KernelTime],
    works: Sequence[Work],
    name_of: Callable[[KernelTime], str],
) -> list[tuple[str, Group]]:
    """Calls by a name, those that take most first."""
    found: dict[str, list[int]] = {}
    for number, one in enumerate(times):
        found.setdefault(name_of(one), []).append(number)
    groups = [
        (name, Group([times[n] for n in numbers], [works[n] for n in numbers if works]))
        for name, numbers in found.items()
    ]
    return sorted(groups, key=lambda item: -item[1].seconds)


def kind_of(found: KernelTime) -> str:
    """The name of a kernel without its digest."""
    return found.kernel.rpartition("_")[0]


def print_kernels(
    report: Report, choice: Choice, times: Sequence[KernelTime], works: Sequence[Work]
) -> None:
    """Sums by kind, and the kernels that take most; the file has each call."""
    if [found.kernel for found in times] != [work.kernel for work in works]:
        works = []
    total = sum(found.seconds for found in times)
    for label, group in grouped(times, works, kind_of):
        facts = {"seconds": group.seconds, "model_seconds": group.model_seconds}
        text, count = group.line(total, label), len(group.times)
        report.row("kind", text, name=choice.name, label=label, count=count, **facts)
    for kernel, group in grouped(times, works, lambda one: one.kernel)[:PRINTED]:
        first, entry = group.times[0], group.times[0].entry
        grid, block = ("x".join(map(str, s)) for s in (entry.grid, entry.block))
        how = f"{group.works[0].how}; " if group.works else ""
        text = f"{group.line(total, kernel)}  {grid} of {block}; {how}{first.node}"
        report.row("group", text, name=choice.name, kernel=kernel)
    for number, found in enumerate(times):
        work = works[number] if works else None
        report.silent(
            "kernel",
            found.kernel,
            name=choice.name,
            number=number,
            kernel=found.kernel,
            node=found.node,
            grid=list(found.entry.grid),
            block=list(found.entry.block),
            dynamic_bytes=found.entry.dynamic_bytes,
            seconds=found.seconds,
            share=found.seconds / total,
            bytes=work.bytes if work else None,
            multiply_adds=work.multiply_adds if work else None,
            model_seconds=work.seconds if work else None,
            how=work.how if work else None,
        )


def profile_unit(files: Files, choice: Choice) -> Unit:
    """The kernels of a network, each alone."""

    def prepare(report: Report) -> Measure:
        files.write()
        works: list[Work] = []
        try:
            if not files.work(choice).exists():
                write_work(files, choice)
            works = read_work(files, choice)
        except Exception as error:  # Times are printed all the same.
            report.problem(f"profile {choice.name}: work", first_line(error))
        model = compiled(files, choice)
        inputs, _ = files.read()

        def measure(report: Report) -> None:
            model.run(inputs)
            function = function_of(model)
            whole = median(function.device_seconds(20))
            times = list(function.kernel_seconds(LAUNCHES, REPEATS))
            alone = sum(found.seconds for found in times)
            text = (
                f"profile {choice.name}: {len(times)} kernels, the graph takes "
                f"{1e6 * whole:.1f} us, its kernels alone {1e6 * alone:.1f} us"
            )
            facts = {"kernels": len(times), "seconds": whole, "alone": alone}
            report.row("profile", text, name=choice.name, **facts)
            print_kernels(report, choice, times, works)

        return measure

    return Unit(f"profile {choice.name}", prepare)


def addition() -> ModelProto:
    """`y = x + x` on float32[4]."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"
    )
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "", [x], [y]
    )
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def mean_seconds(call: Callable[[], object]) -> float:
    """The least mean of some rounds of calls."""
    found: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(CALLS // 5):
            call()
        found.append((time.perf_counter() - started) / (CALLS // 5))
    return min(found)


def watched(device: Any) -> Mapping[str, list[float]]:
    """The seconds of each function of a device that a call asks for, from now on."""
    found: dict[str, list[float]] = {name: [] for name in PHASES}
    for name in PHASES:
        function, kept = getattr(device, name), found[name]

        def timed(
            *arguments: Any,
            function: Callable[..., Any] = function,
            kept: list[float] = kept,
        ) -> Any:
            started = time.perf_counter()
            result = function(*arguments)
            kept.append(time.perf_counter() - started)
            return result

        setattr(device, name, timed)
    return found


def overhead_unit(gpu: str) -> Unit:
    """What a call takes that computes next to nothing, and which part of it takes how long."""

    def prepare(report: Report) -> Measure:
        model = glow.compile(addition(), backend="cuda", target=gpu)
        assert isinstance(model, CompiledModel)
        x = np.arange(4, dtype=np.float32)

        def measure(report: Report) -> None:
            if not np.array_equal(np.asarray(model(x)), x + x):
                words = "the sum is WRONG; it is measured all the same"
                report.problem("overhead", words)
            function = function_of(model)
            whole = mean_seconds(lambda: model(x))
            inner = mean_seconds(lambda: function.run([x]))
            replay = median(function.device_seconds(200))
            parts = watched(function.cuda_device)
            for _ in range(CALLS):
                model(x)
            means = {name: sum(found) / CALLS for name, found in parts.items() if found}
            words = ", ".join(f"{n} {1e6 * s:.2f}" for n, s in means.items())
            python = inner - sum(means.values())
            text = (
                f"overhead: a call takes {1e6 * whole:.2f} us (bar {1e6 * BAR:.0f}), "
                f"without checks of arguments {1e6 * inner:.2f}; of these {words}, "
                f"the rest of Python {1e6 * python:.2f}; replays in a row take "
                f"{1e6 * replay:.2f} each"
            )
            facts = {"seconds": whole, "inner": inner, "replay_seconds": replay}
            phases = {f"host_{name}": value for name, value in means.items()}
            report.row("overhead", text, is_met=whole <= BAR, **facts, **phases)

        return measure

    return Unit("overhead", prepare)
