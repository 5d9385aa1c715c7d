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


def block_origin(b: LoopBuilder, tiling: WinogradTiling, number: Index) -> Origin:
    """Where a block starts: blocks are segments of rows, or several rows."""
    spec = tiling.spec
    block, segment = b.unflatten(number, (tiling.row_blocks, tiling.segments))
    row = b.mul(block, tiling.block_rows)
    across = b.mul(segment, tiling.tiles_across)
    if spec.tile_rows % tiling.block_rows:
        row = b.minimum(row, spec.tile_rows - tiling.block_rows)
    if spec.tiles_across % tiling.tiles_across:
        across = b.minimum(across, spec.tiles_across - tiling.tiles_across)
    return Origin(row, across)


def group_of(b: LoopBuilder, spec: WinogradSpec, origin: Origin) -> Index:
    """The group that the block at an origin belongs to."""
    if spec.groups == 1:
        return 0
    return b.unflatten(origin.row, (*spec.images, spec.tiles_down))[1]


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

    def select(
        self, b: LoopBuilder, values: Sequence[SSAValue], fill: float = 0.0
    ) -> list[SSAValue]:
        """The values of the rows (columns), `fill` in the padding."""
        result = list(values)
        for index, outside in self.outside(b).items():
            padding = b.like(fill, result[index])
            result[index] = chosen(b, outside, padding, result[index])
        return result

    def outside(self, b: LoopBuilder) -> dict[int, Condition]:
        """Whether those rows (columns) are padding that may be; from the end they are negative."""
        before, after = self._pads
        end = self.spec.output_plane[self.axis] - self.spec.tile_plane[self.axis]
        first = {
            index: b.compare("slt", self.origin, before - index)
            for index in range(before)
        }
        last = {
            -1 - index: b.compare("sgt", self.origin, end - after + index)
            for index in range(after)
        }
        return first | last

    @property
    def _pads(self) -> tuple[int, int]:
        return self.spec.pads[self.axis], self.spec.pads[self.axis + 2]


def chosen(b: LoopBuilder, condition: Condition, a: SSAValue, c: SSAValue) -> SSAValue:
    """A vector where a condition holds, else another."""
    if isinstance(condition, bool):
        return a if condition else c
    return b.select(condition, a, c)
