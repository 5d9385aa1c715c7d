"""`--target`, `--target-triple`, `-cpu` and `-features`: for which machine a command works."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import NoReturn

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_spec

from glow.backends.backend import get_backend
from glow.dialects.errors import GlowError, UsageError

HOST = "host"
CODE_TARGETS = ("llvm", "asm")
"""What `glow-opt -t` makes for a machine."""


def add_target_name(parser: argparse.ArgumentParser) -> None:
    """Declare `--target`, another word for `--target-cpu`, which `glow-opt` has not."""
    parser.add_argument(
        "--target",
        dest="machine",
        metavar="NAME",
        help="the machine by its name: cortex-m4, riscv64-v, wasm-simd, ...; glow compile "
        "--list-targets lists them",
    )


class ListTargets(argparse.Action):
    """Prints the table of targets and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print a line a target."""
        from glow.lowering.target.named_targets import target_lines

        print("\n".join(target_lines()))
        parser.exit()


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """Declare what machine code is made for, in LLVM's words."""
    parser.add_argument(
        "--target-triple",
        metavar="TRIPLE",
        help="thumbv7em-none-eabi, ...: the machine of --target-cpu with another system "
        "or ABI",
    )
    parser.add_argument(
        "--target-cpu",
        metavar="CPU",
        help="x86-64-v3, znver4, neoverse-n1, ... or a preset such as avx2 (this "
        "machine)",
    )
    parser.add_argument(
        "--target-features",
        metavar="+A,-B",
        help="features to add and remove: -avx512f makes AVX2 code here",
    )
    parser.add_argument(
        "--target-core",
        metavar="FILE",
        help="figures of its core that glow calibrate measured, before those of the table",
    )


def target_of(args: argparse.Namespace) -> str:
    """The name of the target that the options ask for; raises GlowError for an unknown one.

    That of an LLVM CPU is a UsageError, as of any option's wrong value; a name of the table is
    input like a model's.
    """
    from glow.lowering.target.target_names import target_name

    # In glow-opt `--target` is what is printed.
    named = getattr(args, "machine", None)
    if named is not None and args.target_cpu is not None:
        raise UsageError("--target and --target-cpu are two names of a machine")
    try:
        return target_name(
            named or args.target_cpu,
            args.target_features,
            args.target_core,
            args.target_triple,
        )
    except GlowError as error:
        if named is not None:
            raise
        raise UsageError(error.message, hint=error.hint) from None


def with_target(
    passes: Sequence[ModulePass], output: str, target: str
) -> tuple[tuple[ModulePass, ...], str]:
    """Passes and `-t` of `glow-opt` for a target, where these do not name one themselves.

    Raises GlowError where nothing asks for a target.
    """
    if target == HOST:
        return tuple(passes), output
    asked = [one for one in passes if hasattr(one, "target")]
    spec = parse_spec(output)
    if not asked and spec.name not in CODE_TARGETS:
        raise GlowError("--target-cpu is for passes with a target, of which none runs")
    if spec.name in CODE_TARGETS and "machine" not in spec.parameters:
        output = f'{spec.name}{{machine="{target}"}}'
    return tuple(_for_target(one, target) for one in passes), output


def with_backend(passes: Sequence[ModulePass], output: str, backend: str | None) -> str:
    """`-t` of `glow-opt` for a backend, where it does not name one itself.

    Raises GlowError for an unknown backend, and where nothing asks for one.
    """
    if backend is None:
        return output
    get_backend(backend)
    spec = parse_spec(output)
    if spec.name in CODE_TARGETS:
        spec.parameters.setdefault("backend", (backend,))
        return str(spec)
    if not any(hasattr(one, "backend") for one in passes):
        raise GlowError("--backend is for passes that ask one, of which none runs")
    return output


def _for_target(one: ModulePass, target: str) -> ModulePass:
    """A pass for a target, unless it has its own."""
    takes_default = getattr(one, "target", None) == HOST
    return dataclasses.replace(one, target=target) if takes_default else one
