"""Glow's description of a bundle (`--api=dynamic`) as constants of its object, in LLVM IR.

    @NAME_config: { constants, mutables, activations, alignment, symbols, their table }

A symbol is a name, an offset in the mutables, a count of elements, and 1 for mutable.
"""

from __future__ import annotations

from glow.backends.bundle_program import BundleFunction, BundleProgram
from glow.bundles.bundle import places

MUTABLE = 1


def config_text(entry: str, function: BundleFunction, program: BundleProgram) -> str:
    """The description of one network, and what it points to."""
    lines: list[str] = []
    rows: list[str] = []
    for number, place in enumerate(places(function)):
        name = place.name.encode()
        text = "".join(f"\\{byte:02X}" for byte in name)
        label = f"@{function.name}_symbol{number}"
        lines.append(
            f'{label} = internal constant [{len(name) + 1} x i8] c"{text}\\00"'
        )
        elements = place.nbytes // place.dtype.itemsize
        rows.append(
            f"{{ ptr, i64, i64, i8 }} {{ ptr {label}, i64 {place.offset}, "
            f"i64 {elements}, i8 {MUTABLE} }}"
        )
    table = f"@{function.name}_symbols"
    lines.append(
        f"{table} = internal constant [{len(rows)} x {{ ptr, i64, i64, i8 }}] "
        f"[{', '.join(rows)}]"
    )
    sizes = (
        program.constants.nbytes,
        function.mutables_bytes,
        function.activations_bytes,
        program.alignment,
        len(rows),
    )
    numbers = ", ".join(f"i64 {size}" for size in sizes)
    lines.append(
        f"@{entry}_config = constant {{ i64, i64, i64, i64, i64, ptr }} "
        f"{{ {numbers}, ptr {table} }}"
    )
    return "\n".join(lines)
