"""Prints where the time of a network goes, kernel call by kernel call.

python benchmarks/profile_kernels.py resnet50.onnx --group

Runs the network's own calls one by one, in order and on one thread, so that each finds the
caches as the calls before left them. The time of a call is its least over all rounds, less
what calling takes. A kernel's specification says how many operations it does (a multiplication
and an addition are two); bytes are the sizes of the buffers that a call names.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from glow.backends.backend import get_backend
from glow.backends.cpu.native_code import build_objects
from glow.backends.cpu.native_function import gather_constants
from glow.compiler import load, run_passes, stage_passes
from glow.dialects.numerics import NUMERICS
from glow.lowering.instr_to_loops.instr_to_loops import build_program
from glow.lowering.instr_to_loops.program import (
    KernelCall,
    Loop,
    Place,
    Program,
    Segment,
    Step,
)
from glow.lowering.target import Target, host_target
from glow.runtime.buffers import aligned_empty
from glow.runtime.library import Library
from glow.runtime.native_code import workers
from glow.runtime.object_cache import ObjectCache
from glow.signature import main_function

Trips = dict[int, int]
"""The index of each loop that is running, by the loop's number."""


@dataclass
class Row:
    """One call of the network, or several of one kernel."""

    label: str
    calls: int
    seconds: float
    operations: int
    bytes: int

    def plus(self, other: Row) -> Row:
        """Both rows as one."""
        return Row(
            self.label,
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.operations + other.operations,
            self.bytes + other.bytes,
        )


def compile_program(path: Path, target: Target, numerics: str = "default") -> Program:
    """The kernel calls of an ONNX file."""
    module = load(path)
    passes = stage_passes(get_backend("cpu"), "host", numerics)
    for stage in ("graph", "lowered", "instr"):
        run_passes(module, passes[stage])
    return build_program(main_function(module), target)


def unrolled(
    steps: Sequence[Step], trips: Trips | None = None
) -> Iterator[tuple[KernelCall, Trips]]:
    """All calls in the order of execution, with the loop indices of each."""
    trips = trips or {}
    for step in steps:
        if isinstance(step, Loop):
            for index in range(step.lower, step.upper, step.step):
                yield from unrolled(step.body, {**trips, step.number: index})
        else:
            yield step, trips


class Network:
    """The kernels of a program in native code, with memory to run them on."""

    def __init__(self, program: Program, target: Target) -> None:
        objects = build_objects(program, target, ObjectCache())
        requests = program.requests()
        kernels = {name: objects[name] for name in requests}
        self.library = Library(list(kernels.values()), list(kernels))
        self.slices = {
            name: request.build(name, target).slices
            for name, request in requests.items()
        }
        with workers() as pool:
            constants = gather_constants(program, pool)
        self.memory: Mapping[Segment, np.ndarray] = {
            "constants": constants,
            "mutables": aligned_empty(program.sizes["mutables"]),
            "activations": aligned_empty(program.sizes["activations"]),
        }
        self.memory["mutables"][:] = 0

    def address(self, place: Place, trips: Trips) -> int:
        """Where a place lies in a turn of the loops around it."""
        moved = sum(trips[loop] * stride for loop, stride in place.moves)
        return self.memory[place.segment].ctypes.data + place.offset + moved

    def bound(self, call: KernelCall, trips: Trips) -> tuple[Callable[[], None], ...]:
        """The call, and the same call of no slices."""
        addresses = [self.address(place, trips) for place in call.places]
        integers = [ctypes.c_int64, ctypes.c_int64]
        types = [ctypes.c_void_p] * len(addresses) + integers
        name = call.kernel.name
        function = ctypes.CFUNCTYPE(None, *types)(self.library.address(name))
        slices = self.slices[name]
        return (
            lambda: function(*addresses, 0, slices),
            lambda: function(*addresses, 0, 0),
        )


def profile(program: Program, network: Network, rounds: int) -> list[Row]:
    """One row a call."""
    calls = list(unrolled(program.steps))
    bound = [network.bound(call, trips) for call, trips in calls]
    times = np.full((rounds, len(calls)), np.inf)
    empty = np.full(len(calls), np.inf)
    for turn in range(rounds):
        for number, (work, nothing) in enumerate(bound):
            start = time.perf_counter()
            nothing()
            middle = time.perf_counter()
            work()
            times[turn, number] = time.perf_counter() - middle
            empty[number] = min(empty[number], middle - start)
    seconds = np.maximum(times.min(0) - empty, 0.0)
    return [
        Row(
            describe(call),
            1,
            float(seconds[number]),
            getattr(_spec(call), "operations", 0),
            sum(place.size for place in call.places),
        )
        for number, (call, _) in enumerate(calls)
    ]


def _spec(call: KernelCall) -> object:
    """What the kernel was built from, without the label before it."""
    spec = call.kernel.spec
    return cast("tuple[object, ...]", spec)[-1] if isinstance(spec, tuple) else spec


SIZES = ("batch", "rows", "columns", "depth", "in_channels", "out_channels")


def describe(call: KernelCall) -> str:
    """The kernel with the sizes that its specification names."""
    spec = _spec(call)
    sizes = [str(getattr(spec, name)) for name in SIZES if hasattr(spec, name)]
    window = getattr(spec, "window", None)
    if window is not None:
        sizes.append(f"{window.kernel}/{window.strides} on {window.input}")
    digest = call.kernel.name.rpartition("_")[2][:4]
    return " ".join([call.kernel.label, digest, *sizes]).replace(", ", "x")


def grouped(rows: Sequence[Row]) -> list[Row]:
    """One row for each kernel, the longest first."""
    groups: dict[str, Row] = {}
    for row in rows:
        known = groups.get(row.label)
        groups[row.label] = row if known is None else known.plus(row)
    return sorted(groups.values(), key=lambda row: -row.seconds)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the printed table, with a sum in the end."""
    total = sum(row.seconds for row in rows) or 1.0
    yield f"{'us':>10} {'share':>6} {'calls':>5} {'GF/s':>7} {'GB/s':>6}  kernel"
    everything = Row("all", 0, 0.0, 0, 0)
    for row in rows:
        everything = everything.plus(row)
    for row in (*rows, everything):
        seconds = max(row.seconds, 1e-9)
        yield (
            f"{row.seconds * 1e6:10.1f} {row.seconds / total:6.1%} {row.calls:5d} "
            f"{row.operations / seconds / 1e9:7.1f} {row.bytes / seconds / 1e9:6.1f}"
            f"  {row.label}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Profile the kernels of a network.")
    parser.add_argument("model", type=Path, help="an ONNX file")
    parser.add_argument("--rounds", type=int, default=20, help="default: 20")
    parser.add_argument("--group", action="store_true", help="one row for each kernel")
    parser.add_argument("--numerics", choices=NUMERICS, default="default")
    arguments = parser.parse_args()
    target = host_target()
    program = compile_program(arguments.model, target, arguments.numerics)
    rows = profile(program, Network(program, target), arguments.rounds)
    for line in table(grouped(rows) if arguments.group else rows):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
