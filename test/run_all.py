"""Runs the lit suites and pytest, and ends with what was skipped and one line of counts.

Both always run; the exit code is 1 when a test fails, or when a suite does not run at
all. `python test/run_all.py --jobs 2`. `build/reports/skipped.txt` has what was skipped in
one line, for `.ci/run`, which goes on with other checks and ends with it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "reports"
SKIPPED = REPORTS / "skipped.txt"


@dataclass(frozen=True)
class Counts:
    """How the tests of a suite ended; the names of those that were skipped, by reason."""

    passed: int = 0
    failed: int = 0
    skipped: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )


def run_suite(program: str, arguments: list[str]) -> Counts:
    """Run `lit` or `pytest`, which writes a JUnit report; its counts."""
    report = REPORTS / f"{program}.xml"
    report.unlink(missing_ok=True)
    script = Path(sys.executable).with_name(program)
    status = subprocess.run(
        [script, *arguments],
        cwd=ROOT,
        env=environment(),
        check=False,
        stdin=subprocess.DEVNULL,
    ).returncode
    counts = read_report(report)
    # A suite that ends with an error without a failed test did not run as a whole.
    return counts if status == 0 or counts.failed else counts + Counts(failed=1)


def environment() -> dict[str, str]:
    """Ours, but Python keeps bytecode, also where it is told not to, as in containers.

    The suites start hundreds of processes, for each of which to compile our modules anew
    takes half a second.
    """
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def read_report(report: Path) -> Counts:
    """The counts in a JUnit report; none if it was not written."""
    if not report.exists():
        return Counts()
    total = Counts()
    for suite in ElementTree.parse(report).iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = tuple(read_skipped(suite))
        passed = int(suite.get("tests", 0)) - failed - int(suite.get("skipped", 0))
        total += Counts(passed, failed, skipped)
    return total


def read_skipped(suite: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """The reason and the file or module of each test that was skipped."""
    for case in suite.iter("testcase"):
        for skipped in case.iter("skipped"):
            reason = " ".join(skipped.get("message", "no reason given").split())
            place = case.get("classname", "").removeprefix("test.python.")
            yield reason, place


def print_skipped(skipped: Sequence[tuple[str, str]]) -> None:
    """A line for each reason, with how many tests of which files it kept from running."""
    for (reason, place), count in sorted(Counter(skipped).items()):
        print(f"skipped {count} of {place}: {reason}")


def skipped_line(skipped: Sequence[tuple[str, str]]) -> str:
    """One line of how many tests were skipped for which reasons."""
    if not skipped:
        return "no test was skipped"
    reasons = Counter(reason for reason, _ in skipped)
    listed = "; ".join(
        f"{count}: {reason}" for reason, count in sorted(reasons.items())
    )
    return f"skipped {len(skipped)} tests, {listed}"


def main() -> int:
    """Run both suites and print the sum; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="2", help="tests that run at once")
    parser.add_argument("--slice", action="store_true", help="as pytest's")
    arguments = parser.parse_args()
    jobs: str = arguments.jobs
    REPORTS.mkdir(parents=True, exist_ok=True)
    SKIPPED.unlink(missing_ok=True)
    started = time.monotonic()
    lit_report = str(REPORTS / "lit.xml")
    lit = run_suite(
        "lit", ["-j", jobs, "-sv", "--xunit-xml-output", lit_report, "test"]
    )
    pytest_report = f"--junitxml={REPORTS / 'pytest.xml'}"
    options = ["--slice"] if arguments.slice else []
    python = run_suite(
        "pytest", ["-n", jobs, "--dist", "loadgroup", *options, pytest_report]
    )
    total = lit + python
    seconds = time.monotonic() - started
    skipped = f", {len(total.skipped)} skipped" if total.skipped else ""
    SKIPPED.write_text(f"{skipped_line(total.skipped)}\n", "utf-8")
    print()
    print_skipped(total.skipped)
    print(
        f"{total.passed} passed, {total.failed} failed{skipped} in {seconds:.0f}s "
        f"(lit {lit.passed} + {lit.failed}, pytest {python.passed} + {python.failed})"
    )
    return 1 if total.failed or not lit.passed or not python.passed else 0


if __name__ == "__main__":
    sys.exit(main())
