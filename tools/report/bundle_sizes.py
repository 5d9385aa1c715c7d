"""`glow size`: what a bundle takes of flash and RAM, and each of its kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from glow.bundles.sizes import BundleSizes, bundle_sizes


def print_sizes(folder: Path, *, as_json: bool) -> None:
    """Print the sizes of the bundle in a folder as a table, or as JSON."""
    sizes = bundle_sizes(folder)
    if as_json:
        print(json.dumps(sizes.as_json(), indent=2))
    else:
        print("\n".join(lines(sizes)))


def lines(sizes: BundleSizes) -> Iterator[str]:
    """The table, line by line."""
    stack = "?" if sizes.stack is None else str(sizes.stack)
    yield f"{sizes.name} for {sizes.target}"
    yield row("flash", str(sizes.flash))
    for name in ("text", "rodata", "weights"):
        yield row(f"  {name}", str(getattr(sizes, name)))
    yield row("RAM", str(sizes.ram))
    yield row("  activations", str(sizes.activations))
    yield row("  inputs and outputs", str(sizes.inputs_and_outputs))
    yield row("  stack", stack)
    yield "kernels"
    for name, size in sorted(sizes.kernels.items(), key=lambda item: -item[1]):
        yield row(f"  {name}", str(size))


def row(label: str, value: str) -> str:
    """A line of the table."""
    return f"{label:48}{value:>9}"
