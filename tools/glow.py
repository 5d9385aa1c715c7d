"""`glow`: compiles and runs networks from the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn, cast

from glow.diagnostics import run_reporting
from glow.dialects.errors import UsageError
from glow.options import CompileOptions
from glow.tools.bundle_command import (
    BUNDLE,
    add_bundle_options,
    compile_bundle,
    refuse_settings,
    take_weight_form,
)
from glow.tools.compile_options import (
    add_compile_options,
    add_device_option,
    add_input_option,
    compile_options,
    model_file,
    output_file,
)
from glow.tools.machine.tune_command import add_tune_command
from glow.tools.quantization_commands import (
    add_quantize_report_command,
    add_tune_quantization_command,
    at_least,
)
from glow.tools.serve_command import add_serve_command
from glow.tools.shape_options import add_shape_options, input_options
from glow.tools.target_options import ListTargets
from glow.tools.train_command import add_train_command

TOOL = "glow"
DISTRIBUTION = "glow-xdsl"


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing the usage."""
        raise UsageError(message, hint=f"see {self.prog} --help")


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = OneLineParser(
        prog=TOOL, description="Compiles neural networks to native code and runs them."
    )
    parser.add_argument(
        "--version", action="version", version=f"{TOOL} {version(DISTRIBUTION)}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_compile_command(commands.add_parser("compile", help="compile to a file"))
    add_run_command(commands.add_parser("run", help="compile and run, with times"))
    add_profile_command(
        commands.add_parser("profile", help="observe the ranges of values, to quantize")
    )
    add_report_command(
        commands.add_parser("report", help="write a page about a network")
    )
    add_quantize_report_command(
        commands.add_parser("quantize-report", help="show what each layer loses")
    )
    add_tune_quantization_command(
        commands.add_parser("tune-quantization", help="search what is good enough")
    )
    add_devices_command(
        commands.add_parser("devices", help="list what networks can run on")
    )
    add_calibrate_command(
        commands.add_parser("calibrate", help="measure the figures of this core")
    )
    add_tune_command(
        commands.add_parser("tune", help="search faster configurations of kernels")
    )
    add_size_command(
        commands.add_parser("size", help="show what a bundle takes of flash and RAM")
    )
    add_train_command(commands.add_parser("train", help="train a model on data"))
    add_serve_command(commands.add_parser("serve", help="serve models over HTTP"))
    for command in (parser, *commands.choices.values()):
        command.add_argument(
            "--debug", action="store_true", help="print the traceback of an error"
        )
    return parser


def add_compile_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow compile`."""
    parser.add_argument(
        "model",
        type=model_file,
        nargs="+",
        help=".onnx or .mlir file; a bundle takes several",
    )
    parser.add_argument(
        "--compile-to",
        "--emit",
        dest="phase",
        metavar="PHASE",
        help="after which phase to stop: with the program as MLIR (graph, lowered, instr, "
        "loops), as LLVM IR (llvm), assembly (asm), or an object file (obj); by default "
        "the backend's last, see glow-opt --list-pipelines. onnx writes the graph as an "
        "ONNX file, stablehlo as MLIR of other compilers, bundle a folder to link with "
        "other programs",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        help="file to write, the folder of a bundle; without it, or with -, text goes to stdout",
    )
    add_bundle_options(parser)
    add_compile_options(parser)
    parser.add_argument(
        "--list-targets",
        action=ListTargets,
        nargs=0,
        help="print the machines that --target knows by name",
    )
    parser.add_argument(
        "--memory-limit",
        type=at_least(1),
        metavar="BYTES",
        help="the most that the values between nodes may take; compute some twice, or "
        "fail with the node that needs most",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print each kernel's algorithm, register tile and expected error to stderr",
    )
    parser.set_defaults(work=compile_command)


def add_run_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow run`."""
    parser.add_argument("model", type=Path, help=".onnx or .mlir file")
    add_input_option(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write each output as NAME.npy"
    )
    parser.add_argument(
        "--threads", type=at_least(1), help="threads to use (all cores)"
    )
    parser.add_argument(
        "--repeat", type=at_least(1), default=1, help="number of runs to time (1)"
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=0, help="of random inputs (0)"
    )
    add_device_option(parser)
    parser.add_argument(
        "--profile",
        action="store_true",
        help="print the time of each kernel, and write a Chrome trace",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE.json",
        help="where --profile writes it (MODEL.trace.json in the current folder)",
    )
    add_compile_options(parser)
    parser.set_defaults(work=run_command)


def add_profile_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow profile`."""
    parser.add_argument("model", type=Path, help=".onnx or .mlir file")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FILE.npz|FOLDER",
        help="calibration data: an .npz file, or a folder of .npz or .npy files",
    )
    parser.add_argument("--batches", type=at_least(1), help="how many to use (all)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="file to write (MODEL.profile.yaml in the current folder)",
    )
    parser.add_argument(
        "--merge", action="store_true", help="add to the profile that is there"
    )
    add_shape_options(parser)
    parser.set_defaults(work=profile_command)


def add_report_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow report`."""
    parser.add_argument("model", type=Path, help=".onnx or .mlir file")
    written = "file to write (MODEL.report.html in the current folder)"
    parser.add_argument("-o", "--output", type=Path, help=written)
    times = "run the network for the times of kernels"
    parser.add_argument("--profile", action="store_true", help=times)
    parser.add_argument(
        "--threads", type=at_least(1), help="threads of --profile (all cores)"
    )
    add_compile_options(parser)
    parser.set_defaults(work=report_command)


def add_devices_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow devices`."""
    parser.add_argument("--backend", metavar="NAME", help="of one backend (all)")
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.add_argument(
        "devices",
        nargs="*",
        metavar="DEVICE",
        help="those of a host: cpu:2GiB, process*2, ray, ray://head:10001",
    )
    parser.set_defaults(work=devices_command)


def devices_command(args: argparse.Namespace) -> None:
    """Run `glow devices`."""
    from glow.tools.devices_command import list_devices, list_host_devices

    if args.devices:
        if args.json or args.backend:
            raise UsageError("--json and --backend are for the devices of backends")
        list_host_devices(args.devices)
    else:
        list_devices(args.backend, as_json=args.json)


def add_size_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow size`."""
    parser.add_argument(
        "folder", type=Path, help="that glow compile --emit=bundle wrote"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, not a table")
    parser.set_defaults(work=size_command)


def size_command(args: argparse.Namespace) -> None:
    """Run `glow size`."""
    from glow.tools.report.bundle_sizes import print_sizes

    print_sizes(args.folder, as_json=args.json)


def add_calibrate_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow calibrate`."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.json",
        help="where they go (core.json in the cache folder, and what counts is used from then on)",
    )
    parser.set_defaults(work=calibrate_command)


def calibrate_command(args: argparse.Namespace) -> None:
    """Run `glow calibrate`."""
    from glow.tools.machine.calibrate_command import calibrate

    calibrate(args.output)


def compile_command(args: argparse.Namespace) -> None:
    """Run `glow compile`."""
    from glow.tools.compile_command import compile_model

    models = cast("list[Path]", args.model)
    if args.phase == BUNDLE:
        compile_bundle(models, args, compile_options(args))
        return
    weights = take_weight_form(args)
    refuse_settings(args)
    if len(models) > 1:
        raise UsageError(f"{len(models)} models make a bundle only (--emit=bundle)")
    options = compile_options(args)
    place = args.phase, args.output
    compile_model(models[0], *place, options, weights=weights, verbose=args.verbose)


def run_command(args: argparse.Namespace) -> None:
    """Run `glow run`."""
    from glow.tools.run_command import RunOptions, run_model

    model = cast(Path, args.model)
    if args.trace is not None and not args.profile:
        raise UsageError("--trace needs --profile")
    trace = args.trace or Path(f"{model.stem}.trace.json")
    numbers = (args.repeat, args.seed, compile_options(args))
    options = RunOptions(
        args.input, args.output, *numbers, trace if args.profile else None
    )
    run_model(model, options)


def profile_command(args: argparse.Namespace) -> None:
    """Run `glow profile`."""
    from glow.tools.profile_command import profile_model

    model = cast(Path, args.model)
    output = args.output or Path(f"{model.stem}.profile.yaml")
    options = CompileOptions(**input_options(args))
    profile_model(model, args.data, args.batches, output, options, merge=args.merge)


def report_command(args: argparse.Namespace) -> None:
    """Run `glow report`."""
    from glow.tools.report_command import report_model

    model = cast(Path, args.model)
    output = args.output or Path(f"{model.stem}.report.html")
    report_model(model, output, compile_options(args), profile=args.profile)


def run_glow(arguments: Sequence[str]) -> int | None:
    """Run the tool on a command line (without the program's name); the exit status."""
    args = make_parser().parse_args(arguments)
    return cast(Callable[[argparse.Namespace], int | None], args.work)(args)


def main() -> None:
    """The entry point of the console script."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    sys.exit(run_reporting(TOOL, lambda: run_glow(arguments), debug=debug))


if __name__ == "__main__":
    main()
