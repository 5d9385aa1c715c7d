"""Output rows in tiles that take in the border columns.

The traversal of `window.py` leaves columns with taps in the padding to vertical tiles, and its
rows are shorter than what register tiles divide: 54 pixels of 56. Here the first and the last
tile of a row are bodies of their own: at each tap they know which of their pixels have it inside
the image, and compute those. Far dilations have more such tiles, up to all of a row. Every pixel
sees its taps in the same order.

On planes of few pixels tiles take one pixel of many images instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import NamedTuple

from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import (
    ColumnTaps,
    Range,
    Tile,
    TileBody,
    Window,
)

MOST_BORDER_TILES = 16
"""Of a row, each of which is code of its own."""


class BorderTile(NamedTuple):
    """A tile of a row that has border columns, or fewer pixels than the others."""

    number: int
    first: int
    pixels: int


def takes_whole_rows(window: Window, pixels: int) -> bool:
    """Whether few of a row's tiles of that many pixels reach border columns."""
    return len(border_tiles(window, pixels)) <= MOST_BORDER_TILES


def border_tiles(window: Window, pixels: int) -> list[BorderTile]:
    """The tiles of a row that are bodies of their own, from left to right."""
    (low, high), width = window.interior(1), window.output[1]
    tiles, rest = -(-width // pixels), last_pixels(window, pixels)
    last = BorderTile(tiles - 1, width - rest, rest)
    if not window.side_columns():
        return [last] if rest < pixels else []
    if _has_outer_two(window, pixels):
        return [BorderTile(0, 0, pixels), last][-tiles:]
    before = (BorderTile(n, n * pixels, pixels) for n in range(tiles - 1))
    return [t for t in before if t.first < low or t.first + pixels > high] + [last]


def _has_outer_two(window: Window, pixels: int) -> bool:
    """Whether of a row's tiles only the first and the last reach border columns."""
    (low, high), width = window.interior(1), window.output[1]
    return width <= 2 * pixels or (
        low <= pixels and low + pixels <= high and width - high <= pixels
    )


def last_pixels(window: Window, pixels: int) -> int:
    """The pixels of the last tile of a row: what is left, where that takes in the border.

    Else the tile has as many as the others, and overlaps the one before.
    """
    width = window.output[1]
    rest = width - (-(-width // pixels) - 1) * pixels
    whole = width - rest <= window.interior(1)[1] or not _has_outer_two(window, pixels)
    return rest if whole else min(width, pixels)


def inside_taps(window: Window, first: int, pixels: int) -> tuple[ColumnTaps, ...]:
    """The column taps of a tile that starts at `first`, with the pixels that each has inside."""
    spans = [
        _pixels_inside(window, first, pixels, tap) for tap in range(window.kernel[1])
    ]
    groups: list[ColumnTaps] = []
    for span, numbered in groupby(enumerate(spans), lambda pair: pair[1]):
        taps = [number for number, _ in numbered]
        if span:
            groups.append(ColumnTaps((taps[0], taps[-1] + 1), span))
    return tuple(groups)


def tap_pixels(window: Window, first: int, pixels: int) -> list[int]:
    """How many pixels of a tile that starts at `first` have each column tap inside."""
    taps = range(window.kernel[1])
    return [len(_pixels_inside(window, first, pixels, tap)) for tap in taps]


def _pixels_inside(window: Window, first: int, pixels: int, tap: int) -> range:
    """The pixels of a tile that read column `tap` of their windows inside the image."""
    stride, width = window.strides[1], window.input[1]
    origin = first * stride - window.pads[1] + tap * window.dilations[1]
    low = min(max(0, -(origin // stride)), pixels)
    high = min(max(low, (width - 1 - origin) // stride + 1), pixels)
    return range(low, high)


@dataclass(frozen=True)
class ImageTraversal:
    """Visits the pixels of a small plane, each in tiles of images: these share their taps."""

    window: Window
    images: int
    pixels: int

    @property
    def lines(self) -> int:
        """The number of lines: pixels."""
        return prod(self.window.output)

    def visit(self, b: LoopBuilder, line: Index, body: TileBody) -> None:
        """Runs the body on the tiles of one pixel."""
        row, column = b.unflatten(line, self.window.output)
        taps = self.window.taps(b, 0, row), self.window.taps(b, 1, column)

        def tile(image: Index) -> None:
            body(Tile(row, column, self.pixels, False, *taps, image=image))

        b.tiles(0, self.images, self.pixels, tile)


@dataclass(frozen=True)
class PixelTraversal:
    """Visits the pixels of a plane one by one; a line is a row."""

    window: Window

    @property
    def lines(self) -> int:
        """The number of rows."""
        return self.window.output[0]

    def visit(self, b: LoopBuilder, line: Index, body: TileBody) -> None:
        """Runs the body on the pixels of one row."""
        row_taps = self.window.taps(b, 0, line)

        def pixel(column: Index) -> None:
            taps = self.window.taps(b, 1, column)
            body(Tile(line, column, 1, False, row_taps, taps))

        b.loop(0, self.window.output[1], 1, pixel)


@dataclass(frozen=True)
class RowTraversal:
    """Visits the rows of a window in tiles; a row is `segments` lines, or a line is `rows` rows."""

    window: Window
    pixels: int
    segments: int = 1
    rows: int = 1

    @property
    def lines(self) -> int:
        """The number of lines."""
        return -(-self.window.output[0] // self.rows) * self.segments

    @property
    def row_tiles(self) -> int:
        """The tiles of a row."""
        return -(-self.window.output[1] // self.pixels)

    @property
    def most_columns(self) -> int:
        """The most columns that a line has."""
        tiles = -(-self.row_tiles // self.segments)
        return min(tiles * self.pixels, self.window.output[1])

    def area(self, b: LoopBuilder, line: Index) -> tuple[Range, Range]:
        """The rows and columns of a line whose tiles do not overlap."""
        height, width = self.window.output
        if self.segments == 1:
            row = b.mul(line, self.rows)
            end = b.add(row, self.rows)
            exact = height % self.rows == 0
            return (row, end if exact else b.minimum(end, height)), (0, width)
        row, segment = b.unflatten(line, (height, self.segments))
        first, last = b.share(self.row_tiles, segment, self.segments)
        end = b.minimum(b.mul(last, self.pixels), width)
        return (row, b.add(row, 1)), (b.mul(first, self.pixels), end)

    def visit(self, b: LoopBuilder, line: Index, body: TileBody) -> None:
        """Runs the body on the tiles of one line."""
        if self.rows == 1:
            row, segment = b.unflatten(line, (self.window.output[0], self.segments))
            self._row(b, row, segment, body)
        else:
            rows, _ = self.area(b, line)
            b.loop(*rows, 1, lambda row: self._row(b, row, 0, body))

    def _row(self, b: LoopBuilder, row: Index, segment: Index, body: TileBody) -> None:
        """The tiles of a segment of a row."""
        tiles = self.row_tiles
        row_taps = self.window.taps(b, 0, row)

        def border(tile: BorderTile) -> None:
            groups = inside_taps(self.window, tile.first, tile.pixels)
            body(Tile(row, tile.first, tile.pixels, False, row_taps, (0, 0), groups))

        def inner(number: Index) -> None:
            body(self._interior(b, row, number, row_taps))

        borders = border_tiles(self.window, self.pixels)

        def tile(number: Index, which: Sequence[BorderTile]) -> None:
            if not which:
                inner(number)
            elif len(which) == 1 and len(borders) == tiles:
                border(which[0])
            else:
                one, *others = which
                is_one = b.compare("eq", number, one.number)
                b.if_(is_one, lambda: border(one), lambda: tile(number, others))

        first, last = b.share(tiles, segment, self.segments)
        if tiles == self.segments:
            tile(first, borders)
        else:
            b.loop(first, last, 1, lambda number: tile(number, borders))

    def _interior(
        self, b: LoopBuilder, row: Index, number: Index, row_taps: Range
    ) -> Tile:
        """A tile between the borders, moved left where it would reach the last one.

        The bound stands also where no tile does: an address that is linear in the number of
        the tile tempts LLVM to keep a pointer for each pixel.
        """
        end = self.window.interior(1)[1]
        column = b.minimum(b.mul(number, self.pixels), end - self.pixels)
        taps = (0, self.window.kernel[1])
        return Tile(row, column, self.pixels, False, row_taps, taps)
