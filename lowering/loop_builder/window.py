"""The geometry of a sliding window, and the traversal of its output plane without halos.

Planes have no physical padding. Output columns whose taps all lie inside the image form the
interior; the others, left and right, are side columns. A plane is a list of lines: each output
row (its interior part, in horizontal tiles, skipping the kernel rows that fall outside), then
each side column (in vertical tiles, skipping the kernel columns that fall outside). Where taps
are so far apart that neighbours in side columns have the same ones, rows visit those in runs of
their own, since the corners of columns are single pixels: a kernel with steps of 12 on 24 columns
has two runs of 12, and no interior. Taps in the padding are thus never computed, which saves a
fifth of the work on a 7x7 plane, and every pixel sees its taps in the same order whichever tile it
falls in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeAlias

from glow.lowering.loop_builder.builder import Index, LoopBuilder

Range: TypeAlias = tuple[Index, Index]


class Run(NamedTuple):
    """Output columns [first, end) that have the same taps [low, high) inside the image."""

    first: int
    end: int
    taps: tuple[int, int]

    @property
    def length(self) -> int:
        """The columns."""
        return self.end - self.first


LEAST_RUN, MOST_RUNS = 4, 5
"""The columns of a run, and the runs of a row, each of which is a loop body."""


@dataclass(frozen=True)
class Window:
    """A sliding window: sizes are (height, width), pads ONNX's (top, left, bottom, right)."""

    input: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    output_size: tuple[int, int] | None = None
    """The output size, when it is not the rounded-down one (ceil_mode)."""

    @property
    def output(self) -> tuple[int, int]:
        """The output (height, width)."""
        return self.output_size or (self._output(0), self._output(1))

    def _output(self, axis: int) -> int:
        reach = self.dilations[axis] * (self.kernel[axis] - 1) + 1
        padded = self.input[axis] + self.pads[axis] + self.pads[axis + 2]
        return (padded - reach) // self.strides[axis] + 1

    @property
    def is_pointwise(self) -> bool:
        """Whether output pixel p depends on input pixel p only."""
        unit = self.kernel == (1, 1) == self.strides and not any(self.pads)
        return unit and self.output == self.input

    def flattened(self) -> "Window":
        """The same pointwise window on a plane of one row: pixels are contiguous."""
        return Window((1, prod(self.input)), (1, 1))

    def interior(self, axis: int) -> tuple[int, int]:
        """The output positions [low, high) of an axis whose taps all lie inside."""
        stride, pad, size = self.strides[axis], self.pads[axis], self.output[axis]
        reach = self.dilations[axis] * (self.kernel[axis] - 1) + 1
        low = min(-(-pad // stride), size)
        high = min((self.input[axis] + pad - reach) // stride + 1, size)
        return low, max(low, high)

    def side_columns(self) -> int:
        """The number of output columns outside the interior."""
        low, high = self.interior(1)
        return self.output[1] - (high - low)

    @cached_property
    def row_runs(self) -> tuple[Run, ...]:
        """The columns that rows visit: those of the interior, or all in runs of the same taps."""
        (low, high), runs = self.interior(1), self._runs()
        sides = [run.length for run in runs if not low <= run.first < high]
        if sides and min(sides) >= LEAST_RUN and len(runs) <= MOST_RUNS:
            return runs
        return (Run(low, high, (0, self.kernel[1])),) if low < high else ()

    def _runs(self) -> tuple[Run, ...]:
        """All columns, in runs of those that have the same taps inside.

        They begin where a tap enters the image, or leaves it.
        """
        width, stride, step = self.output[1], self.strides[1], self.dilations[1]
        places = [self.pads[1] - tap * step for tap in range(self.kernel[1])]
        edges = [*places, *(place + self.input[1] for place in places)]
        starts = {0, *(-(-edge // stride) for edge in edges)}
        first = sorted(start for start in starts if 0 <= start < width)
        ends = [*first[1:], width]
        return tuple(
            Run(start, end, self._taps_of_column(start))
            for start, end in zip(first, ends, strict=False)
        )

    def _taps_of_column(self, column: int) -> tuple[int, int]:
        origin, step = column * self.strides[1] - self.pads[1], self.dilations[1]
        low = max(0, -(origin // step))
        high = min(self.kernel[1], max(0, -(-(self.input[1] - origin) // step)))
        return low, max(low, high)

    @property
    def row_run(self) -> int:
        """The length that tiles of a row are for: that of the longest run."""
        return max((run.length for run in self.row_runs), default=0)

    def line_columns(self) -> int:
        """The number of output columns that rows do not visit."""
        return self.output[1] - sum(run.length for run in self.row_runs)

    def origin(self, b: LoopBuilder, axis: int, position: Index) -> Index:
        """The input position of the first tap of an output position; may be outside."""
        return b.sub(b.mul(position, self.strides[axis]), self.pads[axis])

    def taps(self, b: LoopBuilder, axis: int, position: Index) -> Range:
        """The kernel positions [low, high) of an output position that lie inside."""
        low, high = self.interior(axis)
        if (low, high) == (0, self.output[axis]):
            return 0, self.kernel[axis]
        return self._taps_within(b, axis, position, 0, self.input[axis])

    def padded_taps(self, b: LoopBuilder, axis: int, position: Index) -> Range:
        """The kernel positions [low, high) that lie inside the image and its padding."""
        before, after = self.pads[axis], self.pads[axis + 2]
        return self._taps_within(b, axis, position, -before, self.input[axis] + after)

    def _taps_within(
        self, b: LoopBuilder, axis: int, position: Index, start: int, stop: int
    ) -> Range:
        origin, step = self.origin(b, axis, position), self.dilations[axis]
        low = b.maximum(0, b.sub(start, origin))
        high = b.maximum(0, b.sub(stop, origin))
        if step > 1:
            low = b.floordiv(b.add(low, step - 1), step)
            high = b.floordiv(b.add(high, step - 1), step)
        return low, b.minimum(self.kernel[axis], high)


def plane_runs(window: Window) -> list[tuple[int, int]]:
    """The (count, length) of the runs of pixels that a traversal of the plane visits."""
    top, bottom = window.interior(0)
    rows, sides = window.output[0], window.line_columns()
    return [
        *((rows, run.length) for run in window.row_runs),
        (sides, bottom - top),
        (sides * (rows - bottom + top), 1),
    ]


class ColumnTaps(NamedTuple):
    """Columns of a kernel, and the pixels of a tile that have them inside the image."""

    columns: Range
    pixels: range


class Tile(NamedTuple):
    """A run of output pixels along a row, or down a column, and the taps they share.

    Pixels that share no column taps have `border` in their place. With `image` it is one pixel
    of `pixels` images from that one on.
    """

    row: Index
    column: Index
    pixels: int
    vertical: bool
    row_taps: Range
    column_taps: Range
    border: tuple[ColumnTaps, ...] = ()
    image: Index | None = None

    @property
    def column_groups(self) -> tuple[ColumnTaps, ...]:
        """The column taps in order, with the pixels that have them."""
        return self.border or (ColumnTaps(self.column_taps, range(self.pixels)),)

    def of(self, b: LoopBuilder, pixels: range) -> "Tile":
        """The tile of some pixels."""
        if len(pixels) == self.pixels:
            return self
        return self._replace(
            column=b.add(self.column, pixels.start), pixels=len(pixels)
        )


def outside_taps(
    b: LoopBuilder, tile: Tile, kernel: tuple[int, int]
) -> list[tuple[Range, Range]]:
    """The taps of a tile that lie in the padding, as rectangles of rows and columns."""
    height, width = kernel
    (top, bottom), (left, right) = tile.row_taps, tile.column_taps
    # Of a window that lies in the padding, the first tap inside is none of its own.
    top, left = b.minimum(top, height), b.minimum(left, width)
    rectangles: list[tuple[Range, Range]] = [
        ((0, top), (0, width)),
        ((bottom, height), (0, width)),
        ((top, bottom), (0, left)),
        ((top, bottom), (right, width)),
    ]
    return [(r, c) for r, c in rectangles if not _is_empty(r) and not _is_empty(c)]


def _is_empty(taps: Range) -> bool:
    low, high = taps
    return isinstance(low, int) and isinstance(high, int) and low >= high


TileBody: TypeAlias = Callable[[Tile], None]
TileSize: TypeAlias = Callable[[int], int]
"""How many pixels a tile should have to cover a run of that many."""


ENOUGH_WORK_ITEMS = 64
"""Eight threads then wait for each other at most an eighth of the time."""


FEW_LINES = 16
"""A line more or less than another thread has is then too much."""


def chunks_of(lines: int, pieces: int) -> int:
    """The chunks into which to cut the lines of each of so many independent pieces.

    A power of two, so that all kernels cut a plane in its middle; with few lines one that
    divides them, or each line by itself.
    """
    chunks = 1 << max(0, -(-ENOUGH_WORK_ITEMS // pieces) - 1).bit_length()
    if lines >= FEW_LINES:
        return min(lines, chunks)
    while lines % chunks:
        chunks //= 2
    return chunks if 2 * chunks * pieces >= ENOUGH_WORK_ITEMS else lines


def row_segments(window: Window, tile_size: TileSize, planes: int) -> int:
    """The segments to cut each row into, so that `planes` planes give enough work items."""
    runs = [run.length for run in window.row_runs]
    if not runs:
        return 1
    tiles = max(-(-run // tile_size(run)) for run in runs)
    return chunks_of(tiles, window.output[0] * planes)


def tiles_of_runs(window: Window, pixels: int) -> TileSize:
    """Tiles of so many pixels in the longest run of a row, and of no more in the others."""

    def size(run: int) -> int:
        if run >= window.row_run:
            return pixels
        return -(-run // -(-run // pixels))

    return size


@dataclass(frozen=True)
class PlaneTraversal:
    """Visits the output lines of a window in tiles.

    With `static_rows`, rows whose taps all lie inside get bodies with constant tap ranges, which
    kernels that unroll their taps want. A row is `segments` lines.
    """

    window: Window
    tile_size: TileSize
    static_rows: bool = False
    segments: int = 1
    side_size: TileSize | None = None
    """The tile size in side columns, `tile_size` unless given."""
    whole_rows: bool = False
    """Whether a row's pixels in side columns are visited with the row, one by one."""

    @property
    def row_lines(self) -> int:
        """The number of lines that are (segments of) rows."""
        return self.window.output[0] * self.segments if self.window.row_runs else 0

    @property
    def lines(self) -> int:
        """The number of lines: row segments, then side columns."""
        sides = 0 if self.whole_rows else self.window.line_columns()
        return self.row_lines + sides

    def visit(self, b: LoopBuilder, line: Index, body: TileBody) -> None:
        """Runs the body on the tiles of one line."""
        if not self.row_lines:
            self._column(b, line, body)
        elif self.whole_rows or not self.window.line_columns():
            self._row(b, line, body)
        else:
            b.if_(
                b.compare("slt", line, self.row_lines),
                lambda: self._row(b, line, body),
                lambda: self._column(b, b.sub(line, self.row_lines), body),
            )

    def _row(self, b: LoopBuilder, line: Index, body: TileBody) -> None:
        if self.window.output[0] == 1:
            row, segment = 0, line
        else:
            row, segment = b.unflatten(line, (self.window.output[0], self.segments))
        low, high = self.window.interior(0)

        def tiles(row_taps: Range) -> None:
            self._segment(b, row, segment, row_taps, body)

        if not self.static_rows or (low, high) == (0, self.window.output[0]):
            tiles(self.window.taps(b, 0, row))
            return
        b.if_(
            b.compare("ult", b.sub(row, low), high - low),
            lambda: tiles((0, self.window.kernel[0])),
            lambda: tiles(self.window.taps(b, 0, row)),
        )

    def _segment(
        self,
        b: LoopBuilder,
        row: Index,
        segment: Index,
        row_taps: Range,
        body: TileBody,
    ) -> None:
        runs = self.window.row_runs
        for run in runs:
            self._run(b, (row, row_taps), run, segment, body)
        if self.whole_rows:
            for side in (
                *range(runs[0].first),
                *range(runs[-1].end, self.window.output[1]),
            ):
                side_taps = self.window.taps(b, 1, side)
                body(Tile(row, side, 1, False, row_taps, side_taps))

    def _run(
        self,
        b: LoopBuilder,
        place: tuple[Index, Range],
        run: Run,
        segment: Index,
        body: TileBody,
    ) -> None:
        """Visits a segment of a run; `place`: the row and its taps."""
        row, row_taps = place
        pixels = self.tile_size(run.length)

        def tile(column: Index) -> None:
            body(Tile(row, column, pixels, False, row_taps, run.taps))

        if self.segments == 1:
            b.tiles(run.first, run.end, pixels, tile)
        else:
            b.tile_range(run.first, run.end, pixels, segment, self.segments, tile)

    def _column(self, b: LoopBuilder, side: Index, body: TileBody) -> None:
        column = _outside(b, side, *self.window.interior(1))
        column_taps = self.window.taps(b, 1, column)
        low, high = self.window.interior(0)
        row_taps = (0, self.window.kernel[0])
        if high > low:
            pixels = (self.side_size or self.tile_size)(high - low)
            b.tiles(
                low,
                high,
                pixels,
                lambda row: body(
                    Tile(row, column, pixels, True, row_taps, column_taps)
                ),
            )

        def corner(index: Index) -> None:
            row = _outside(b, index, low, high)
            taps = self.window.taps(b, 0, row)
            body(Tile(row, column, 1, True, taps, column_taps))

        b.loop(0, self.window.output[0] - (high - low), 1, corner)


def _outside(b: LoopBuilder, index: Index, low: int, high: int) -> Index:
    """The index-th position outside [low, high)."""
    if low == 0:
        return b.add(index, high)
    return b.select_index(b.compare("slt", index, low), index, b.add(index, high - low))
