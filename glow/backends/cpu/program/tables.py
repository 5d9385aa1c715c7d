"""Tables in the mutables that tell at run time where a program's buffers are."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from glow.backends.cpu.program.program import BufferBinding, Program


@dataclass(frozen=True)
class TableEntry:
    """Where it is told at run time how far a buffer is from the start of its space."""

    table: int
    """Where in the mutables the table is."""
    size: int
    """The table's entries."""
    number: int
    distance: int
    """Of a binding from the start of that buffer."""


def entry_of(program: Program, binding: BufferBinding) -> TableEntry | None:
    """The entry that tells where a binding is; None where that is known."""
    if binding.space == "constants":
        starts = [offset for offset, _ in program.pieces]
        table, number = program.piece_table_offset, _piece_at(program, binding)
    elif binding.space == "mutables" and not program.has_fixed_arguments:
        starts = [argument.offset for argument in program.arguments]
        table, number = program.table_offset, program.argument_at(binding)
    else:
        return None
    if number < 0:
        return None
    return TableEntry(table, len(starts), number, binding.offset - starts[number])


def _piece_at(program: Program, binding: BufferBinding) -> int:
    """The number of the piece that a binding in the constants is a part of, or -1."""
    end = program.sizes["constants"]
    number = bisect_right(program.pieces, (binding.offset, end)) - 1
    if number < 0:
        return -1
    offset, size = program.pieces[number]
    return number if binding.offset < offset + size else -1
