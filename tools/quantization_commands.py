"""The command lines of `glow quantize-report` and `glow tune-quantization`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from glow.dialects.errors import GlowError, UsageError

if TYPE_CHECKING:
    from glow.passes.quantization.options import QuantizationOptions


def at_least(least: int) -> Callable[[str], int]:
    """A function that reads a number, which must not be less."""

    def number(text: str) -> int:
        if not text.removeprefix("-").isdecimal():
            raise argparse.ArgumentTypeError(f"expected a whole number, not '{text}'")
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


def finite(text: str) -> float:
    """The number that `text` spells, if it is finite."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"expected a finite number, not '{text}'")
    return number


def not_negative(text: str) -> float:
    """The number that `text` spells, if it is finite and at least 0."""
    if finite(text) < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return finite(text)


def add_common(parser: argparse.ArgumentParser, suffix: str) -> None:
    """Declare what both commands take."""
    parser.add_argument("model", type=Path, help=".onnx or .mlir file")
    parser.add_argument(
        "--profile",
        type=Path,
        required=True,
        metavar="PROFILE.yaml",
        help="what glow profile wrote",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE.npz|FOLDER",
        help="inputs to measure on, as for glow profile (random ones)",
    )
    parser.add_argument(
        "--options",
        default="",
        metavar="'KEY=VALUE ...'",
        help="how to quantize, as in glow-opt --quantize='...'",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help=f"file to write (MODEL{suffix} in the current folder)",
    )


def add_quantize_report_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow quantize-report`."""
    add_common(parser, ".quantization.html")
    parser.add_argument(
        "--batches", type=at_least(1), default=4, help="how many to use (4)"
    )
    parser.set_defaults(work=quantize_report_command)


def add_tune_quantization_command(parser: argparse.ArgumentParser) -> None:
    """Declare `glow tune-quantization`."""
    add_common(parser, ".tuned.profile.yaml")
    parser.add_argument(
        "--score",
        metavar="MODULE:FUNCTION",
        help="a Python function that rates a compiled model, more is better (the "
        "accuracy on --data)",
    )
    parser.add_argument(
        "--labels",
        default="labels",
        metavar="NAME",
        help="the array of labels in --data (labels)",
    )
    parser.add_argument("--target", type=finite, help="the score to reach")
    parser.add_argument(
        "--drop",
        type=not_negative,
        default=0.004,
        help="without --target: what the score may lose against float (0.004)",
    )
    parser.add_argument(
        "--trials", type=at_least(1), default=100, help="how many to try at most (100)"
    )
    parser.set_defaults(work=tune_quantization_command)


def quantization(text: str) -> Path:
    """What `--quantize` takes: a profile's file, or options, which are checked."""
    if not text:
        raise argparse.ArgumentTypeError("the profile has no name")
    if "=" in text:
        from glow.quantization import parse_quantization

        try:
            parse_quantization(text)
        except GlowError as error:
            raise argparse.ArgumentTypeError(error.one_line()) from None
    return Path(text)


def options_of(args: argparse.Namespace) -> QuantizationOptions:
    """The options of a quantization."""
    from glow.quantization import parse_quantization

    text = cast(str, args.options)
    if text and "=" not in text:
        raise UsageError(f"--options needs key=value, not '{text}'")
    try:
        profile, options = parse_quantization(text)
    except GlowError as error:
        raise UsageError(error.message, hint=error.hint) from None
    if profile is not None:
        raise UsageError("the profile belongs to --profile, not into --options")
    return options


def quantize_report_command(args: argparse.Namespace) -> None:
    """Run `glow quantize-report`."""
    from glow.tools.quantize_report_command import report_model

    model = cast(Path, args.model)
    report_model(
        model,
        args.profile,
        args.data,
        args.batches,
        options_of(args),
        args.output or Path(f"{model.stem}.quantization.html"),
    )


def tune_quantization_command(args: argparse.Namespace) -> None:
    """Run `glow tune-quantization`."""
    from glow.tools.tune_quantization_command import Goal, tune_model

    model = cast(Path, args.model)
    tune_model(
        model,
        args.profile,
        args.data,
        Goal(args.score, args.labels, args.target, args.drop, args.trials),
        options_of(args),
        args.output or Path(f"{model.stem}.tuned.profile.yaml"),
    )
