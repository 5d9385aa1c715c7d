"""`glow-reduce`: makes a program smaller as long as a test finds it interesting.

With mlir-reduce's habits: the test is a program that gets the file of a module, and ends with
another exit code than 0 where the module is interesting.

    #!/bin/sh
    glow compile "$1" --emit=loops 2>&1 | grep -q "internal error" && exit 1 || exit 0
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from glow.diagnostics import run_reporting
from glow.dialects.errors import UsageError
from glow.runtime.atomic_output import atomic_path
from glow.tools.compile_options import output_file
from glow.tools.program_output import write_program
from glow.tools.programs import read_program
from glow.tools.progress import report
from glow.tools.reduce.interesting import Test, text
from glow.tools.reduce.reducer import Reducer, size_of

TOOL = "glow-reduce"


def make_parser() -> argparse.ArgumentParser:
    """The arguments of the tool."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description=(
            "Makes a program smaller as long as a test finds it interesting: a program that "
            "gets the file of a module, and ends with another exit code than 0 then."
        ),
    )
    parser.add_argument("model", type=Path, help=".mlir or .onnx file")
    parser.add_argument("--test", type=Path, metavar="FILE", help="the test")
    parser.add_argument(
        "--test-arg",
        action="append",
        default=[],
        metavar="TEXT",
        help="an argument of the test, before the file; may be repeated",
    )
    parser.add_argument(
        "--test-seconds",
        type=float,
        metavar="SECONDS",
        help="how long a test may take; one that takes longer says no",
    )
    parser.add_argument(
        "--reduction-tree",
        metavar="'test=FILE'",
        help="the test, as mlir-reduce takes it; other options of it have no effect",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        help="file to write, with its weights beside it; without it, or with -, the program is "
        "printed",
    )
    parser.add_argument(
        "--debug", action="store_true", help="print the traceback of an error"
    )
    return parser


def main() -> None:
    """The console script."""
    options = make_parser().parse_args()
    sys.exit(run_reporting(TOOL, lambda: reduce(options), debug=options.debug))


def reduce(options: argparse.Namespace) -> None:
    """Reduce the program that the command line names, and write it."""
    program = test_of(options.test, options.reduction_tree)
    test = Test(program, options.test_arg, options.test_seconds)
    module = read_program(options.model)
    before = size_of(module)
    smallest = Reducer(module, test.is_interesting).run()
    report(f"{before} operations, now {size_of(smallest)}; {test.runs} tests")
    write(smallest, options.output)


def test_of(test: Path | None, tree: str | None) -> Path:
    """The test's file, of either option."""
    if test is None and tree is not None:
        given = [word for word in tree.split() if word.startswith("test=")]
        test = Path(given[-1].removeprefix("test=")) if given else None
    if test is None:
        raise UsageError("there is no test", hint="--test=FILE names one")
    return test


def write(module: ModuleOp, output: Path | None) -> None:
    """Write a program and its weights, or print it."""

    def to(stream: IO[str], files: ExitStack) -> None:
        write_program(module, text, output, stream, files)

    with ExitStack() as files:
        if output is None:
            to(sys.stdout, files)
            return
        path = files.enter_context(atomic_path(output))
        with path.open("w", encoding="utf-8") as stream:
            to(stream, files)
