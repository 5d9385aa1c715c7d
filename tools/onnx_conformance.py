"""`python -m glow.tools.onnx_conformance`: ONNX's own tests of backends, and what is lost.

Runs every test that the installed `onnx` carries on the CPU and on the interpreter, prints
a table by operator, and compares with the record in `test/onnx_conformance.txt`, which names
each test that does not pass with the reason. Exits with 1 when a test fails that the record
does not name; `--update` writes the record and the table of `docs/onnx.md` anew.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from glow.tools.conformance.cases import SUITES, Case
from glow.tools.conformance.outcomes import Outcome, run_case
from glow.tools.conformance.page import write_page

BACKENDS = ("cpu", "interpreter")
PART = 16
"""The cases that a process takes at once."""

Record = dict[tuple[str, str], str]
"""Why a case does not pass, by backend and case."""


@cache
def cases(suite: str) -> list[Case]:
    """The cases of a suite, made once a process."""
    return list(SUITES[suite]())


def chosen(suites: Iterable[str], pattern: str) -> list[Case]:
    """The cases of suites whose names contain what the pattern says."""
    return [
        case
        for suite in suites
        for case in cases(suite)
        if re.search(pattern, case.name)
    ]


def run_part(work: tuple[str, list[tuple[str, int]]]) -> list[Outcome]:
    """The outcomes of some cases, named by suite and number, on a backend."""
    backend, numbers = work
    return [run_case(cases(suite)[number], backend) for suite, number in numbers]


def run_cases(some: Sequence[Case], backend: str, jobs: int) -> list[Outcome]:
    """The outcomes on a backend, in the order of the cases."""
    if jobs == 1:
        return [run_case(case, backend) for case in some]
    places = {
        case.key: (suite, number)
        for suite in {case.suite for case in some}
        for number, case in enumerate(cases(suite))
    }
    numbers = [places[case.key] for case in some]
    parts = [
        (backend, numbers[start : start + PART])
        for start in range(0, len(numbers), PART)
    ]
    # Forked processes have the cases already, which take seconds to make.
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        return [outcome for part in pool.map(run_part, parts) for outcome in part]


def read_record(path: Path) -> Record:
    """The cases that are known not to pass: `BACKEND SUITE/NAME: reason` a line."""
    record: Record = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            case, _, reason = line.partition(": ")
            backend, _, key = case.partition(" ")
            record[backend, key] = reason
    return record


def write_record(path: Path, outcomes: Mapping[str, Iterable[Outcome]]) -> None:
    """Write the cases that do not pass, with their reasons, in order."""
    lines = [
        f"{backend} {outcome.key}: {outcome.kind}: {outcome.reason}"
        for backend, some in outcomes.items()
        for outcome in some
        if outcome.kind != "passed"
    ]
    path.write_text(
        "# ONNX's backend tests that do not pass, by backend, with the reason.\n"
        "# `make conformance` compares with this list; --update writes it.\n"
        + "".join(f"{line}\n" for line in sorted(lines))
    )


def lost(record: Record, backend: str, outcomes: Iterable[Outcome]) -> list[Outcome]:
    """What does not pass though the record does not say so."""
    return [
        outcome
        for outcome in outcomes
        if outcome.kind != "passed" and (backend, outcome.key) not in record
    ]


def table(outcomes: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """Lines with the number of tests that pass, are refused and fail, by operator."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(dict)
    for backend, some in outcomes.items():
        for outcome in some:
            by_kind = counts[outcome.operator].setdefault(backend, Counter())
            by_kind[outcome.kind] += 1
    heads = "".join(f"{name + ': passed refused failed':>34}" for name in outcomes)
    lines = [f"{'operator':<32}{heads}"]
    for operator in sorted(counts):
        cells = "".join(
            "".join(
                f"{counts[operator].get(backend, Counter())[kind]:>{width}}"
                for kind, width in (("passed", 20), ("refused", 8), ("failed", 6))
            )
            for backend in outcomes
        )
        lines.append(f"{operator:<32}{cells}")
    return lines


def summary(backend: str, outcomes: Iterable[Outcome]) -> list[str]:
    """A line a suite: how many of its tests pass."""
    suites: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        suites[outcome.key.partition("/")[0]][outcome.kind] += 1
    return [
        f"{backend}: {suite}: {count['passed']} of {count.total()} passed, "
        f"{count['refused']} refused, {count['failed']} failed"
        for suite, count in suites.items()
    ]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="onnx_conformance", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="names of tests")
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--record", type=Path, default=Path("test/onnx_conformance.txt")
    )
    parser.add_argument("--page", type=Path, default=Path("docs/onnx.md"))
    parser.add_argument("--update", action="store_true", help="write the record anew")
    return parser.parse_args()


def main() -> int:
    """Run the chosen tests; 1 where one is lost."""
    arguments = options()
    started = time.monotonic()
    some = chosen(arguments.suites, arguments.pattern)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"GLOW_CACHE_DIR": folder, "GLOW_MODEL_CACHE_MB": "0"}
        outcomes = {
            backend: run_cases(some, backend, arguments.jobs)
            for backend in arguments.backends
        }
    print("\n".join(table(outcomes)), end="\n\n")
    for backend, found in outcomes.items():
        print("\n".join(summary(backend, found)))
    print(f"{len(some)} tests in {time.monotonic() - started:.0f} s")
    if arguments.update:
        write_record(arguments.record, outcomes)
        write_page(arguments.page, cases("node"), read_record(arguments.record))
        return 0
    return report_lost(arguments.record, outcomes)


def report_lost(path: Path, outcomes: Mapping[str, Sequence[Outcome]]) -> int:
    """Print what differs from the record; 1 where a test is lost."""
    record, failures = read_record(path), 0
    for backend, found in outcomes.items():
        for outcome in lost(record, backend, found):
            print(f"lost: {backend} {outcome.key}: {outcome.kind}: {outcome.reason}")
            failures += 1
        gained = sum(
            outcome.kind == "passed" and (backend, outcome.key) in record
            for outcome in found
        )
        if gained:
            print(f"{backend}: {gained} recorded tests pass now: --update the record")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
