"""Transposing reads and writes by butterflies of shuffles.

A row whose lanes are far apart in memory is cheap where another dimension of the vector
is contiguous: rows are loaded along that dimension and turned by `n * log2(n)`
two-operand shuffles per square block (Eklundh's transposition). A block of `16 x 4` is
four squares whose rows are joined, one of `4 x 16` four squares that rows are cut into.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from glow.lowering.loops_to_llvm.builder import LlvmBuilder
from glow.lowering.loops_to_llvm.function_lowering import (
    Address,
    FunctionLowering,
    Registers,
)
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    lanes_of,
    register_type,
    row_major,
    row_offsets,
)


class Transposition(NamedTuple):
    """A vector dimension that is contiguous in memory, to swap with the last one."""

    dimension: int
    loaded: RegisterLayout
    """The layout with the two dimensions exchanged: as rows lie in memory."""
    strides: tuple[int, ...]
    """The strides of `loaded`."""


def find_transposition(
    layout: RegisterLayout, strides: tuple[int, ...]
) -> Transposition | None:
    """Returns a transposition that makes rows contiguous; both extents must be powers
    of two.
    """
    if not is_power_of_two(layout.width):
        return None
    for dimension, extent in enumerate(layout.shape):
        if strides[dimension] == layout.element_bytes and is_power_of_two(extent):
            swapped = swap(strides, dimension)
            return Transposition(dimension, swapped_layout(layout, dimension), swapped)
    return None


def is_power_of_two(number: int) -> bool:
    """Whether a number is 2, 4, 8 ..."""
    return number > 1 and not number & (number - 1)


def swap(numbers: tuple[int, ...], dimension: int) -> tuple[int, ...]:
    """Returns a tuple with one position and the last exchanged."""
    swapped = list(numbers)
    swapped[dimension], swapped[-1] = swapped[-1], swapped[dimension]
    return tuple(swapped)


def swapped_layout(layout: RegisterLayout, dimension: int) -> RegisterLayout:
    """Returns the layout with one dimension and the last exchanged."""
    *shape, width = swap((*layout.shape, layout.width), dimension)
    row = (register_type(layout.element, width),)
    return layout._replace(
        shape=tuple(shape),
        width=width,
        chunks=((0, width),),
        row_types=row,
        types=row * prod(shape),
    )


def read_transposed(
    low: FunctionLowering, address: Address, layout: RegisterLayout, how: Transposition
) -> Registers:
    """Returns the registers of a read whose contiguous dimension is not the last."""
    builder, size = low.builder, layout.element_bytes
    type_ = how.loaded.row_types[0]
    loaded = [
        builder.load(address.pointer, address.distance + offset, type_, size)
        for offset in row_offsets(how.loaded, how.strides)
    ]
    return turn(low, loaded, how.loaded, layout, how.dimension)


def transposed(
    low: FunctionLowering,
    registers: Registers,
    layout: RegisterLayout,
    how: Transposition,
) -> Registers:
    """Returns the registers of a write turned so that rows are contiguous."""
    return turn(low, registers, layout, how.loaded, how.dimension)


def turn(
    low: FunctionLowering,
    rows: Registers,
    before: RegisterLayout,
    after: RegisterLayout,
    dimension: int,
) -> list[SSAValue]:
    """Returns the rows of a vector with one dimension and the last exchanged."""
    result: dict[int, SSAValue] = {}
    sources = lines(before, dimension)
    targets = lines(after, dimension)
    for source, target in zip(sources, targets, strict=True):
        turned = transpose_block(low, [rows[k] for k in source], before.width)
        result.update(zip(target, turned, strict=True))
    return [result[k] for k in range(after.rows)]


def lines(layout: RegisterLayout, dimension: int) -> list[list[int]]:
    """Returns the row numbers along a dimension, for each place in the others."""
    steps = row_major(layout.shape)
    others = [
        [k * step for k in range(1 if d == dimension else extent)]
        for d, (extent, step) in enumerate(zip(layout.shape, steps, strict=True))
    ]
    step, extent = steps[dimension], layout.shape[dimension]
    return [
        [sum(corner) + k * step for k in range(extent)] for corner in product(*others)
    ]


def transpose_block(
    low: FunctionLowering, rows: list[SSAValue], width: int
) -> list[SSAValue]:
    """Returns `width` rows of `len(rows)` lanes from `len(rows)` rows of `width`."""
    height, builder = len(rows), low.builder
    size = min(height, width)
    pieces = [
        [cut(builder, row, first, size, width) for first in range(0, width, size)]
        for row in rows
    ]
    squares = [
        [
            butterfly(low, [pieces[top + k][column] for k in range(size)])
            for top in range(0, height, size)
        ]
        for column in range(width // size)
    ]
    return [
        join(builder, [square[k] for square in column])
        for column in squares
        for k in range(size)
    ]


def cut(
    builder: LlvmBuilder, row: SSAValue, first: int, size: int, width: int
) -> SSAValue:
    """Returns some lanes of a row."""
    if size == width:
        return row
    mask = tuple(range(first, first + size))
    return builder.shuffle(row, builder.poison(row.type), mask)


def join(builder: LlvmBuilder, parts: list[SSAValue]) -> SSAValue:
    """Returns equal registers, a power of two of them, one behind the other."""
    while len(parts) > 1:
        mask = tuple(range(2 * lanes_of(parts[0].type)))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [builder.shuffle(lhs, rhs, mask) for lhs, rhs in pairs]
    return parts[0]


def butterfly(low: FunctionLowering, rows: list[SSAValue]) -> list[SSAValue]:
    """Returns the transposition of n rows of n lanes."""
    size, shuffle = len(rows), low.builder.shuffle
    distance = 1
    while distance < size:
        low_mask, high_mask = butterfly_masks(size, distance)
        turned = list(rows)
        for k in range(size):
            if not k & distance:
                pair = rows[k], rows[k + distance]
                turned[k] = shuffle(*pair, low_mask)
                turned[k + distance] = shuffle(*pair, high_mask)
        rows = turned
        distance *= 2
    return rows


def butterfly_masks(
    size: int, distance: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the masks of the lower and the upper row of one exchange."""
    lower = tuple(
        size + lane - distance if lane & distance else lane for lane in range(size)
    )
    upper = tuple(
        size + lane if lane & distance else lane + distance for lane in range(size)
    )
    return lower, upper
