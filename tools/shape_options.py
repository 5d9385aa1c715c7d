"""`--shape` and `--value`: what a command fixes of the inputs that a model leaves open."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from glow.dialects.errors import UsageError
from glow.options import AUTO

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from glow.open_sizes import ImportOptions, InputOptions, InputShapes

    Array = npt.NDArray[np.generic]


def add_shape_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="shape of an input that has open sizes (x=1x3x224x224), or one of those sizes "
        "by its name (N=4); gives sizes names for --buckets (x=1x3x48xwidth); may be repeated",
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="NAME=NUMBERS",
        help="fix an input to a number (k=5) or a list (axes=0,2), and take it from the "
        "inputs; may be repeated",
    )


def add_bucket_option(parser: argparse.ArgumentParser) -> None:
    """Declare the option of commands whose programs may be for larger sizes than asked."""
    parser.add_argument(
        "--buckets",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="the only sizes that programs are compiled for, of an open size by its name "
        "(length=16,32,64): others are padded to the next; may be repeated; or auto",
    )


def import_options(args: argparse.Namespace) -> ImportOptions:
    """What the options fix; UsageError for what is no shape or number."""
    return {"input_shapes": _shapes(args), "input_values": _values(args)}


def input_options(args: argparse.Namespace) -> InputOptions:
    """What the options give; UsageError for what is no shape or number."""
    found: InputOptions = {**import_options(args)}
    buckets: list[str] = getattr(args, "buckets", [])
    if AUTO in buckets:
        return {**found, "buckets": AUTO}
    return {**found, "buckets": _buckets(buckets)} if buckets else found


def refuse_for_text(args: argparse.Namespace) -> None:
    """Raise UsageError for options that MLIR text, whose shapes are static, has no use for."""
    if args.shape or args.value:
        raise UsageError("--shape and --value are for ONNX models, not for MLIR text")


def _shapes(args: argparse.Namespace) -> InputShapes | None:
    """The shapes and sizes of `--shape`; UsageError for what is none."""
    shapes: dict[str, tuple[int | str, ...] | int] = {}
    for name, text in _pairs("--shape", args.shape).items():
        sizes = tuple(_size(part) for part in text.split("x"))
        if any(size is None for size in sizes):
            raise UsageError(
                f"--shape {name}={text} is not a shape of whole numbers such as 1x3x224"
            )
        known = tuple(size for size in sizes if size is not None)
        # One number is a size by its name; the importer takes it as a shape of an input.
        only = known[0] if len(known) == 1 else None
        shapes[name] = only if isinstance(only, int) else known
    return shapes or None


def _size(text: str) -> int | str | None:
    """A number, or a name; None for what is neither."""
    try:
        return int(text)
    except ValueError:
        return text if text.isidentifier() else None


def _buckets(given: list[str]) -> dict[str, tuple[int, ...]]:
    """The sizes of `--buckets`; UsageError for what is none."""
    buckets: dict[str, tuple[int, ...]] = {}
    for name, text in _pairs("--buckets", given).items():
        try:
            buckets[name] = tuple(map(int, text.split(",")))
        except ValueError:
            raise UsageError(
                f"--buckets {name}={text} is not a list of sizes such as 16,32,64"
            ) from None
    return buckets


def _values(args: argparse.Namespace) -> dict[str, Array] | None:
    """The arrays of `--value`; UsageError for what is no list of numbers."""
    values = {
        name: _numbers(name, text)
        for name, text in _pairs("--value", args.value).items()
    }
    return values or None


def _pairs(option: str, arguments: list[str]) -> dict[str, str]:
    """Texts by name; UsageError for a name that is given twice."""
    pairs: dict[str, str] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not (name and equals):
            raise UsageError(f"{option} needs NAME=..., not '{argument}'")
        if name in pairs:
            raise UsageError(f"{option} {name} is given twice")
        pairs[name] = text
    return pairs


def _numbers(name: str, text: str) -> Array:
    words = [word.strip().lower() for word in text.split(",")] if text.strip() else []
    try:
        numbers = [_number(word) for word in words]
    except ValueError:
        line = f"--value {name}={text} is not a list of numbers such as 0,2"
        raise UsageError(line) from None
    import numpy as np

    array = np.array(numbers, None if numbers else np.int64)
    return array.reshape(()) if len(numbers) == 1 else array


def _number(word: str) -> bool | int | float:
    if word in ("true", "false"):
        return word == "true"
    try:
        return int(word)
    except ValueError:
        return float(word)
