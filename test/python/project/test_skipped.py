"""What was skipped is the last line of `.ci/run`, whether later checks pass or not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from places import ROOT
from run_all import read_report, skipped_line

MAKE = """#!/bin/sh
echo "make $1"
case $1 in
    test) {test} ;;
    lint) exit {status} ;;
esac
"""
"""Stands for the tests and the checks, which take minutes."""


def test_the_line_counts_by_reason(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    case = '<testcase classname="test.python.a" name="b"><skipped message="{}"/></testcase>'
    cases = "".join(case.format(reason) for reason in ("no GPU", "no  JAX", "no GPU"))
    report.write_text(
        f'<testsuite tests="4" failures="0" errors="0" skipped="3">{cases}</testsuite>'
    )
    counts = read_report(report)
    assert counts.passed == 1
    assert skipped_line(counts.skipped) == "skipped 3 tests, 2: no GPU; 1: no JAX"
    assert skipped_line(()) == "no test was skipped"


@pytest.mark.parametrize(
    ("test", "status", "last"),
    [
        (
            "mkdir -p build/reports; echo no GPU > build/reports/skipped.txt",
            0,
            "no GPU",
        ),
        (
            "mkdir -p build/reports; echo no GPU > build/reports/skipped.txt",
            3,
            "no GPU",
        ),
        ("exit 3", 3, "the tests did not end: see above"),
    ],
)
def test_ci_ends_with_the_line(
    tmp_path: Path, test: str, status: int, last: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    write_program(programs / "make", MAKE.format(test=test, status=status))
    write_program(programs / "id", "#!/bin/sh\necho 1000\n")  # Installs nothing.
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        [tmp_path / ".ci" / "run"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status
    assert run.stdout.splitlines()[-1] == last


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
