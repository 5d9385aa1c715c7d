"""Transposing reads and writes by a butterfly of shuffles.

A row whose lanes are far apart in memory is cheap where another dimension of the vector
is contiguous and as long: `n` rows are loaded along that dimension and turned by
`n * log2(n)` two-operand shuffles (Eklundh's transposition).
"""

from __future__ import annotations

from itertools import product

from xdsl.ir import SSAValue

from glow.lowering.loops_to_llvm.function_lowering import (
    Address,
    FunctionLowering,
    Registers,
)
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    row_major,
    row_offsets,
)


def find_transposition(layout: RegisterLayout, strides: tuple[int, ...]) -> int | None:
    """Returns the vector dimension that is contiguous in memory and can swap places
    with the last one: equal in length, a power of two.
    """
    width = layout.width
    if width < 2 or width & (width - 1):
        return None
    for dimension, (extent, stride) in enumerate(
        zip(layout.shape, strides, strict=False)
    ):
        if stride == layout.element_bytes and extent == width:
            return dimension
    return None


def square_blocks(layout: RegisterLayout, dimension: int) -> list[list[int]]:
    """Returns the row numbers of each square block that a transposition turns."""
    steps = row_major(layout.shape)
    others = [
        [k * step for k in range(1 if d == dimension else extent)]
        for d, (extent, step) in enumerate(zip(layout.shape, steps, strict=True))
    ]
    step = steps[dimension]
    return [
        [sum(corner) + k * step for k in range(layout.width)]
        for corner in product(*others)
    ]


def read_transposed(
    low: FunctionLowering,
    address: Address,
    layout: RegisterLayout,
    strides: tuple[int, ...],
    dimension: int,
) -> Registers:
    """Returns the registers of a read whose contiguous dimension is not the last."""
    builder = low.builder
    swapped = swap(strides, dimension)
    offsets = row_offsets(layout, swapped)
    type_ = layout.row_types[0]
    loaded = [
        builder.load(
            address.pointer, address.distance + offset, type_, layout.element_bytes
        )
        for offset in offsets
    ]
    return turn(low, loaded, layout, dimension)


def transposed(
    low: FunctionLowering,
    registers: Registers,
    layout: RegisterLayout,
    strides: tuple[int, ...],
    dimension: int,
) -> tuple[Registers, tuple[int, ...]]:
    """Returns the registers turned so that rows are contiguous, and their strides."""
    turned = turn(low, list(registers), layout, dimension)
    return turned, swap(strides, dimension)


def swap(strides: tuple[int, ...], dimension: int) -> tuple[int, ...]:
    """Returns the strides with one dimension and the last exchanged."""
    swapped = list(strides)
    swapped[dimension], swapped[-1] = swapped[-1], swapped[dimension]
    return tuple(swapped)


def turn(
    low: FunctionLowering,
    rows: list[SSAValue],
    layout: RegisterLayout,
    dimension: int,
) -> list[SSAValue]:
    """Returns all rows with each square block transposed."""
    result = list(rows)
    for block in square_blocks(layout, dimension):
        turned = butterfly(low, [rows[k] for k in block])
        for k, row in zip(block, turned, strict=True):
            result[k] = row
    return result


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
