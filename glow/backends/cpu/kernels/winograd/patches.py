"""The patch of inputs of a tile: in registers, or on the stack between passes of a transform."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiles import PatchAxis, Tile
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

Carried: TypeAlias = Sequence[SSAValue]


class StackPatch:
    """A patch on the stack between the passes of a transform."""

    def __init__(self, b: LoopBuilder, spec: WinogradSpec) -> None:
        shape = (*spec.patch_plane, spec.lanes)
        self.builder, self.spec = b, spec
        self.buffer = b.alloca(types.memref_type(shape, spec.element))

    def store_column(self, column: Index, values: Carried) -> None:
        """Stores the first values of a column."""
        for row, value in enumerate(values):
            self.builder.vector_store(value, self.buffer, row, column, 0)

    def load_row(self, row: Index) -> list[SSAValue]:
        """The values of a row."""
        return [
            self.builder.vector_load(self.spec.lanes, self.buffer, row, column, 0)
            for column in range(self.spec.patch_plane[1])
        ]


def patch_columns(
    b: LoopBuilder, spec: WinogradSpec, source: SSAValue, block: Index, tile: Tile
) -> Callable[[Index], list[SSAValue]]:
    """What loads a column of a tile's patch, with zeros in rows of padding."""
    rows = PatchAxis(spec, 0, tile.row)
    columns = PatchAxis(spec, 1, tile.column)
    # Outside the loop over columns, as the lowering does not move code out of loops.
    lines = [rows.position(b, i) for i in range(spec.patch_plane[0])]

    def load(column: Index) -> list[SSAValue]:
        x = columns.position(b, column)
        values = [
            b.vector_load(spec.lanes, source, tile.image, block, y, x, 0) for y in lines
        ]
        return rows.select(b, values)

    return load


def load_patch(
    b: LoopBuilder,
    spec: WinogradSpec,
    source: SSAValue,
    block: Index,
    tile: Tile,
    stack: StackPatch,
) -> None:
    """Puts a tile's patch on the stack, with zeros in the padding."""
    load = patch_columns(b, spec, source, block, tile)
    columns = PatchAxis(spec, 1, tile.column)

    def across(row: Index) -> None:
        for column, value in enumerate(columns.select(b, stack.load_row(row))):
            b.vector_store(value, stack.buffer, row, column, 0)

    height, width = spec.patch_plane
    b.loop(0, width, 1, lambda k: stack.store_column(k, load(k)))
    b.loop(0, height, 1, across)


def load_line(
    b: LoopBuilder, spec: WinogradSpec, source: SSAValue, block: Index, tile: Tile
) -> list[SSAValue]:
    """The patch of a tile that is one row or column, with zeros in the padding."""
    (along,) = spec.axes
    line = PatchAxis(spec, along, (tile.row, tile.column)[along])

    def value(index: int) -> SSAValue:
        at = [tile.row, tile.column]
        at[along] = line.position(b, index)
        return b.vector_load(spec.lanes, source, tile.image, block, *at, 0)

    return line.select(b, [value(index) for index in range(spec.patch)])
