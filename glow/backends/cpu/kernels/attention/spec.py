"""What a kernel of attention computes, and how it is cut."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from glow.backends.cpu.dialect.config import AttentionConfig
from glow.backends.cpu.kernels.attention.limits import (
    BLOCK_ELEMENTS,
    BLOCK_ROWS,
    KEY_STEP,
    MAX_KEY_ELEMENTS,
)
from glow.backends.cpu.tiling.matmul_tile import Tile, choose_tile, wrong_tile
from glow.backends.cpu.tiling.matrix_memory import Strides, flat
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class AttentionSpec:
    """result[b] = softmax(scale * queries[b] keys[b] + mask[b]) values[b] for each b, f32.

    Shapes: queries [rows, depth], keys [depth, keys], mask [rows, keys], values [keys, columns].
    Arguments of the kernel: result, queries, keys, values, mask if it has strides. Strides are
    in elements; columns of the values and of the result are contiguous.
    """

    batch: tuple[int, ...]
    rows: int
    keys: int
    depth: int
    columns: int
    query_strides: Strides
    key_strides: Strides
    value_strides: Strides
    result_strides: Strides
    mask_strides: Strides | None = None
    scale: float = 1.0
    zero_nans: bool = False
    """Whether what is NaN is stored as 0."""
    config: AttentionConfig | None = None
    """Chosen before; else the best one for the target."""

    @property
    def operations(self) -> int:
        """The additions and multiplications of both products."""
        scores = prod(self.batch) * self.rows * self.keys
        return 2 * scores * (self.depth + self.columns)

    @property
    def height(self) -> int:
        """The queries of a block."""
        return self.config.rows if self.config else min(self.rows, BLOCK_ROWS)

    def choose_config(self, target: Target) -> AttentionConfig:
        """The best configuration for a target."""
        keys = min(self.keys, self.key_block)
        score = choose_tile(self.height, keys, self.depth, target)
        value = choose_tile(self.height, self.columns, keys, target)
        return AttentionConfig(
            self.height,
            score.rows,
            score.blocks,
            value.rows,
            value.blocks,
            self.key_block if self.key_block < self.keys else 0,
        )

    def wrong_config(self, target: Target) -> str | None:
        """What the target or the shapes do not allow of the configuration, if so."""
        config = self.config or self.choose_config(target)
        most = min(self.rows, BLOCK_ROWS)
        if config.rows > most:
            return f"blocks of {config.rows} queries: the kernel and the shapes allow 1 to {most}"
        wrong = self._wrong_key_block(config.key_block)
        if wrong is not None:
            return wrong
        tiles = (
            Tile(config.score_rows, config.score_blocks),
            Tile(config.value_rows, config.value_blocks),
        )
        found = (wrong_tile(tile, config.rows, target) for tile in tiles)
        return next((wrong for wrong in found if wrong is not None), None)

    def _wrong_key_block(self, keys: int) -> str | None:
        if keys % KEY_STEP:
            return f"blocks of {keys} keys: the kernel allows multiples of {KEY_STEP}"
        if (keys or self.keys) * self.depth <= MAX_KEY_ELEMENTS:
            return None
        most = MAX_KEY_ELEMENTS // self.depth // KEY_STEP * KEY_STEP
        found = f"blocks of {keys or self.keys} keys of {self.depth} numbers"
        return f"{found}: the stack allows {most}"

    @property
    def key_block(self) -> int:
        """The keys of a block: all, or as many as a block of keys has elements."""
        if self.config is not None:
            return self.config.key_block or self.keys
        if self.keys * self.depth <= MAX_KEY_ELEMENTS:
            return self.keys
        return max(KEY_STEP, BLOCK_ELEMENTS // self.depth // KEY_STEP * KEY_STEP)

    @property
    def blocks(self) -> int:
        """How many blocks the queries of a head are cut into; the last one may overlap."""
        return -(-self.rows // self.height)

    def buffers(self) -> list[types.MemRefType]:
        """The types of the kernel's arguments."""
        extents = [
            (self.result_strides, self.rows, self.columns),
            (self.query_strides, self.rows, self.depth),
            (self.key_strides, self.depth, self.keys),
            (self.value_strides, self.keys, self.columns),
        ]
        if self.mask_strides is not None:
            extents.append((self.mask_strides, self.rows, self.keys))
        return [
            flat(strides.span(self.batch, rows, columns))
            for strides, rows, columns in extents
        ]
