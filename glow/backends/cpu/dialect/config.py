"""How a kernel was configured: chosen once for the target, and kept in the text.

A family of kernels has one frozen class of numbers, which its specification holds and its
builder, the reference and the log of kernels read. `config_attributes.py` prints and parses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Panels:
    """The order of packed weights: panels of so many registers of columns, each front to back.

    `by_block`: those of a Winograd convolution have the channels outermost, then the positions.
    `streams`: a panel is so many parts, each with some of its registers front to back.
    """

    blocks: int
    lanes: int
    by_block: bool = False
    streams: int = 1


CUTS = ("auto", "rows", "columns")
"""What threads share of a product."""

Count: TypeAlias = int
"""A number that may be 0."""

USUAL_PREFETCH, MOST_PREFETCH = 1, 8
"""The `prefetch` of a configuration says how far ahead its weights are fetched: so many times as
far as the machine model says, which is the next panel, or, of weights that are read once, what
memory takes. 0: they are not.
"""


def wrong_prefetch(prefetch: int) -> str | None:
    """What is wrong with how far ahead weights are fetched, if anything."""
    if prefetch <= MOST_PREFETCH:
        return None
    return f"a prefetch of {prefetch}: 0 to {MOST_PREFETCH} are allowed"


@dataclass(frozen=True)
class MatmulConfig:
    """The register tile of a product: rows times blocks of one register of columns each.

    `cut`: what threads share, tiles of `rows` or of `columns`; `auto` is what the machine model
    says of the kernel with its epilogue. `matrix_tiles`: the CPU's matrix tiles (AMX) compute the
    register tile, through the stack. `streams`: of one row, the parts of a tile's blocks whose
    weights lie one after the other in memory, and are read side by side.
    """

    rows: int
    blocks: int
    cut: str = "auto"
    prefetch: Count = USUAL_PREFETCH
    matrix_tiles: bool = False
    streams: int = 1


@dataclass(frozen=True)
class ConvConfig:
    """The register tiles of a convolution on channel blocks, and what its loops run over.

    A tile is `pixels` of a row times `blocks` blocks of output channels; in columns that reach
    the padding it is `sides` pixels high, unless tiles of `whole_rows` take these in. There is a
    second number where a last tile has fewer blocks. A row is cut into `segments`. On small
    planes a tile may be `images` instead: one pixel of as many images as `pixels` says. `order`:
    `rows`, all channels of each; `channels`, all rows of each; `shared_rows`, which
    threads share, where each goes through all channels before the next rows; or `pixels`, rows
    of which one loop body takes every pixel, with its taps inside as bounds. `matrix_tiles`: the
    CPU's matrix tiles (AMX) compute pairs of tiles, of bands that are copied. Of whole rows, as
    many as `rows` may be taken together, and `chunk` blocks of input channels at a time: all tiles
    of these rows pass by the weights of one chunk before those of the next, and their sums wait
    on the stack. 0: all channels at once.
    """

    blocks: int
    pixels: tuple[int, ...]
    sides: tuple[int, ...] = ()
    whole_rows: bool = False
    order: str = "rows"
    segments: int = 1
    images: bool = False
    prefetch: Count = USUAL_PREFETCH
    matrix_tiles: bool = False
    rows: int = 1
    chunk: Count = 0


@dataclass(frozen=True)
class DepthwiseConfig:
    """The register tiles of a depthwise convolution: `pixels` of a row, `sides` of a column that
    reaches the padding; a row is cut into `segments`. `by_pixel`: one loop body takes every
    pixel, with its taps inside as bounds.
    """

    pixels: int
    sides: int = 1
    segments: int = 1
    by_pixel: bool = False


@dataclass(frozen=True)
class PlainConvConfig:
    """The register tile of a convolution in the plain layout: `channels` times `vectors` of
    pixels; a row is cut into `segments`.
    """

    channels: int
    vectors: int
    segments: int = 1


@dataclass(frozen=True)
class BatchMatmulConfig:
    """How batched matmuls with dynamic operands are done, and in which register tiles.

    `form`: `direct`, rows of the right matrices are read in place; `pack`, panels of their
    columns are transposed first; or `dot`, registers lie along the depth. A tile is `rows` times
    `blocks` registers of columns, or columns in the `dot` form.
    """

    form: str
    rows: int
    blocks: int


@dataclass(frozen=True)
class AttentionConfig:
    """The register tiles of attention, in blocks of `rows` queries: `score` for the products
    with keys, `value` for those with values. Keys are taken in blocks of `key_block`, or all.
    """

    rows: int
    score_rows: int
    score_blocks: int
    value_rows: int
    value_blocks: int
    key_block: int = 0


@dataclass(frozen=True)
class WinogradConfig:
    """How a Winograd convolution is cut.

    A block is `block_rows` rows of tiles, or one of the `segments` of a single row. A register
    tile of the products is `pixels` tiles times `blocks` blocks of output channels, with a second
    number where a last one has fewer blocks. `fused`: each block goes through all phases before
    the next one; else there is one block, and a kernel for each phase.
    """

    block_rows: int
    blocks: int
    pixels: tuple[int, ...]
    segments: int = 1
    fused: bool = False
    prefetch: Count = USUAL_PREFETCH


@dataclass(frozen=True)
class StrassenConfig:
    """The register tile of the products of parts, the blocks of their rows, and the `cut`."""

    rows: int
    blocks: int
    row_blocks: int = 1
    cut: str = "auto"
    prefetch: Count = USUAL_PREFETCH


@dataclass(frozen=True)
class RecurrenceConfig:
    """The register tile of a step: rows times `blocks` registers of units, of all gates.

    `alternates`: every other step reads the weights from their end.
    """

    rows: int
    blocks: int
    alternates: bool = False
