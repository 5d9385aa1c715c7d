"""Where the tiles of a Winograd convolution lie, and which of their inputs are padding.

Borders and remainders need no halo, mask or extra code. The last tile of a row or column is
moved up to end with the plane, so only the first and last rows and columns of a patch, as many as
there are pads, can lie in the padding: they are read at a clamped address, and zero is selected.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import WinogradTiling
from glow.lowering.loop_builder.builder import Condition, Index, LoopBuilder


class Origin(NamedTuple):
    """The first tile row (of all images) of a block, and its first tile in the row."""

    row: Index
    across: Index


@dataclass(frozen=True)
class Scratch:
    """A scratch buffer and the region of it that the running call uses."""

    buffer: SSAValue
    region: Index

    def at(self, *position: Index) -> tuple[Index, ...]:
        """The indices of (block, position, tile, lane)."""
        return (self.region, *position)


class Tile(NamedTuple):
    """A tile: its number in the block, its image, and its first output row and column.

    The tile above stores the first `shared_rows` rows too.
    """

    number: Index
    image: Index
    row: Index
    column: Index
    shared_rows: Index


TileBody: TypeAlias = Callable[[Tile], None]


def visit_row(
    b: LoopBuilder, tiling: WinogradTiling, origin: Origin, row: Index, body: TileBody
) -> None:
    """Runs the body on the tiles of one row (segment) of the block that starts at `origin`."""
    spec, count = tiling.spec, tiling.tiles_across
    extents = (spec.batch, spec.tiles_down)
    image, down = b.unflatten(b.add(origin.row, row), extents)
    tile_rows, tile_columns = spec.tile_plane
    nominal = b.mul(down, tile_rows)
    y = _clamped(b, spec, nominal, 0)
    number = b.mul(row, count)

    def tile(across: Index) -> None:
        x = _clamped(b, spec, b.mul(b.add(origin.across, across), tile_columns), 1)
        body(Tile(b.add(number, across), image, y, x, b.sub(nominal, y)))

    b.loop(0, count, 1, tile)


def _clamped(b: LoopBuilder, spec: WinogradSpec, origin: Index, axis: int) -> Index:
    size, tile = spec.output_plane[axis], spec.tile_plane[axis]
    return b.minimum(origin, size - tile) if size % tile else origin


@dataclass(frozen=True)
class PatchAxis:
    """The rows (axis 0) or columns (axis 1) of the patch of an output tile."""

    spec: WinogradSpec
    axis: int
    origin: Index
    """The first output row (column) of the tile."""

    def position(self, b: LoopBuilder, index: Index) -> Index:
        """Where row (column) `index` is read: itself, or the nearest one inside."""
        before, after = self._pads
        position = b.sub(b.add(self.origin, index), before)
        outer = not isinstance(index, int)
        if before and (outer or index < before):
            position = b.maximum(position, 0)
        if after and (outer or index >= self.spec.patch_plane[self.axis] - after):
            position = b.minimum(position, self.spec.plane[self.axis] - 1)
        return position

    def select(self, b: LoopBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The values of the rows (columns), zero in the padding."""
        before, after = self._pads
        result = list(values)
        for index in range(before):
            outside = b.compare("slt", self.origin, before - index)
            result[index] = _zero_if(b, outside, result[index])
        end = self.spec.output_plane[self.axis] - self.spec.tile_plane[self.axis]
        for index in range(after):
            outside = b.compare("sgt", self.origin, end - after + index)
            result[-1 - index] = _zero_if(b, outside, result[-1 - index])
        return result

    @property
    def _pads(self) -> tuple[int, int]:
        return self.spec.pads[self.axis], self.spec.pads[self.axis + 2]


def _zero_if(b: LoopBuilder, outside: Condition, value: SSAValue) -> SSAValue:
    zero = b.like(0.0, value)
    if isinstance(outside, bool):
        return zero if outside else value
    return b.select(outside, zero, value)
