"""Panels of a dynamic int8 matrix, [depth / 4, blocks, lanes, 4], signed.

What dot-product instructions take as their right operand: each lane's four neighbours along
the depth lie together. Bytes behind the end of the depth are zeros.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.tiling.int8_tile import WORD, words
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides, flat
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder

SIGNS: Mapping[Attribute, int] = {i8: -0x80, i32: -0x7F7F7F80}
"""The highest bit of each byte of an element."""


class Int8Panel:
    """Packs groups of columns of the matrices in a flat buffer."""

    def __init__(
        self,
        builder: LoopBuilder,
        buffer: SSAValue,
        strides: Strides,
        extents: tuple[int, ...],
        *,
        signed: bool,
    ) -> None:
        self.builder = builder
        self.buffer = buffer
        self.strides = strides
        self.extents = extents
        self.signed = signed
        self.depth = extents[-2]
        self.lanes = builder.target.lanes(32)
        self.source = Matrix(builder, buffer, strides, extents, self.lanes)
        self.word_source = self._word_matrix()

    def _word_matrix(self) -> Matrix | None:
        """The matrix of words, where columns are contiguous and made of whole words."""
        *batch, depth, columns = self.extents
        steps = (*self.strides.batch, self.strides.column)
        size = self.strides.span(batch, depth, columns)
        if self.strides.row != 1 or any(step % WORD for step in (*steps, depth, size)):
            return None
        whole = self.builder.view(self.buffer, 0, flat(size // WORD, i32))
        *outer, column = (step // WORD for step in steps)
        strides = Strides(tuple(outer), 1, column)
        extents = (*batch, depth // WORD, columns)
        return Matrix(self.builder, whole, strides, extents, self.lanes)

    def pack(self, group: ColumnGroup) -> SSAValue:
        """The panel of a group of columns."""
        shape = (words(self.depth), group.blocks, self.lanes, WORD)
        panel = self.builder.alloca(types.memref_type(shape, i8))
        first = self.builder.mul(group.block, self.lanes)
        for block in range(group.blocks):
            used = group.last if block == group.blocks - 1 else self.lanes
            column = self.builder.add(first, block * self.lanes)
            if self.word_source is not None and used == self.lanes:
                self._turn(panel, block, column)
            elif self.strides.column == 1:
                self._interleave(panel, block, column, used)
            else:
                self._copy(panel, block, column, used)
        return panel

    def _made_signed(self, value: SSAValue) -> SSAValue:
        """Bytes, or words of them, as signed ones: 128 less."""
        if self.signed:
            return value
        sign = self.builder.like(SIGNS[types.element_of(value)], value)
        return self.builder.binary_integer(arith.XOrIOp, value, sign)

    def _turn(self, panel: SSAValue, block: int, column: Index) -> None:
        """Words of `lanes` columns as registers of `lanes` words."""
        builder, source = self.builder, self.word_source
        assert source is not None
        source.position = self.source.position
        steps, blocks, lanes, _ = types.shape_of(panel)
        flat_panel = builder.reinterpret(panel, (steps * blocks * lanes * WORD,))
        turned = builder.view(
            flat_panel, 0, types.memref_type((steps, blocks, lanes), i32)
        )
        height = 1 << min(steps, lanes).bit_length() - 1

        def square(k: Index) -> None:
            value = source.read(k, column, (height, lanes), (0, 1))
            builder.transfer_write(
                self._made_signed(value), turned, (k, block, 0), (0, 2)
            )

        builder.tiles(0, steps, height, square)

    def _interleave(
        self, panel: SSAValue, block: int, column: Index, used: int
    ) -> None:
        """Four rows, byte by byte."""
        builder, whole = self.builder, self.depth // WORD

        def row(k: Index) -> SSAValue:
            where = (*self.source.position, k, column)
            value = builder.vector_load(used, self.source.plain, *where)
            return self._made_signed(value)

        def write(step: Index, rows: list[SSAValue]) -> None:
            first, second, third, fourth = rows
            pairs = self._zipped(first, second, 1), self._zipped(third, fourth, 1)
            value = self._zipped(*pairs, 2)
            lane = builder.reinterpret(panel, self._rows_shape(panel))
            builder.vector_store(value, lane, step, block, 0)

        def step(k: Index) -> None:
            first = builder.mul(k, WORD)
            write(k, [row(builder.add(first, i)) for i in range(WORD)])

        builder.loop(0, whole, 1, step)
        if self.depth % WORD:
            rest = [row(k) for k in range(whole * WORD, self.depth)]
            zero = builder.like(0, rest[0])
            write(whole, rest + [zero] * (WORD - len(rest)))

    def _rows_shape(self, panel: SSAValue) -> tuple[int, ...]:
        steps, blocks, lanes, word = types.shape_of(panel)
        return steps, blocks, lanes * word

    def _zipped(self, a: SSAValue, b: SSAValue, run: int) -> SSAValue:
        """Runs of a and b in turn."""
        (length,) = types.shape_of(a)
        mask = [
            source * length + start + k
            for start in range(0, length, run)
            for source in range(2)
            for k in range(run)
        ]
        return self.builder.shuffle(a, b, mask)

    def _copy(self, panel: SSAValue, block: int, column: Index, used: int) -> None:
        """Byte by byte."""
        builder = self.builder

        def element(lane: Index, k: Index) -> None:
            where = (*self.source.position, k, builder.add(column, lane))
            value = self._made_signed(builder.load(self.source.plain, *where))
            word = builder.floordiv(k, WORD)
            byte = builder.sub(k, builder.mul(word, WORD))
            builder.store(value, panel, word, block, lane, byte)

        def line(lane: Index) -> None:
            builder.loop(0, self.depth, 1, lambda k: element(lane, k))
            for k in range(self.depth, words(self.depth) * WORD):
                zero = builder.constant(0, i8)
                builder.store(zero, panel, words(self.depth) - 1, block, lane, k % WORD)

        builder.loop(0, used, 1, line)
