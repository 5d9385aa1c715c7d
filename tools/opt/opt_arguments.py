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


def add_glow_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of mlir-opt that xdsl-opt lacks."""

    def flag(*names: str, dest: str, help: str) -> None:
        parser.add_argument(*names, dest=dest, action="store_true", help=help)

    def names(option: str, dest: str, help: str) -> None:
        parser.add_argument(
            option, dest=dest, default="", metavar="PASS,...", help=help
        )

    flag("--list-passes", dest="list_passes", help="list all passes and exit")
    flag(
        "--list-pipelines",
        dest="list_pipelines",
        help="list the phases of a backend (of all) and their passes, and exit",
    )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="for passes that ask a backend, -t llvm and asm, and --list-pipelines",
    )
    flag("--show-dialects", dest="show_dialects", help="list all dialects and exit")
    flag(
        "--dump-pass-pipeline",
        dest="dump_pass_pipeline",
        help="print the pipeline that runs to stderr",
    )
    flag(
        "--mlir-print-op-generic",
        dest="print_op_generic",
        help="print operations in generic form",
    )
    flag(
        "--mlir-print-debuginfo",
        dest="print_debuginfo",
        help="print locations, with them the names of the network's nodes",
    )
    parser.add_argument(
        "--mlir-elide-elementsattrs-if-larger",
        dest="elide_if_larger",
        type=int,
        metavar="N",
        help="leave out constants of more than N elements",
    )
    names("--mlir-print-ir-before", "print_ir_before", "print before these passes")
    names("--mlir-print-ir-after", "print_ir_after", "print after these passes")
    flag(
        "--mlir-print-ir-before-all",
        dest="print_ir_before_all",
        help="print before each pass",
    )
    flag(
        "--mlir-print-ir-after-all",
        dest="print_ir_after_all",
        help="print after each pass",
    )
    flag(
        "--mlir-print-ir-after-change",
        dest="print_ir_after_change",
        help="print after each pass that changed the program",
    )
    flag(
        "--pass-statistics",
        dest="pass_statistics",
        help="print what each pass did and how often each rewrite applied",
    )
    add_target_options(parser)
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
    flag("--mlir-timing", dest="mlir_timing", help="print a table of times")
    flag(
        "--verify-each",
        dest="verify_each",
        help="verify after each pass too, and what passes require and ensure",
    )
    flag("--debug", dest="debug", help="print the traceback of an error")
