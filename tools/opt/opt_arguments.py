"""The arguments of `glow-opt` that xdsl-opt lacks, and one-line errors for all."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
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
    "--mlir-print-ir-after-failure": "print what a pass that failed has made so far",
    "--mlir-use-nameloc-as-prefix": "name values after the locations of their operations",
    "--mlir-timing": "print a table of times",
    "--run-reproducer": "run the passes that a reproducer in the input names",
    "--verify-roundtrip": "check that the input reads back as printed, in both forms",
    "--view-op-graph": "print the result as a picture in Graphviz's language to stderr",
    "--verify-each": "verify after each pass too, and what passes require and ensure",
    "--debug": "print the traceback of an error",
}
"""The options of mlir-opt without a value that xdsl-opt lacks."""

ON_BY_DEFAULT = {
    "--mlir-print-op-on-diagnostic": "print the operation that does not verify as a note",
}
"""Options without a value that hold unless they are `=false`."""

ALIASES = {"--show-dialects": ("--list-dialects",)}

PASS_NAMES = {
    "--mlir-print-ir-before": "print before these passes",
    "--mlir-print-ir-after": "print after these passes",
}
"""Those that take names of passes."""

OWN_NAMES = ("--mlir-timing",)
"""Options whose prefix is a part of their name in Python."""


VALUED: Mapping[str, tuple[Callable[[str], object], str, str]] = {
    "--backend": (
        str,
        "NAME",
        "for passes that ask a backend, -t llvm and asm, and --list-pipelines",
    ),
    "--mlir-elide-elementsattrs-if-larger": (
        int,
        "N",
        "leave out constants of more than N elements",
    ),
    "--mlir-elide-resource-strings-if-larger": (
        int,
        "N",
        "leave out resources, such as weights, of more than N characters",
    ),
    "--mlir-print-ir-tree-dir": (
        Path,
        "FOLDER",
        "print before and after passes to files in this folder",
    ),
    "--mlir-pass-pipeline-crash-reproducer": (
        Path,
        "FILE",
        "write the program and the passes to FILE if one of them fails",
    ),
    "--memory-limit": (
        int,
        "BYTES",
        "reorder and compute again before --plan-memory what would take more",
    ),
    "--emit-irdl": (
        str,
        "DIALECT",
        "print glow, instr, quant or cpu in IRDL, for mlir-opt --irdl-file, and exit",
    ),
    "--weights": (
        str,
        "FORM",
        "where -t stablehlo leaves weights: in the text (resource), as arguments, or as "
        "parameters of IREE in a file beside -o FILE",
    ),
    "--graph-diff": (
        Path,
        "FILE.html|svg",
        "draw the program before and after the passes side by side",
    ),
}
"""Options with a value: its type and name, and what the option is for."""

WITHOUT_EFFECT = (
    "--mlir-disable-threading",
    "--mlir-print-ir-module-scope",
    "--mlir-print-local-scope",
)
"""Options of mlir-opt that ask for what always holds here: passes run one after another, and
a whole module is printed, with attributes and locations where they stand."""

REFUSED = {
    "--emit-bytecode": "writes no bytecode; pass its text to mlir-opt --emit-bytecode",
    "--irdl-file": "loads no dialects from IRDL files; --allow-unregistered-dialect reads "
    "the generic form of any",
}
"""Options of mlir-opt that are not there, and what to do instead."""


class _Refuse(argparse.Action):
    """Raises for an option, and says what to do instead."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> NoReturn:
        option = option_string or self.option_strings[0]
        raise UsageError(f"{option}: glow-opt {REFUSED[option]}")


def destination(option: str) -> str:
    """The name of an option in Python, without the `mlir` of those that print."""
    name = option.removeprefix("--").replace("-", "_")
    return name if option in OWN_NAMES else name.removeprefix("mlir_")


def add_glow_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of mlir-opt that xdsl-opt lacks, and our own."""
    for option, text in FLAGS.items():
        names = (option, *ALIASES.get(option, ()))
        parser.add_argument(
            *names, dest=destination(option), action="store_true", help=text
        )
    for option, text in ON_BY_DEFAULT.items():
        parser.add_argument(
            option,
            dest=destination(option),
            action=argparse.BooleanOptionalAction,
            default=True,
            help=text,
        )
    for option, text in PASS_NAMES.items():
        place = destination(option)
        parser.add_argument(
            option, dest=place, default="", metavar="PASS,...", help=text
        )
    for option, (kind, value, text) in VALUED.items():
        parser.add_argument(
            option, dest=destination(option), type=kind, metavar=value, help=text
        )
    for option in WITHOUT_EFFECT:
        parser.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    for option in REFUSED:
        parser.add_argument(option, nargs="?", action=_Refuse, help=argparse.SUPPRESS)
    add_target_options(parser)
    add_shape_options(parser)
