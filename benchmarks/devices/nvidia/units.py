"""What is measured, each in a process of its own: one that fails or hangs takes no other along.

A kernel that reads outside of its memory, or waits forever, makes the whole process useless for
the GPU. So each unit is a child: all prepare at the same time (compile, upload, capture), on as
many cores as there are, and then measure one after the other while nobody else works. What a child
has measured it prints and writes at once.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from benchmarks.devices.nvidia.turns import first_line

FORK = multiprocessing.get_context("fork")
"""Children have what the parent has imported; it must not have started the driver."""

TRACE = "GLOW_BENCHMARK_TRACE"
"""Set in the environment to see where errors come from."""

READY, GO = "ready", "go"

Fact = str | float | int | bool | None | Sequence[object]


@dataclass(frozen=True)
class Report:
    """Where rows go: each is a line of words, and one of JSON in a file."""

    file: Path | None = None

    def row(self, kind: str, text: str, **facts: Fact) -> None:
        """Print a row, and append its facts to the file."""
        print(text, flush=True)
        self.silent(kind, text, **facts)

    def silent(self, kind: str, text: str, **facts: Fact) -> None:
        """Append a row to the file alone."""
        if self.file is not None:
            line = json.dumps({"kind": kind, "text": text.strip(), **facts})
            with self.file.open("a") as stream:
                stream.write(f"{line}\n")

    def problem(self, name: str, words: str) -> None:
        """Print what was not measured, and why."""
        self.row("problem", f"  {name}: {words}", name=name)


Measure = Callable[[Report], None]


@dataclass(frozen=True)
class Unit:
    """Something to measure: `prepare` gives the function that does it."""

    name: str
    prepare: Callable[[Report], Measure | None]


@dataclass
class Child:
    """A unit in its process."""

    unit: Unit
    process: ForkProcess
    pipe: Any
    started: float = field(default_factory=time.perf_counter)
    is_ready: bool = False

    def end(self) -> None:
        """Stop it, whatever it does."""
        if self.process.is_alive() and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(10)
        self.pipe.close()


def run_child(unit: Unit, report: Report, pipe: Any) -> None:
    """Prepare, wait for the turn, measure."""
    try:
        measure = unit.prepare(report)
        pipe.send(READY)
        if measure is not None and pipe.recv() == GO:
            measure(report)
    except BaseException as error:  # Exits of peers, too.
        report.problem(unit.name, first_line(error))
        if os.environ.get(TRACE):
            traceback.print_exc()
    finally:
        # Neither threads of peers nor what they do at their end may keep it.
        os._exit(0)


def start(unit: Unit, report: Report) -> Child:
    """A child for a unit, which begins to prepare."""
    ours, its = FORK.Pipe()
    process = FORK.Process(target=run_child, args=(unit, report, its))
    process.start()
    its.close()
    return Child(unit, process, ours)


def wait_ready(children: Sequence[Child], end: float) -> None:
    """Wait until all are ready or gone, or until a moment."""
    waiting = list(children)
    while waiting and time.perf_counter() < end:
        for child in list(waiting):
            try:
                if child.pipe.poll(0.02):
                    child.is_ready = child.pipe.recv() == READY
                    waiting.remove(child)
            except (EOFError, OSError):
                waiting.remove(child)


def finish(child: Child, report: Report, seconds: float) -> None:
    """Let a child measure; stop it after some seconds."""
    try:
        child.pipe.send(GO)
    except OSError:
        pass  # It had nothing to measure, or said what failed.
    child.process.join(max(seconds, 0.1))
    if child.process.is_alive():
        report.problem(child.unit.name, f"is stopped after {seconds:.0f} s")
    elif child.process.exitcode:
        report.problem(child.unit.name, f"died with {child.process.exitcode}")
    child.end()


@dataclass(frozen=True)
class Limits:
    """How long units may take."""

    end: float
    """When all is over (`time.perf_counter`)."""
    prepare_seconds: float
    measure_seconds: float
    at_once: int
    """How many prepare at the same time."""


def run_units(units: Sequence[Unit], report: Report, limits: Limits) -> None:
    """Prepare and measure units, as many at a time as may prepare at once, in their order."""
    for first in range(0, len(units), limits.at_once):
        children = [start(u, report) for u in units[first : first + limits.at_once]]
        until = min(limits.end, time.perf_counter() + limits.prepare_seconds)
        wait_ready(children, until)
        for child in children:
            wait_ready([] if child.is_ready else [child], time.perf_counter() + 0.05)
            left = limits.end - time.perf_counter()
            if child.is_ready and left > 0:
                finish(child, report, min(limits.measure_seconds, left))
                continue
            if child.process.is_alive():
                passed = time.perf_counter() - child.started
                words = f"is left out: not ready after {passed:.0f} s"
                report.problem(child.unit.name, words)
            elif child.process.exitcode:
                words = f"died with {child.process.exitcode}"
                report.problem(child.unit.name, words)
            child.end()


def ask(unit: Callable[[], Mapping[str, Fact]], seconds: float) -> Mapping[str, Fact]:
    """What a function says in a process of its own; one of `problem` where it fails."""
    ours, its = FORK.Pipe()

    def run() -> None:
        try:
            its.send(unit())
        except BaseException as error:
            its.send({"problem": first_line(error)})
        finally:
            os._exit(0)

    process = FORK.Process(target=run)
    process.start()
    its.close()
    try:
        if ours.poll(seconds):
            return ours.recv()
    except EOFError:
        pass
    if process.is_alive() and process.pid is not None:
        os.kill(process.pid, signal.SIGKILL)
    return {"problem": f"the driver does not answer in {seconds:.0f} s"}
