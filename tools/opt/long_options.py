"""LLVM's spellings of options: one dash instead of two, and `=true` or `=false`.

    -split-input-file --mlir-print-debuginfo=true --verify-each=false in.mlir
    --split-input-file --mlir-print-debuginfo in.mlir

argparse would take the first for `-s`, and refuse values of options that have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glow.dialects.errors import UsageError
from glow.tools.opt.opt_arguments import (
    ALIASES,
    FLAGS,
    ON_BY_DEFAULT,
    PASS_NAMES,
    REFUSED,
    VALUED,
    WITHOUT_EFFECT,
)

FLAGS_OF_XDSL = (
    "--allow-unregistered-dialect",
    "--disable-verify",
    "--no-implicit-module",
    "--parsing-diagnostics",
    "--print-between-passes",
    "--print-debuginfo",
    "--print-no-properties",
    "--print-op-generic",
    "--shrink",
    "--split-input-file",
    "--syntax-highlight",
    "--time-passes",
    "--verify-diagnostics",
    "--version",
)
VALUED_OF_XDSL = ("--frontend", "--output-file", "--target")

SWITCHES = frozenset(
    (
        *FLAGS,
        *(alias for names in ALIASES.values() for alias in names),
        *FLAGS_OF_XDSL,
        *ON_BY_DEFAULT,
        *WITHOUT_EFFECT,
    )
)
LONG = SWITCHES.union(PASS_NAMES, VALUED, VALUED_OF_XDSL, REFUSED, ("--help",))
VALUES = {"": True, "true": True, "1": True, "false": False, "0": False}


def spelled_long(arguments: Sequence[str]) -> list[str]:
    """The arguments as argparse takes them."""
    return list(_spelled_long(arguments))


def _spelled_long(arguments: Sequence[str]) -> Iterator[str]:
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            yield from (argument, *remaining)
            return
        option, equals, value = argument.partition("=")
        if option[:2] != "--" and f"-{option}" in LONG:
            option = f"-{option}"
        if equals and option in SWITCHES:
            yield from _switch(option, value)
        else:
            yield f"{option}{equals}{value}"


def _switch(option: str, value: str) -> Iterator[str]:
    """An option of this value that has none."""
    if value.lower() not in VALUES:
        raise UsageError(f"option '{option}' must be true or false, not '{value}'")
    if VALUES[value.lower()]:
        yield option
    elif option in ON_BY_DEFAULT:
        yield f"--no-{option[2:]}"
