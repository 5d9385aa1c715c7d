"""`glow compile --emit=bundle`: networks compiled ahead of time, into a folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from glow.bundles.bundle import APIS, OPTIMIZATIONS, WEIGHTS, BundleSettings
from glow.dialects.errors import UsageError
from glow.dialects.numerics import NUMERICS
from glow.exporters import PROGRAM_FORMATS, WEIGHT_FORMS
from glow.frontends.mapped_file import files_held
from glow.options import CompileOptions
from glow.tools.programs import read_program
from glow.tools.progress import step
from glow.tools.quantization_commands import at_least

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.bundles.bundle import Bundle

BUNDLE = "bundle"
"""Not a phase of a pipeline but what is made of its end."""


def add_bundle_options(parser: argparse.ArgumentParser) -> None:
    """Declare what a bundle is like."""
    group = parser.add_argument_group("bundles (--emit=bundle -o FOLDER)")
    group.add_argument(
        "--name",
        dest="bundle_name",
        metavar="NAME",
        help="what all symbols begin with (the model's file)",
    )
    group.add_argument(
        "--weights",
        dest="bundle_weights",
        choices=(*WEIGHTS, *WEIGHT_FORMS),
        help="of a bundle: in a file, or linked: in the section .rodata.NAME of the object "
        "(file); of --emit=stablehlo: in the text (resource), as arguments, or as "
        "parameters of IREE",
    )
    group.add_argument(
        "--api",
        dest="bundle_api",
        choices=APIS,
        help="places of inputs and outputs as macros, or as Glow's BundleConfig (static)",
    )
    group.add_argument(
        "--optimize",
        dest="bundle_optimize",
        choices=OPTIMIZATIONS,
        help="for speed, or for code bytes (speed)",
    )
    flags = {
        "--pic": "code that runs wherever it is loaded",
        "--threads": "an entry NAME_slice, with which threads share the work",
        "--shared": "a shared library, too",
        "--debug-callbacks": "call functions of the user around each instruction",
    }
    for flag, text in flags.items():
        dest = f"bundle_{flag.removeprefix('--').replace('-', '_')}"
        group.add_argument(
            flag, dest=dest, action="store_true", default=None, help=text
        )
    for region in LIMITS:
        group.add_argument(
            f"--{region}",
            dest=f"bundle_{region}",
            type=at_least(1),
            metavar="BYTES",
            help=f"the {region} of the machine: fail where the network takes more",
        )


LIMITS = ("flash", "ram")


def given_settings(args: argparse.Namespace) -> dict[str, object]:
    """What a command line says of a bundle, by the fields of `BundleSettings`."""
    values = {
        each.name: getattr(args, f"bundle_{each.name}")
        for each in fields(BundleSettings)
    }
    return {name: value for name, value in values.items() if value is not None}


def take_weight_form(args: argparse.Namespace) -> str | None:
    """Where the weights of a program for other compilers go; None where it is not said."""
    if args.phase not in PROGRAM_FORMATS:
        return None
    form, args.bundle_weights = args.bundle_weights, None
    return form


def refuse_settings(args: argparse.Namespace) -> None:
    """Raise UsageError for an option of bundles where none is made."""
    for name in given_settings(args):
        raise UsageError(f"--{name.replace('_', '-')} needs --emit={BUNDLE}")
    for region in LIMITS:
        if getattr(args, f"bundle_{region}") is not None:
            raise UsageError(f"--{region} needs --emit={BUNDLE}")


@files_held()
def compile_bundle(
    models: Sequence[Path], args: argparse.Namespace, options: CompileOptions
) -> None:
    """Write the bundle of some models into a folder."""
    from glow.bundles.limits import LimitError
    from glow.bundles.names import check_name, default_name
    from glow.bundles.writer import bundle_files, check_bundle_folder, write_files
    from glow.lowering.target.target import SIZE
    from glow.lowering.target.target_names import with_feature

    folder: Path | None = args.output
    if folder is None:
        raise UsageError("a bundle needs -o FOLDER")
    given = given_settings(args)
    if given.get("weights") in WEIGHT_FORMS:
        raise UsageError(f"a bundle takes --weights={' or '.join(WEIGHTS)}")
    name = given.get("name")
    stem = default_name(models[0].stem)
    given["name"] = stem if name is None else check_name(str(name))
    settings = BundleSettings(**given)  # pyright: ignore[reportArgumentType]
    check_bundle_folder(folder, settings.name)
    limits = (args.bundle_flash, args.bundle_ram)
    if settings.optimize == "size":
        options = replace(options, target=with_feature(options.target, SIZE))
    try:
        bundle = _bundle_within(limits, models, options, settings)
    except LimitError:
        if options.numerics == NUMERICS[0]:
            raise
        # Algorithms with fewer products take more weights and a larger arena.
        options = replace(options, numerics=NUMERICS[0])
        bundle = _bundle_within(limits, models, options, settings)
    write_files(bundle_files(bundle), folder)


def _bundle_within(
    limits: tuple[int | None, int | None],
    models: Sequence[Path],
    options: CompileOptions,
    settings: BundleSettings,
) -> Bundle:
    """The bundle of some models; raises LimitError where it takes more than there is."""
    from glow.bundles.build import build_bundle
    from glow.bundles.limits import check_limits
    from glow.bundles.names import function_names

    modules: dict[str, ModuleOp] = {}
    names = function_names([model.stem for model in models])
    for name, model in zip(names, models, strict=True):
        with step(f"reading {model}"):
            modules[name] = read_program(model, options)
    with step(f"compiling for {options.target}"):
        bundle = build_bundle(modules, options, settings)
    check_limits(bundle, *limits)
    return bundle
