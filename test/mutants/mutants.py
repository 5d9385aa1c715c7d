"""Plants faults, one at a time, and runs the tests that should find each: `make mutants`.

A fault is another operator, constant or truth value in a function of a file, drawn by a
seed from all places of that file, or one written down (`faults.py`). It is planted in a
copy of the tree, whose package the tests import. A fault that no test finds survives; it
is printed as a change of its line, and the exit code is 1 when one of those written down
survives, or a tenth of all.

`python test/mutants/mutants.py --only passes/graph --jobs 2` runs those of one folder.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from faults import DRAWN, EQUIVALENT, ROOT, SEEDS, WRITTEN, Suites

LIMIT = 300
"""Seconds after which tests that do not end have found a fault."""
LEAST_LIMIT, SLACK = 10, 3
"""A fault is found when one process computes for `LEAST_LIMIT` seconds and `SLACK` times
what all of the tests' processes need without a fault: faults make rewrites endless, and
processor time, unlike the clock's, does not depend on what else the machine does."""
ALLOWED = 0.1
"""The share of drawn faults that may survive."""

OTHER = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-",
    "-": "+", "*": "+", "//": "*", "%": "//", "and": "or", "or": "and", "True": "False",
    "False": "True", "min": "max", "max": "min", "any": "all", "all": "any", "not": "",
    "0": "1", "1": "0", "2": "1", "3": "2", "is": "is not",
}  # fmt: skip
"""What stands in the place of a token."""
UNARY = ("-", "+", "*")
OPENING = ("(", "[", "{", ",", "=", ":", "return", "*", "in", "if", "else", "and", "or")
"""Behind these an operator has one operand, or is no operator."""

FINDER = """
import os
import resource
import sys
from importlib.util import spec_from_file_location

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name not in FOLDERS:
            return None
        folder = FOLDERS[name]
        return spec_from_file_location(
            name, folder + "/__init__.py", submodule_search_locations=[folder]
        )

sys.meta_path.insert(0, Finder())
if seconds := int(os.environ.get("MUTANT_SECONDS", "0")):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
"""


@dataclass(frozen=True)
class Fault:
    """A text in the place of another one in a file, from some offset on."""

    file: str
    at: int
    old: str
    new: str
    tests: Suites
    text: str = field(repr=False)
    """The file's, without the fault."""
    written: bool = False

    @property
    def planted(self) -> str:
        """The file's text with the fault."""
        return self.text[: self.at] + self.new + self.text[self.at + len(self.old) :]

    @property
    def number(self) -> int:
        """The number of the line, from 0."""
        return self.text.count("\n", 0, self.at)

    @property
    def line(self) -> str:
        """The line with the fault."""
        return self.planted.splitlines()[self.number].strip()

    @property
    def is_equivalent(self) -> bool:
        """Whether it changes nothing that a test could see."""
        return (self.file, self.line) in EQUIVALENT

    def __str__(self) -> str:
        before = self.text.splitlines()[self.number].strip()
        return f"{self.file}:{self.number + 1}: {before}  ->  {self.line}"


def sites(text: str) -> Iterator[tuple[int, str, str]]:
    """The offset, the token and what may stand there instead, inside of functions."""
    lines = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            lines |= set(range(node.body[0].lineno, node.end_lineno + 1))
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER)
    ]
    for last, token, following in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.start[0] not in lines or token.string not in OTHER:
            continue
        if token.string in UNARY and last.string in OPENING:
            continue
        if token.string == "not" and (last.string == "is" or following.string == "in"):
            continue
        if token.string == "is" and following.string == "not":
            continue
        offset = offsets[token.start[0] - 1] + token.start[1]
        yield offset, token.string, OTHER[token.string]


def faults() -> Iterator[Fault]:
    """All faults: those written down, then those that are drawn."""
    for file, old, new, tests in WRITTEN:
        text = (ROOT / file).read_text()
        yield Fault(file, text.index(old), old, new, tests, text, written=True)
    for file, count, tests in DRAWN:
        text = (ROOT / file).read_text()
        found = list(sites(text))
        chosen = random.Random(SEEDS.get(file, file)).sample(
            found, min(count, len(found))
        )
        for site in sorted(chosen):
            yield Fault(file, *site, tests, text)


class Copy:
    """A copy of the tree in which one fault at a time is planted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.check_output(listed, cwd=ROOT, text=True).splitlines()
        for name in filter(os.path.isfile, names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        site = folder / "build" / "site"
        site.mkdir(parents=True)
        folders = {
            "glow": "glow",
            "glow.dialects": "glow_dialects",
            "glow.passes": "passes",
            "glow.lowering": "lowering",
            "glow.tools": "tools",
        }
        paths = {name: str(folder / place) for name, place in folders.items()}
        (site / "sitecustomize.py").write_text(f"FOLDERS = {paths}{FINDER}")
        self.environment = dict(
            os.environ,
            PYTHONPATH=str(site),
            PYTHONDONTWRITEBYTECODE="1",
            GLOW_CACHE_DIR=str(folder / "build" / "cache"),
        )
        compile_all = [sys.executable, "-m", "compileall", "-q"]
        checked = ["--invalidation-mode", "checked-hash", *paths.values()]
        subprocess.run([*compile_all, *checked], check=True)

    def finds(self, tests: Suites, seconds: int = 0) -> bool:
        """Whether one of the tests fails, or computes for so many seconds."""
        self.environment["MUTANT_SECONDS"] = str(seconds)
        return any(not self._passes(command) for command in tests.commands())

    def limit(self, tests: Suites) -> int:
        """How many seconds tests may compute; ends all where they fail as it is."""
        before = os.times()
        if self.finds(tests):
            raise SystemExit(f"fails without a fault: {tests}")
        after = os.times()
        spent = after.children_user - before.children_user
        return LEAST_LIMIT + round(SLACK * spent)

    def _passes(self, command: Sequence[str]) -> bool:
        script = Path(sys.executable).with_name(command[0])
        shutil.rmtree(self.folder / "build" / "cache", ignore_errors=True)
        shutil.rmtree(self.folder / "build" / "lit", ignore_errors=True)
        try:
            return not subprocess.run(
                [script, *command[1:]],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                timeout=LIMIT,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return False

    def survives(self, fault: Fault, seconds: int) -> bool:
        """Whether no test finds a fault."""
        path = self.folder / fault.file
        path.write_text(fault.planted)
        try:
            return not self.finds(fault.tests, seconds)
        finally:
            path.write_text(fault.text)


def run(chosen: Sequence[Fault], jobs: int) -> list[Fault]:
    """Plant each fault; those that survive, printed as they are found."""
    with tempfile.TemporaryDirectory() as folder:
        copies = SimpleQueue[Copy]()
        for job in range(jobs):
            (Path(folder) / str(job)).mkdir()
            copies.put(Copy(Path(folder) / str(job)))
        sound = copies.get()
        suites = dict.fromkeys(fault.tests for fault in chosen)
        limits = {tests: sound.limit(tests) for tests in suites}
        copies.put(sound)

        def survives(fault: Fault) -> bool:
            copy = copies.get()
            survived = copy.survives(fault, limits[fault.tests])
            copies.put(copy)
            if survived:
                print(f"survives: {fault}", flush=True)
            return survived

        with ThreadPoolExecutor(jobs) as pool:
            outcomes = pool.map(survives, chosen)
            return [f for f, outcome in zip(chosen, outcomes, strict=True) if outcome]


def table(tried: Sequence[Fault], survivors: Sequence[Fault]) -> Iterator[str]:
    """Lines that say for each folder what became of its faults."""
    yield f"{'folder':32}{'planted':>8}{'found':>8}{'survive':>8}{'equal':>8}"
    folders = [str(Path(fault.file).parent) for fault in tried]
    for folder in (*dict.fromkeys(sorted(folders)), ""):
        own = [fault for fault in tried if folder in ("", str(Path(fault.file).parent))]
        equal = sum(fault.is_equivalent for fault in own)
        survive = sum(fault in survivors for fault in own)
        found = len(own) - equal - survive
        name = folder or "all"
        yield f"{name:32}{len(own):8}{found:8}{survive:8}{equal:8}"


def main() -> int:
    """Plant the faults; 1 if too many survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree")
    parser.add_argument(
        "--only", default="", help="faults whose line, as printed, begins so"
    )
    parser.add_argument("--list", action="store_true", help="only print the faults")
    options = parser.parse_args()
    started = time.monotonic()
    planted = [fault for fault in faults() if str(fault).startswith(options.only)]
    chosen = [fault for fault in planted if not fault.is_equivalent]
    if options.list:
        print(*chosen, sep="\n")
        return 0
    survivors = run(chosen, options.jobs)
    print(*table(planted, survivors), sep="\n")
    print(f"{time.monotonic() - started:.0f} s")
    drawn = sum(not fault.written for fault in chosen)
    written = any(fault.written for fault in survivors)
    return 1 if written or len(survivors) > ALLOWED * drawn else 0


if __name__ == "__main__":
    sys.exit(main())
