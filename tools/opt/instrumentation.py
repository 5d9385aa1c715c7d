"""What `glow-opt` does between two passes: verify, print, take the time.

All of it goes to stderr, as mlir-opt does it, so that it never mixes with the output.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.dialects.errors import GlowError
from glow.verification import invalid_operations, verify_module

if TYPE_CHECKING:
    from glow.tools.opt.pattern_statistics import PatternWatch

TIMING_WIDTH = 57


@dataclass(frozen=True)
class Selection:
    """The passes that an option means: all of them, or those named."""

    every: bool
    names: frozenset[str]

    def __contains__(self, compiler_pass: ModulePass) -> bool:
        return self.every or compiler_pass.name in self.names

    @staticmethod
    def parse(every: bool, names: str) -> Selection:
        """`names` is separated by commas."""
        return Selection(every, frozenset(filter(None, names.split(","))))


def symbol_of(module: ModuleOp) -> str:
    """The name of a module, or what mlir-opt calls one without."""
    name = module.sym_name
    return name.data if name is not None else "no-symbol-name"


def check_conditions(
    previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
) -> None:
    """Raise GlowError where a pass does not find or leave what it states."""
    from glow.passes.rewriting.contract import check_ensures, check_requires

    if previous is not None:
        check_ensures(previous, module)
    if following is not None:
        check_requires(following, module)


def note_operation(error: GlowError, module: ModuleOp) -> None:
    """Add the operation that does not verify to an error, as mlir-opt does."""
    # A printer has the nodes, for which `--help` need not wait.
    from glow.tools.opt.operation_text import operation_line

    for operation, _ in islice(invalid_operations(module), 1):
        error.add_note(f"note: see current operation: {operation_line(operation)}")


@dataclass
class Statistics:
    """What each pass did: operations before and after, and its rewrites."""

    rewrites: Counter[str]
    patterns: PatternWatch
    lines: list[str] = field(default_factory=list[str])
    operations: int = 0

    def before(self, module: ModuleOp) -> None:
        """Count what there is, and watch the patterns that are loaded by now."""
        self.patterns.watch()
        self.rewrites.clear()
        self.operations = sum(1 for _ in module.walk())

    def after(self, finished: ModulePass, module: ModuleOp) -> None:
        """Write the lines of a pass."""
        operations = sum(1 for _ in module.walk())
        change = f"{self.operations} -> {operations} operations"
        self.lines.append(f"{finished.name}: {change}")
        self.lines += [
            f"  {count:>6} {name}" for name, count in sorted(self.rewrites.items())
        ]

    def table(self) -> str:
        """All lines under a heading."""
        return "\n".join(["pass statistics: rewrites applied", *self.lines])


@dataclass
class Instrumentation:
    """The callback of xDSL's `PassPipeline`: called around each pass."""

    print_before: Selection
    print_after: Selection
    verify_each: bool
    verify_borders: bool
    print_module: Callable[[ModuleOp], str]
    only_changes: bool = False
    """Print after a pass only if it changed the module."""
    print_failures: bool = False
    """Print the module as a pass left it that failed."""
    print_invalid: bool = True
    """Tell in a note which operation does not verify."""
    folder: Path | None = None
    """Where printed modules go instead of stderr, a file each."""
    statistics: Statistics | None = None
    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    running: ModulePass | None = None
    number: int = -1
    """How many passes have run before the one that does, of all programs."""
    started: float = 0.0
    text: str = ""
    """The module before the pass that runs, where changes are asked for."""

    def __call__(
        self,
        previous: ModulePass | None,
        module: ModuleOp,
        following: ModulePass | None,
    ) -> None:
        self.running = None
        if previous is not None:
            self.after(previous, module)
        self.verify(previous, module, following)
        if following is not None:
            self.before(following, module)

    def after(self, finished: ModulePass, module: ModuleOp) -> None:
        """Record the time of a pass and print the module if wanted."""
        self.seconds.append((finished.name, time.perf_counter() - self.started))
        if self.statistics is not None:
            self.statistics.after(finished, module)
        if finished in self.print_after and self.has_changed(module):
            self.dump(f"IR Dump After {finished.name}", module, finished.name)

    def before(self, starting: ModulePass, module: ModuleOp) -> None:
        """Print the module if wanted and start the clock of a pass."""
        self.number += 1
        if starting in self.print_before:
            title = f"IR Dump Before {starting.name}"
            self.dump(title, module, f"{starting.name}.before")
        if self.only_changes:
            self.text = self.print_module(module)
        if self.statistics is not None:
            self.statistics.before(module)
        self.running = starting
        self.started = time.perf_counter()

    def has_changed(self, module: ModuleOp) -> bool:
        """Whether the pass changed the module, as far as that is asked for."""
        return not self.only_changes or self.print_module(module) != self.text

    def verify(
        self,
        previous: ModulePass | None,
        module: ModuleOp,
        following: ModulePass | None,
    ) -> None:
        """Verify at the input and the end, and in between when asked to."""
        at_border = previous is None or following is None
        if self.verify_each:
            check_conditions(previous, module, following)
        if not self.verify_borders or not (at_border or self.verify_each):
            return
        try:
            verify_module(module, f"after pass {previous.name}" if previous else "")
        except GlowError as error:
            if self.print_invalid:
                note_operation(error, module)
            raise

    def failed(self, module: ModuleOp) -> None:
        """Print what the pass that runs has made so far, if wanted."""
        if self.running is not None and self.print_failures:
            name = self.running.name
            self.dump(f"IR Dump After {name} Failed", module, f"{name}.failed")

    def dump(self, title: str, module: ModuleOp, name: str) -> None:
        """Print the module under mlir-opt's heading, to stderr or to a file of its own."""
        text = f"// -----// {title} //----- //\n{self.print_module(module)}"
        if self.folder is None:
            print(text, file=sys.stderr)
            return
        place = self.folder / f"builtin_module_{symbol_of(module)}"
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"{self.number}_{name}.mlir"
        file.write_text(text + "\n", encoding="utf-8")

    def timing_table(self) -> str:
        """Seconds and share of each pass in the order they ran, and the total."""
        total = sum(seconds for _, seconds in self.seconds)
        rows = [*self.seconds, ("total", total)]
        lines = [f"{'pass':<40}{'seconds':>10}{'share':>7}", "-" * TIMING_WIDTH]
        lines += [
            f"{name:<40}{seconds:>10.4f}{seconds / (total or 1):>7.1%}"
            for name, seconds in rows
        ]
        return "\n".join(lines)
