"""Glow's description of a bundle (`--api=dynamic`) as constants of its object, in LLVM IR.

    @NAME_config: { constants, mutables, activations, alignment, symbols, their table }

A symbol is a name, an offset in the mutables, a count of elements, and 1 for mutable.
"""

from __future__ import annotations

from glow.backends.bundle_program import BundleFunction, BundleProgram, Place
from glow.bundles.bundle import places

MUTABLE = 1
SYMBOL = "{ ptr, i64, i64, i8 }"
CONFIG = "{ i64, i64, i64, i64, i64, ptr }"


def config_text(entry: str, function: BundleFunction, program: BundleProgram) -> str:
    """The description of one network, and what it points to."""
    symbols = [_symbol(function, n, each) for n, each in enumerate(places(function))]
    rows = ", ".join(row for _, row in symbols)
    sizes = (
        program.constants.nbytes,
        function.mutables_bytes,
        function.activations_bytes,
        program.alignment,
        len(symbols),
    )
    numbers = ", ".join(f"i64 {size}" for size in sizes)
    table = f"@{function.name}_symbols"
    lines = [name for name, _ in symbols]
    lines.append(f"{table} = internal constant [{len(symbols)} x {SYMBOL}] [{rows}]")
    lines.append(f"@{entry}_config = constant {CONFIG} {{ {numbers}, ptr {table} }}")
    return "\n".join(lines)


def _symbol(function: BundleFunction, number: int, place: Place) -> tuple[str, str]:
    """The name of an input, output or variable as a constant, and its row in the table."""
    name = place.name.encode()
    text = "".join(f"\\{byte:02X}" for byte in name)
    label = f"@{function.name}_symbol{number}"
    elements = place.nbytes // place.dtype.itemsize
    return (
        f'{label} = internal constant [{len(name) + 1} x i8] c"{text}\\00"',
        f"{SYMBOL} {{ ptr {label}, i64 {place.offset}, i64 {elements}, i8 {MUTABLE} }}",
    )
