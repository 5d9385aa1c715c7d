"""Products of f32 with weights of a few bits, which are dequantized where they are multiplied.

One tile of rows dequantizes each weight in registers, just before it is multiplied. With more
tiles, a panel of weights is dequantized once for a block of rows, on the stack, some blocks of the
depth at a time; sums wait there for the next ones. All tiles add up in the order of the depth.
Where code is to be small, so is the stack: each tile of rows dequantizes all weights.

    words & mask        8 codes of 4 bits each of one column, of which one is kept in its place
    | exponent          a float: a power of two, and so many units as the code says
    - (power + point)   code - zero point
    * scale             of a block of a column
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.matmul.block_product import (
    BlockProduct,
    QuantizedColumns,
)
from glow.backends.cpu.kernels.matmul.block_quantized_spec import (
    MANTISSA_BITS,
    BlockQuantizedSpec,
)
from glow.backends.cpu.kernels.matmul.int8_block_quantized import Int8Product
from glow.backends.cpu.tiling.accumulation import outer_product
from glow.backends.cpu.tiling.matmul_tile import ColumnGroup
from glow.backends.cpu.tiling.matrix_memory import flat
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

Weights = Callable[[Index, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""What becomes of the weights of a step of the depth, [blocks, lanes], with carried values."""


class Block:
    """A block along the depth of a group of columns: [blocks, lanes] for each of its steps."""

    def __init__(self, columns: QuantizedColumns, number: Index) -> None:
        self.builder, self.format = columns.builder, columns.format
        self.columns, self.number = columns, number
        self.first = self.builder.mul(number, self.format.size)
        spec = columns.spec
        self.scale = columns.floats(number, spec.scale_row)
        self.point = None
        if self.format.has_points:
            self.point = columns.floats(number, spec.point_row)

    def steps(
        self,
        words: int,
        carried: Sequence[SSAValue],
        use: Weights,
        *,
        scaled: bool = True,
    ) -> Sequence[SSAValue]:
        """Runs `use` at each step of so many words; weights lack their scale if not `scaled`."""
        b, form = self.builder, self.format

        def word(number: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            codes = self.columns.row(
                self.number, b.add(number, self.columns.spec.first_word)
            )
            start = b.add(self.first, b.mul(number, form.codes))
            for step in range(form.codes):
                weights = self._centred(codes, step)
                weights = b.mulf(weights, self.scale) if scaled else weights
                values = use(b.add(start, step), weights, values)
            return values

        return b.carry(0, words, 1, carried, word)

    def _centred(self, words: SSAValue, step: int) -> SSAValue:
        """The codes with that number in each word less their zero points, in units."""
        b, form = self.builder, self.format
        floats, size = self._floats(words, step)
        if self.point is not None:
            return b.subf(b.subf(floats, b.like(size, floats)), self.point)
        return b.subf(floats, b.like(size + form.unit * form.middle, floats))

    def _floats(self, words: SSAValue, step: int) -> tuple[SSAValue, float]:
        """Floats of so many units as the codes say, and of one power of two more.

        A code stays where it is in a word, which becomes the mantissa: the exponent says what it
        counts. Those in the upper bits are moved down first.
        """
        b, form = self.builder, self.format
        fitting = MANTISSA_BITS // form.bits
        below, place = step // fitting * fitting * form.bits, step % fitting
        if below:
            words = b.binary_integer(arith.ShRUIOp, words, b.like(below, words))
        mask = ((1 << form.bits) - 1) << (place * form.bits)
        codes = b.binary_integer(arith.AndIOp, words, b.like(mask, words))
        size = np.float32(form.unit * 2.0 ** (MANTISSA_BITS - place * form.bits))
        exponent = b.like(int(size.view(np.int32)), words)
        floats = b.bitcast(b.binary_integer(arith.OrIOp, codes, exponent), f32)
        return floats, float(size)


class FloatProduct(BlockProduct):
    """Of rows of floats."""

    def group(
        self, columns: QuantizedColumns, group: ColumnGroup, block: Index
    ) -> None:
        """As ever, or with panels of weights that are dequantized before."""
        if not self.spec.is_dequantized_before(self.builder.target):
            super().group(columns, group, block)
            return
        tiles = self.row_blocks.bounds(self.builder, block)
        _Panels(self, columns, tiles).run(group)

    def multiply(
        self, row: Index, k: Index, right: SSAValue, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The sums of a tile of rows after another step of the depth."""
        shape = (self.tile.rows, *types.shape_of(right))
        left = self.a.read(row, k, shape, (0, None, None))
        return [outer_product(self.builder, left, right, *carried)]

    def add(
        self,
        columns: QuantizedColumns,
        place: tuple[Index, Index],
        words: int,
        total: SSAValue,
    ) -> SSAValue:
        """The weights of a block are made in registers.

        A single row multiplies the sum of the block by its scale; more have no registers for that.
        """
        row, number = place
        block, multiply = Block(columns, number), partial(self.multiply, row)
        if self.spec.rows > 1:
            return block.steps(words, [total], multiply)[0]
        zero = self.zeros(columns)
        (sums,) = block.steps(words, [zero], multiply, scaled=False)
        return outer_product(self.builder, sums, block.scale, total)


class _Panels:
    """Dequantizes some blocks of the depth at a time, and multiplies tiles of rows with them."""

    def __init__(
        self,
        product: FloatProduct,
        columns: QuantizedColumns,
        tiles: tuple[Index, Index],
    ) -> None:
        b, spec = product.builder, product.spec
        self.builder, self.spec, self.product = b, spec, product
        self.columns, self.tiles = columns, tiles
        self.together = spec.blocks_of_panel(b.target)
        steps = self.together * spec.format.size
        self.panel = b.alloca(types.memref_type((steps, *columns.shape), f32))
        self.tile = (product.tile.rows, *columns.shape)
        count = product.row_blocks.tiles_of_block
        self.sums = b.alloca(types.memref_type((count, *self.tile), f32))

    def run(self, group: ColumnGroup) -> None:
        """Computes the tiles."""
        b, (whole, rest) = self.builder, divmod(self.spec.depth, self.spec.format.size)
        step, end = self.together, whole - whole % self.together
        self._blocks(0, min(step, whole), starts=True)
        b.loop(step, end, step, lambda low: self._blocks(low, step))
        if step < whole and end < whole:
            self._blocks(end, whole - end)
        if rest:
            self._dequantize(whole, whole, rest // self.spec.format.codes)
            self._all_rows(whole, rest, starts=whole == 0)
        self._each_tile(lambda number, row: self._finish(number, row, group))

    def _each_tile(self, body: Callable[[Index, Index], None]) -> None:
        """Runs the body with the number of each tile and its first row."""
        b, (first, end) = self.builder, self.tiles
        rows = self.product.row_blocks
        b.loop(
            first,
            end,
            1,
            lambda tile: body(b.sub(tile, first), rows.first_row(b, tile)),
        )

    def _blocks(self, low: Index, count: int, *, starts: bool = False) -> None:
        """Multiplies with so many whole blocks of the depth."""
        b, form = self.builder, self.spec.format
        end = b.add(low, count)
        b.loop(low, end, 1, lambda block: self._dequantize(block, low, form.words))
        self._all_rows(low, count * form.size, starts=starts)

    def _dequantize(self, block: Index, first: Index, words: int) -> None:
        """Writes a block to the panel, which begins with block `first`."""
        b, start = self.builder, self.builder.mul(first, self.spec.format.size)

        def write(
            k: Index, weights: SSAValue, carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            b.transfer_write(weights, self.panel, (b.sub(k, start), 0, 0), (1, 2))
            return carried

        Block(self.columns, block).steps(words, (), write)

    def _all_rows(self, first: Index, steps: int, *, starts: bool) -> None:
        """Multiplies all tiles with the panel, which begins with block `first`."""
        k = self.builder.mul(first, self.spec.format.size)
        self._each_tile(
            lambda number, row: self._tile(number, row, (k, steps), starts=starts)
        )

    def _tile(
        self, number: Index, row: Index, depth: tuple[Index, int], *, starts: bool
    ) -> None:
        """Adds the panel's steps of the depth to the sums of a tile."""
        b, (first, steps) = self.builder, depth
        zero = self.product.zeros(self.columns)
        before = zero if starts else self._sums(number)

        def step(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            right = b.transfer_read(self.panel, (k, 0, 0), self.columns.shape, (1, 2))
            return self.product.multiply(row, b.add(first, k), right, carried)

        (total,) = b.carry(0, steps, 1, [before], step)
        b.transfer_write(total, self.sums, (number, 0, 0, 0), (1, 2, 3))

    def _sums(self, number: Index) -> SSAValue:
        place = (number, 0, 0, 0)
        return self.builder.transfer_read(self.sums, place, self.tile, (1, 2, 3))

    def _finish(self, number: Index, row: Index, group: ColumnGroup) -> None:
        self.product.store(self._sums(number), row, group)


def build_block_quantized(
    spec: BlockQuantizedSpec, target: Target, name: str = "block_quantized_matmul"
) -> Kernel:
    """The kernel f(C, [scales and sums of A's blocks], A, packed B, [bias], epilogue operands...,
    lo, hi).
    """
    space = [spec.split(target).units, spec.row_blocks(target).blocks]
    builder, rows, epilogue = LoopBuilder(target), spec.rows, spec.tile_epilogue
    make = Int8Product if spec.int8_rows else FloatProduct

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.space(low, high, space, make(builder, spec, buffers).unit)

    output = epilogue.output(spec.c_strides.span((), rows, spec.columns))
    of_blocks = [flat(rows * spec.quantized_blocks, f32)] * (2 * spec.int8_rows)
    element = i8 if spec.int8_rows else f32
    left = flat(spec.a_strides.span((), rows, spec.depth), element)
    right = flat(spec.packed_words(target), i32)
    others = epilogue.buffers(output, rows, spec.columns)
    buffers = [output, *of_blocks, left, right, *others]
    return Kernel(builder.function(name, buffers, body), prod(space))
