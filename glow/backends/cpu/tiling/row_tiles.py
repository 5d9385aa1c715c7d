"""Output rows in tiles that take in the border columns.

The traversal of `window.py` leaves columns with taps in the padding to vertical tiles, and its
rows are shorter than what register tiles divide: 54 pixels of 56. Here the first and the last
tile of a row are bodies of their own: at each tap they know which of their pixels have it inside
the image, and compute those. Every pixel sees its taps in the same order.

On planes of few pixels tiles take one pixel of many images instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.window import (
    ColumnTaps,
    Range,
    Tile,
    TileBody,
    TileSize,
    Window,
)


def takes_whole_rows(window: Window, pixels: int) -> bool:
    """Whether a row has border columns, and of tiles of that many pixels only the outer two
    reach them.
    """
    (low, high), width = window.interior(1), window.output[1]
    if not window.side_columns():
        return False
    tiles = -(-width // pixels)
    return tiles < 3 or (
        low <= pixels and low + pixels <= high and width - high <= pixels
    )


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
    """Visits the rows of a window in tiles; a row is `segments` lines."""

    window: Window
    tile_size: TileSize
    segments: int = 1

    @property
    def lines(self) -> int:
        """The number of lines: segments of rows."""
        return self.window.output[0] * self.segments

    def visit(self, b: LoopBuilder, line: Index, body: TileBody) -> None:
        """Runs the body on the tiles of one line."""
        width = self.window.output[1]
        pixels = self.tile_size(width)
        tiles = -(-width // pixels)
        row, segment = b.unflatten(line, (self.window.output[0], self.segments))
        row_taps = self.window.taps(b, 0, row)

        def border(first: int) -> None:
            groups = inside_taps(self.window, first, pixels)
            body(Tile(row, first, pixels, False, row_taps, (0, 0), groups))

        def others(number: Index) -> None:
            b.if_(
                b.compare("eq", number, tiles - 1),
                lambda: border(width - pixels),
                lambda: self._interior(b, (row, b.mul(number, pixels)), row_taps, body),
            )

        def tile(number: Index) -> None:
            is_first = b.compare("eq", number, 0)
            b.if_(is_first, lambda: border(0), lambda: others(number))

        first, last = b.share(tiles, segment, self.segments)
        if tiles == self.segments:
            tile(first)
        else:
            b.loop(first, last, 1, tile)

    def _interior(
        self, b: LoopBuilder, at: Sequence[Index], row_taps: Range, body: TileBody
    ) -> None:
        """The tile at (row, column), moved left where it would reach the border.

        The bound stands also where no tile does: an address that is linear in the number of
        the tile tempts LLVM to keep a pointer for each pixel.
        """
        row, column = at
        pixels, end = self.tile_size(self.window.output[1]), self.window.interior(1)[1]
        column = b.minimum(column, end - pixels)
        taps = (0, self.window.kernel[1])
        body(Tile(row, column, pixels, False, row_taps, taps))
