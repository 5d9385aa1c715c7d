"""What a kernel of attention computes, as the two contractions that it is, and how it is cut."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import MemRefType, f32, i8
from xdsl.ir import Attribute

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    MatrixFactor,
    MatrixResult,
    Precision,
)
from glow.backends.cuda.kernels.gpu_builder import tile_row_elements
from glow.backends.cuda.kernels.strided import StridedFactor, StridedResult
from glow.backends.cuda.kernels.tiles.shared_tile import BANK_CHUNKS
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import Epilogue

LARGEST_HEAD = 128
"""The numbers of a query, or of a value, whose sums a warp keeps in registers."""
NARROWEST = 32
"""The shortest row of values whose words change places."""
FRAGMENT_ROWS = 16
"""The queries of a warp: one fragment of them."""


@dataclass(frozen=True)
class AttentionTile:
    """What a block of threads computes: results of `rows` queries, `keys` keys at a time."""

    rows: int
    keys: int
    stages: int = 2

    @property
    def warps(self) -> int:
        """The warps, each of which has some queries and all keys."""
        return self.rows // FRAGMENT_ROWS


@dataclass(frozen=True)
class AttentionSpec:
    """result[b] = softmax(scale * queries[b] keys[b]' + mask[b]) values[b] for each b.

    Queries [rows, depth], keys [keys, depth]; values are the second factor of a product, so that
    their `outer` are columns and their `depth` is keys. A mask [rows, keys] of floats is added; one
    of bytes excludes keys where it is 0; with `causal` a query has keys up to its own number plus
    that. What no key is left for is NaN, or 0 with `zero_nans`. Arguments of the kernel: result,
    queries, keys, values, the mask if there is one, then the epilogue's operands.
    """

    queries: StridedFactor
    keys: StridedFactor
    values: StridedFactor
    result: StridedResult
    tile: AttentionTile
    scale: float = 1.0
    mask: StridedFactor | None = None
    causal: int | None = None
    zero_nans: bool = False
    precision: Precision = "exact"
    epilogue: Epilogue | None = None

    @property
    def element(self) -> Attribute:
        """The type of the factors."""
        return self.queries.element

    @property
    def has_boolean_mask(self) -> bool:
        """Whether the mask says which keys there are."""
        return self.mask is not None and self.mask.element == i8

    @property
    def batch(self) -> int:
        """How many attentions there are."""
        return prod(self.queries.batch)

    @cached_property
    def scores(self) -> ContractionSpec:
        """The product of queries and keys."""
        tile, keys = self.tile, self.keys.outer
        depth = up_to(self.queries.depth, self.depth_step)
        shape = (self.batch, self.queries.outer, keys)
        return ContractionSpec(
            *shape,
            self.queries.depth,
            self.queries,
            self.keys,
            MatrixResult(*shape),
            GpuTile(tile.rows, tile.keys, depth, (tile.warps, 1), tile.stages),
            self.precision,
        )

    @cached_property
    def sums(self) -> ContractionSpec:
        """The product of softmax weights, [rows, keys] of a block, and values."""
        tile, keys = self.tile, self.keys.outer
        columns = up_to(self.values.outer, self.column_step)
        return ContractionSpec(
            self.batch,
            self.queries.outer,
            self.values.outer,
            keys,
            MatrixFactor(1, tile.rows, tile.keys, True, self.element),
            self.values,
            self.result,
            GpuTile(tile.rows, columns, tile.keys, (tile.warps, 1), tile.stages),
            self.precision,
            self.epilogue,
        )

    @property
    def has_tensor_cores(self) -> bool:
        """Whether tensor cores multiply; else threads do."""
        return self.element != f32 or self.precision != "exact"

    @property
    def depth_step(self) -> int:
        """The numbers of a query that are multiplied at once."""
        return 2 * 16 // types.byte_width(self.element) if self.has_tensor_cores else 4

    @property
    def column_step(self) -> int:
        """The columns that the lanes of a warp have together."""
        return 16 if self.has_tensor_cores else 32

    @property
    def pitch(self) -> int:
        """The numbers of a row of queries, or of keys, in shared memory."""
        return row_pitch(self.scores.tile.depth, self.element)

    @property
    def value_pitch(self) -> int:
        """The same of values."""
        columns = self.sums.tile.columns
        if not self.has_tensor_cores:
            return columns
        return max(NARROWEST, row_pitch(columns, self.element))

    @property
    def key_bytes(self) -> int:
        """The bytes of a block of keys and their values in shared memory."""
        pitches = self.pitch + self.value_pitch
        return self.tile.keys * pitches * types.byte_width(self.element)

    @property
    def shared_bytes(self) -> int:
        """The bytes of shared memory: queries, stages, and weights where threads multiply."""
        kept = self.pitch + (0 if self.has_tensor_cores else self.tile.keys)
        queries = self.tile.rows * kept * types.byte_width(self.element)
        return queries + self.tile.stages * self.key_bytes

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.sums.tile.threads

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks along the queries, and the batch."""
        return (-(-self.queries.outer // self.tile.rows), self.batch, 1)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        result, _, _, *operands = self.sums.buffers
        factors = [self.queries, self.keys, self.values]
        factors += [] if self.mask is None else [self.mask]
        return [result, *(factor.type for factor in factors), *operands]


def up_to(extent: int, step: int) -> int:
    """The smallest multiple of a step that is not below an extent."""
    return -(-extent // step) * step


def row_pitch(extent: int, element: Attribute) -> int:
    """The elements of a row in shared memory: all banks some times, or a part of them."""
    banks = BANK_CHUNKS * tile_row_elements(element)
    return up_to(extent, banks) if extent > banks else 1 << (extent - 1).bit_length()
