"""Attention, head by head: scores never leave the L1.

A work item is a block of a head's queries, as high as a register tile. Its products with all keys
go into a scratch, become exponentials there, and are multiplied with the values while they are
there; the sums of the exponentials divide the result. Keys are transposed into panels first,
once for all blocks of a head that a thread computes; those of long sequences in blocks
(`long_heads.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.attention.heads import Heads, KeyBlock
from glow.backends.cpu.kernels.attention.long_heads import LongHeads
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.tiling.matmul_tile import Columns
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target


class _ShortHeads(Heads):
    """Heads whose keys are one block."""

    def __init__(
        self, builder: LoopBuilder, spec: AttentionSpec, buffers: Sequence[SSAValue]
    ) -> None:
        super().__init__(builder, spec, buffers)
        self.block = KeyBlock(self, spec.keys)

    def compute(self, low: Index, high: Index) -> None:
        """Computes blocks [low, high) of the head."""
        self.block.pack()
        self.builder.loop(low, high, 1, self._compute)

    def _compute(self, block: Index) -> None:
        first = self.first_row(block)
        self.block.weigh(first)

        def write(total: SSAValue, row: Index, columns: Columns) -> None:
            shape = (self.value_tile.rows, *columns.shape)
            total = self.builder.mulf(
                total, self.block.softmax.inverse_sums(row, shape)
            )
            self.store(total, self.builder.add(first, row), columns)

        self.block.multiply(write)


def build_attention(
    spec: AttentionSpec, target: Target, name: str = "attention"
) -> Kernel:
    """The kernel f(result, queries, keys, values, [mask], lo, hi)."""
    builder = LoopBuilder(target)
    blocks = spec.blocks
    kind = LongHeads if spec.key_block < spec.keys else _ShortHeads

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        heads = kind(builder, spec, buffers)

        def head(number: Index) -> None:
            start = builder.mul(number, blocks)
            first = builder.maximum(builder.sub(low, start), 0)
            last = builder.minimum(builder.sub(high, start), blocks)
            heads.move_to(number)
            heads.compute(first, last)

        end = builder.floordiv(builder.add(high, blocks - 1), blocks)
        builder.loop(builder.floordiv(low, blocks), end, 1, head)

    function = builder.function(name, spec.buffers(), body)
    return Kernel(function, prod(spec.batch) * blocks)
