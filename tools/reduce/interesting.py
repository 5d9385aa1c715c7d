"""The test of a reduction: a program that is run on each smaller module.

As for mlir-reduce, a module is interesting where the test ends with another exit code than 0.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.dialects.builtin import ModuleOp, UnknownLoc

from glow.dialects.errors import GlowError, UsageError
from glow.dialects.printer import TextPrinter
from glow.tools.program_output import write_program


@dataclass
class Test:
    """A program with arguments; the module's file comes last."""

    program: Path
    arguments: Sequence[str] = ()
    seconds: float | None = None
    """How long it may take; a test that takes longer says no."""
    runs: int = 0
    """How often it was run."""

    def __post_init__(self) -> None:
        if not self.program.is_file():
            raise UsageError(f"{self.program}: the test is no file")
        if not os.access(self.program, os.X_OK):
            raise UsageError(
                f"{self.program}: the test is no program", hint="chmod +x makes it one"
            )

    def is_interesting(self, module: ModuleOp) -> bool:
        """Whether the test says so of the module, written with its weights into a folder."""
        self.runs += 1
        with TemporaryDirectory() as folder:
            path = Path(folder, "module.mlir")
            write_module(module, path)
            command = [os.fspath(self.program.resolve()), *self.arguments, path]
            try:
                result = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    timeout=self.seconds,
                )
            except subprocess.TimeoutExpired:
                return False
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise GlowError(
                    f"{self.program}: the test cannot be run: {reason}",
                    hint="its first line must name what runs it, such as #!/bin/sh",
                ) from error
        return result.returncode != 0


def write_module(module: ModuleOp, path: Path) -> None:
    """Write a module as text, with its weights beside it."""
    with ExitStack() as files, path.open("w", encoding="utf-8") as stream:
        write_program(module, text, path, stream, files)


def text(module: ModuleOp) -> str:
    """A module's text, with locations where it has some."""
    stream = StringIO()
    located = any(not isinstance(op.location, UnknownLoc) for op in module.walk())
    TextPrinter(stream=stream, print_debuginfo=located).print_op(module)
    return stream.getvalue() + "\n"
