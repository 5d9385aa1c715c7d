"""The order of a product's loops: how many rows stay near while all panels of weights pass."""

from collections.abc import Callable
from typing import NamedTuple

from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.target.target import Target


class RowOrder(NamedTuple):
    """How many tiles of rows go through all panels of weights before the next ones do."""

    tiles: int
    read_again: int
    """The bytes that are read from beyond the second cache more than once."""
    is_blocked: bool = False
    """Whether there are blocks of rows, for each of which all weights are read."""


def row_order(
    tiles: int, tile_bytes: int, panels: int, weight_bytes: int, target: Target
) -> RowOrder:
    """The order of a product that reads the fewest bytes from beyond the second cache.

    All tiles of rows together, if they stay in that cache: then weights are read once. Else as
    many as fill half of it, where reading the weights once for each such block takes fewer bytes
    than reading all rows once for each panel.
    """
    if tiles * tile_bytes <= target.l2_bytes or target.prefers_small_loops:
        return RowOrder(tiles, 0)
    blocks = -(-tiles // max(1, target.l2_bytes // 2 // tile_bytes))
    weights, rows = (blocks - 1) * weight_bytes, (panels - 1) * tiles * tile_bytes
    if weights >= rows:
        return RowOrder(tiles, rows)
    return RowOrder(-(-tiles // blocks), weights, is_blocked=True)


def each_block(
    builder: LoopBuilder,
    tiles: tuple[Index, Index],
    together: int | None,
    body: Callable[[Index, Index], None],
) -> None:
    """Runs the body on the first tile and the end of each block; without a number on all tiles."""
    low, high = tiles
    if together is None:
        body(low, high)
        return

    def block(first: Index) -> None:
        body(first, builder.minimum(builder.add(first, together), high))

    builder.loop(low, high, together, block)
