"""Attention to more keys than the stack holds: block by block, with a running softmax.

Some blocks of queries go through all keys together, so that each block of keys is transposed once
for them. Behind each block of keys a query has the largest score so far, the sum of exponentials
below that, and the sum of values weighted by these; a larger score scales both sums down
(Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"). Every query takes the
blocks of keys in one order, whichever thread computes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.attention.heads import Heads, KeyBlock
from glow.backends.cpu.kernels.attention.limits import MAX_SUMS
from glow.backends.cpu.kernels.attention.softmax_weights import OnlineSoftmax
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup, Columns, columns_of
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder


class LongHeads(Heads):
    """Heads whose keys are several blocks.

    Sums lie in two halves of a scratch: a block of keys reads one and writes the other, since
    register tiles overlap where they do not divide the rows.
    """

    def __init__(
        self, builder: LoopBuilder, spec: AttentionSpec, buffers: Sequence[SSAValue]
    ) -> None:
        super().__init__(builder, spec, buffers)
        width = -(-spec.columns // self.lanes) * self.lanes
        self.together = max(1, min(MAX_SUMS // (spec.height * width), spec.blocks))
        self.rows = self.together * spec.height
        whole, rest = divmod(spec.keys, spec.key_block)
        self.whole = KeyBlock(self, spec.key_block)
        self.number = whole
        self.rest = KeyBlock(self, rest) if rest else None
        self.online = OnlineSoftmax(builder, self.rows)
        sums = builder.alloca(types.memref_type((2 * self.rows * width,)))
        extents, strides = (2 * self.rows, width), Strides((), width, 1)
        self.sums = Matrix(builder, sums, strides, extents, self.lanes, blocked=True)

    def compute(self, low: Index, high: Index) -> None:
        """Computes blocks [low, high) of the head."""
        self.builder.loop(low, high, self.together, lambda at: self._some(at, high))

    def _some(self, low: Index, high: Index) -> None:
        """Computes blocks from `low` on, at most `together`."""
        builder = self.builder
        high = builder.minimum(builder.add(low, self.together), high)
        self._clear()

        def whole(number: Index) -> None:
            self.whole.first = builder.mul(number, self.spec.key_block)
            self._add(self.whole, builder.remainder(number, 2), low, high)

        builder.loop(0, self.number, 1, whole)
        if self.rest is not None:
            self.rest.first = self.number * self.spec.key_block
            self._add(self.rest, self.number % 2, low, high)
        builder.loop(low, high, 1, lambda block: self._finish(block, low))

    def _clear(self) -> None:
        """Sets the sums that the first block of keys reads to zero."""
        builder, (_, width) = self.builder, types.shape_of(self.sums.plain)
        shape = (1, width // self.lanes, self.lanes)
        zero = builder.constant(0.0, types.vector_type(shape))
        columns = Columns(0, shape[1:])
        builder.loop(
            0, self.rows, 1, lambda row: self.sums.write_columns(zero, row, columns)
        )
        self.online.clear()

    def _add(self, keys: KeyBlock, half: Index, low: Index, high: Index) -> None:
        """Adds a block of keys to the sums of the queries of all blocks."""
        builder = self.builder
        old = builder.mul(half, self.rows)
        new = builder.sub(self.rows, old)
        keys.pack()

        def block(number: Index) -> None:
            slot = builder.mul(builder.sub(number, low), self.height)
            self.online.first = slot
            keys.weigh(self.first_row(number), self.online)

            def write(total: SSAValue, row: Index, columns: Columns) -> None:
                rows = self.value_tile.rows
                there = builder.add(slot, row)
                kept = self.sums.read_columns(builder.add(old, there), rows, columns)
                factors = self.online.decays(row, (rows, *columns.shape))
                total = builder.addf(builder.mulf(kept, factors), total)
                self.sums.write_columns(total, builder.add(new, there), columns)

            keys.multiply(write)

        builder.loop(low, high, 1, block)

    def _finish(self, block: Index, low: Index) -> None:
        """Divides the sums of a block's queries by those of the exponentials."""
        builder = self.builder
        last = (self.number + (self.rest is not None)) % 2 * self.rows
        slot = builder.mul(builder.sub(block, low), self.height)
        first = self.first_row(block)

        def row(number: Index) -> None:
            there = builder.add(slot, number)

            def divide(group: ColumnGroup) -> None:
                for columns in columns_of(group, self.lanes):
                    factor = self.online.inverse_sums(there, (1, *columns.shape))
                    kept = self.sums.read_columns(builder.add(last, there), 1, columns)
                    kept = builder.mulf(kept, factor)
                    self.store(kept, builder.add(first, number), columns)

            self.each_group(self.value_split, lambda _, group: divide(group))

        builder.loop(0, self.height, 1, row)
