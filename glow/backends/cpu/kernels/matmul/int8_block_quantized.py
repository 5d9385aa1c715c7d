"""Int8 matmul with weights of a few bits: both have scales for each block of the depth.

Rows are quantized before, block by block (`kernels/quantization/block_quantize.py`). Codes are
unsigned bytes as they are, four of a column in a word, which an instruction multiplies with four
bytes of a row. The sum of a block is exact; the zero point times the sum of the row's bytes comes
off it, and both scales make a float of it:

    sum over blocks of (sum of codes * bytes - point * sum of bytes) * (scale * row scale)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.matmul.block_product import (
    BlockProduct,
    QuantizedColumns,
)
from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockQuantizedSpec
from glow.backends.cpu.tiling.int8_tile import WORD
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

BYTE_BITS = 8


def bytes_of(b: LoopBuilder, words: SSAValue, part: int, bits: int) -> SSAValue:
    """Some four of the codes in each word, [blocks, lanes, 4]."""
    shape = (*types.shape_of(words), WORD)
    if part:
        words = b.binary_integer(arith.ShRUIOp, words, b.like(part * bits, words))
    if bits < BYTE_BITS:
        mask = sum(((1 << bits) - 1) << (BYTE_BITS * k) for k in range(WORD))
        words = b.binary_integer(arith.AndIOp, words, b.like(mask, words))
    return b.shape_cast(b.bitcast(words, i8), shape)


class Int8Product(BlockProduct):
    """Of rows of bytes."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: BlockQuantizedSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        """Scales and sums of blocks come behind C."""
        output, scales, sums, *rest = buffers
        super().__init__(builder, spec, [output, *rest])
        of_blocks = Strides((), spec.quantized_blocks, 1)
        shape = (spec.rows, spec.quantized_blocks)
        self.row_scales, self.row_sums = (
            Matrix(builder, buffer, of_blocks, shape, self.split.lanes)
            for buffer in (scales, sums)
        )

    def add(
        self,
        columns: QuantizedColumns,
        place: tuple[Index, Index],
        words: int,
        total: SSAValue,
    ) -> SSAValue:
        """The sum of the block is one of integers."""
        sums = self._integers(columns, place, words)
        return self._scaled(columns, place, sums, total)

    def _integers(
        self, columns: QuantizedColumns, place: tuple[Index, Index], words: int
    ) -> SSAValue:
        """The sums of a block: of codes times bytes."""
        b, form = self.builder, self.spec.format
        (row, block), rows = place, self.tile.rows
        first = b.mul(block, form.size)

        def word(number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            codes = columns.row(block, b.add(number, self.spec.first_word))
            start = b.add(first, b.mul(number, form.codes))
            for part in range(form.codes // WORD):
                right = bytes_of(b, codes, part, form.bits)
                right = b.cast(arith.ExtUIOp, right, i32)
                k = b.add(start, part * WORD)
                left = self.a.read(row, k, (rows, WORD), (0, 1))
                left = b.cast(arith.ExtSIOp, left, i32)
                carried = [b.contract(left, right, *carried)]
            return carried

        zero = b.constant(0, types.vector_type((rows, *columns.shape), i32))
        return b.carry(0, words, 1, [zero], word)[0]

    def _scaled(
        self,
        columns: QuantizedColumns,
        place: tuple[Index, Index],
        sums: SSAValue,
        total: SSAValue,
    ) -> SSAValue:
        """The total with the sums of a block, less the zero points, in units of both scales."""
        b, (row, block), form = self.builder, place, self.spec.format
        shape = types.shape_of(sums)
        scale = b.broadcast(columns.floats(block, self.spec.scale_row), shape)
        numbers = b.cast(arith.SIToFPOp, sums, f32)
        lower = b.like(-float(form.middle), numbers)
        if form.has_points:
            lower = b.broadcast(columns.floats(block, self.spec.point_row), shape)
        of_row = (0, None, None)
        numbers = b.fma(self.row_sums.read(row, block, shape, of_row), lower, numbers)
        factor = b.mulf(scale, self.row_scales.read(row, block, shape, of_row))
        return b.fma(numbers, factor, total)
