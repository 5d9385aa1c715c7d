"""The options that `glow compile`, `run` and `report` share, as one `CompileOptions`."""

from __future__ import annotations

import argparse
from pathlib import Path

from glow.backends.backend import DEFAULT_BACKEND
from glow.dialects.numerics import NUMERICS, WEIGHT_GROWTH
from glow.options import PRECISIONS, CompileOptions
from glow.tools.quantization_commands import not_negative, quantization
from glow.tools.shape_options import (
    add_bucket_option,
    add_shape_options,
    input_options,
)
from glow.tools.target_options import (
    add_target_name,
    add_target_options,
    target_of,
)


def output_file(text: str) -> Path | None:
    """Where a program goes: None, which is standard output, for `-`, as in other MLIR tools."""
    return None if text == "-" else Path(text)


def model_file(text: str) -> Path:
    """The path of a model, for which argparse takes an unknown option with a blank, too."""
    if text.startswith("--"):
        name = text.partition("=")[0]
        raise argparse.ArgumentTypeError(f"unknown option '{name}'")
    return Path(text)


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Declare who compiles, for which machine, and on what the network computes."""
    parser.add_argument(
        "--backend",
        metavar="NAME",
        default=DEFAULT_BACKEND,
        help=f"who compiles and runs the network ({DEFAULT_BACKEND}); interpreter, or one "
        "that another package brings; of several, as in npu,cpu, the first that runs a node "
        "takes it",
    )
    add_target_name(parser)
    add_target_options(parser)
    add_shape_options(parser)
    add_bucket_option(parser)
    add_numbers_options(parser)


def add_input_option(parser: argparse.ArgumentParser) -> None:
    """Declare the values that a network runs on."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="value of an input (may be repeated); inputs without one are random",
    )


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """Declare on which device of its backend a network runs."""
    parser.add_argument(
        "--device",
        metavar="NAME|N",
        help="on which device of the backend (the first): a line of glow devices, by its "
        "name, its number or words of its description",
    )


def add_numbers_options(parser: argparse.ArgumentParser) -> None:
    """Declare what the network computes on, and how exactly."""
    parser.add_argument(
        "--quantize",
        type=quantization,
        metavar="PROFILE.yaml",
        help="quantize to 8 bits by a profile that glow profile made; options as in "
        "glow-opt: 'profile=PROFILE.yaml schema=symmetric ...'",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="f32",
        help="floats that products multiply (f32): bf16 where that is faster, or fp16; "
        "sums stay f32",
    )
    parser.add_argument(
        "--numerics",
        choices=NUMERICS,
        default="default",
        help="how far results may be from direct sums (default): exact for none but "
        "these, fast for larger errors and less time",
    )
    parser.add_argument(
        "--weight-growth",
        type=not_negative,
        default=WEIGHT_GROWTH,
        metavar="FACTOR",
        help="weights of convolutions may grow by so many times the bytes of all weights "
        f"when they are transformed for less multiplications ({WEIGHT_GROWTH})",
    )


def compile_options(args: argparse.Namespace) -> CompileOptions:
    """What a command line asks for; commands without an option leave its default."""
    return CompileOptions(
        backend=args.backend,
        target=target_of(args),
        device=getattr(args, "device", None),
        threads=getattr(args, "threads", None),
        **input_options(args),
        numerics=args.numerics,
        quantize=args.quantize or False,
        precision=args.precision,
        memory_limit=getattr(args, "memory_limit", None),
        weight_growth=args.weight_growth,
    )
