"""The arguments of `glow-opt` that xdsl-opt lacks, and one-line errors for all."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from glow.diagnostics import did_you_mean
from glow.dialects.errors import UsageError
from glow.tools.opt.help_format import DESCRIPTION, USAGE, GroupedHelpFormatter
from glow.tools.shape_options import add_shape_options
from glow.tools.target_options import add_target_options


def configure_parser(
    parser: argparse.ArgumentParser, tool: str, pass_flags: Sequence[str]
) -> None:
    """Give xDSL's parser our help, and errors that are one line.

    `pass_flags` are the flags that argparse does not know, for suggestions.
    """
    parser.prog = tool
    parser.usage = USAGE
    parser.description = DESCRIPTION
    parser.formatter_class = GroupedHelpFormatter
    parser.allow_abbrev = False

    def fail(message: str) -> NoReturn:
        options = re.findall(r"--[\w-]+", parser.format_help())
        raise argument_error(message, [*options, *pass_flags])

    parser.error = fail


def argument_error(message: str, known: Sequence[str]) -> UsageError:
    """The complaint of argparse as one line, with the nearest option for an unknown one."""
    prefix = "unrecognized arguments: "
    if not message.startswith(prefix):
        return UsageError(message)
    option = message.removeprefix(prefix).split()[0]
    name = option.partition("=")[0]
    if not name.startswith("-"):
        return UsageError(f"one input at a time, but there is also '{option}'")
    return UsageError(f"unknown option or pass '{name}'{did_you_mean(name, known)}")


FLAGS = {
    "--list-passes": "list all passes and exit",
    "--list-pipelines": (
        "list the phases of a backend (of all) and their passes, and exit"
    ),
    "--show-dialects": "list all dialects and exit",
    "--dump-pass-pipeline": "print the pipeline that runs to stderr",
    "--mlir-print-op-generic": "print operations in generic form",
    "--mlir-print-debuginfo": (
        "print locations, with them the names of the network's nodes"
    ),
    "--mlir-print-ir-before-all": "print before each pass",
    "--mlir-print-ir-after-all": "print after each pass",
    "--mlir-print-ir-after-change": "print after each pass that changed the program",
    "--pass-statistics": "print what each pass did and how often each rewrite applied",
    "--mlir-timing": "print a table of times",
    "--verify-each": "verify after each pass too, and what passes require and ensure",
    "--debug": "print the traceback of an error",
}
"""The options of mlir-opt without a value that xdsl-opt lacks."""

PASS_NAMES = {
    "--mlir-print-ir-before": "print before these passes",
    "--mlir-print-ir-after": "print after these passes",
}
"""Those that take names of passes."""

OWN_NAMES = ("--mlir-timing",)
"""Options whose prefix is a part of their name in Python."""


def destination(option: str) -> str:
    """The name of an option in Python, without the `mlir` of those that print."""
    name = option.removeprefix("--").replace("-", "_")
    return name if option in OWN_NAMES else name.removeprefix("mlir_")


def add_glow_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of mlir-opt that xdsl-opt lacks, and our own."""
    for option, text in FLAGS.items():
        parser.add_argument(
            option, dest=destination(option), action="store_true", help=text
        )
    for option, text in PASS_NAMES.items():
        place = destination(option)
        parser.add_argument(
            option, dest=place, default="", metavar="PASS,...", help=text
        )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="for passes that ask a backend, -t llvm and asm, and --list-pipelines",
    )
    parser.add_argument(
        "--mlir-elide-elementsattrs-if-larger",
        dest="elide_if_larger",
        type=int,
        metavar="N",
        help="leave out constants of more than N elements",
    )
    add_target_options(parser)
    add_shape_options(parser)
    parser.add_argument(
        "--memory-limit",
        dest="memory_limit",
        type=int,
        metavar="BYTES",
        help="reorder and compute again before --plan-memory what would take more",
    )
    parser.add_argument(
        "--graph-diff",
        dest="graph_diff",
        type=Path,
        metavar="FILE.html|svg",
        help="draw the program before and after the passes side by side",
    )
