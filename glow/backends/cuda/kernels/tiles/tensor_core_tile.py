"""Results of a block by tensor cores: each warp has a tile of fragments, 16 rows by 8 columns.

Fragments of factors are loaded by `ldmatrix`, transposed where the depth is not contiguous;
words of f32, which it does not transpose, by each lane. A product of f32 is three of TF32,
a = a' + a'' with a' = a rounded to 11 bits: a'' b' + a' b'' + a' b'. (Of infinities it is NaN.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import IntegerType, Signedness, f32, i32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder
from glow.backends.cuda.kernels.results import Piece
from glow.backends.cuda.kernels.tiles.shared_tile import SharedTile
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index

ROWS, COLUMNS = 16, 8
HALF_TF32, TF32_BITS = 1 << 12, -(1 << 13)
U8 = IntegerType(8, Signedness.UNSIGNED)

Fragment = Sequence[SSAValue]
"""A fragment of a factor; the rounded part and the rest of one of f32."""


class TensorCoreTile:
    """The sums of a warp: vector<2x2> of each fragment, row by row.

    Of a first factor that is in registers there is no tile.
    """

    def __init__(
        self,
        b: GpuBuilder,
        spec: ContractionSpec,
        a: SharedTile | None,
        other: SharedTile,
    ) -> None:
        self.b, self.spec, self.a, self.other = b, spec, a, other
        tile = spec.tile
        self.rows = tile.warp_rows // ROWS
        self.columns = tile.warp_columns // COLUMNS
        warp, self.lane = b.unflatten(b.thread(), (tile.threads // WARP, WARP))
        warp_row, warp_column = b.unflatten(warp, tile.warps)
        self.first_row = b.mul(warp_row, tile.warp_rows)
        self.first_column = b.mul(warp_column, tile.warp_columns)
        self.group, self.member = b.unflatten(self.lane, (WARP // 4, 4))
        self.eighth, self.in_eight = b.unflatten(self.lane, (WARP // 8, 8))

    def zeros(self) -> list[SSAValue]:
        """The sums before the first step."""
        zero = self.b.constant(0, types.vector_type((2, 2), self.spec.sum_element))
        return [zero] * (self.rows * self.columns)

    @property
    def steps(self) -> range:
        """The positions of the depth where fragments begin."""
        return range(0, self.spec.tile.depth, 2 * self.other.shape.chunk)

    def step(self, stage: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums after the tiles of a stage."""

        def one(k: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.multiply(self.row_fragments(stage, k), stage, k, before)

        return list(self.b.steps(self.steps, sums, one))

    def multiply(
        self, left: Sequence[Fragment], stage: Index, k: Index, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums after the positions from k on, with fragments of the first factor."""
        right = [
            fragment
            for j in range(0, self.columns, 2)
            for fragment in self.column_fragments(stage, j, k)
        ]
        return self.products(left, right, sums)

    def products(
        self,
        left: Sequence[Fragment],
        right: Sequence[Fragment],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The sums after the products of fragments."""
        totals = list(sums)
        for number in range(len(totals)):
            i, j = divmod(number, self.columns)
            totals[number] = self.product(left[i], right[j], totals[number])
        return totals

    def product(self, a: Fragment, b: Fragment, total: SSAValue) -> SSAValue:
        """A product of fragments added to the sums, small parts first."""
        if len(a) > 1:
            total = self.b.multiply_matrices(a[1], b[0], total)
            total = self.b.multiply_matrices(a[0], b[1], total)
        return self.b.multiply_matrices(a[0], b[0], total)

    def split(self, value: SSAValue) -> Fragment:
        """The parts of a fragment that tensor cores take.

        One TF32 is 19 bits of a number, read by the tensor cores themselves: a NaN remains one.
        """
        b = self.b
        if types.element_of(value) != f32 or self.spec.precision == "fast":
            return (value,)
        bits = b.bitcast(value, i32)
        bits = b.binary_integer(arith.AddiOp, bits, b.like(HALF_TF32, bits))
        bits = b.binary_integer(arith.AndIOp, bits, b.like(TF32_BITS, bits))
        rounded = b.bitcast(bits, f32)
        return (rounded, b.subf(value, rounded))

    def row_fragments(self, stage: Index, k: Index) -> list[Fragment]:
        """All rows of the first factor, from its tile."""
        assert self.a is not None
        return [self.row_fragment(self.a, stage, i, k) for i in range(self.rows)]

    def row_fragment(
        self, tile: SharedTile, stage: Index, i: int, k: Index
    ) -> Fragment:
        """The i-th 16 rows of the first factor."""
        b = self.b
        first = b.add(self.first_row, i * ROWS)
        if tile.shape.reader == "words":
            return self.split(self.words(tile, stage, first, k, 2))
        if tile.shape.factor.is_depth_contiguous:
            half, row = b.unflatten(self.lane, (2, ROWS))
            row, column = b.add(first, row), b.add(b.mul(half, tile.shape.chunk), k)
        else:
            upper, side = b.unflatten(self.eighth, (2, 2))
            row = b.add(b.add(self.in_eight, b.mul(upper, 8)), k)
            column = b.add(first, b.mul(side, 8))
        place = tile.place(stage, row, column)
        transpose = not tile.shape.factor.is_depth_contiguous
        read = self.element(tile, self.spec.is_unsigned)
        return self.split(b.load_matrices(tile.memory, place, 4, transpose, read))

    def element(self, tile: SharedTile, is_unsigned: bool) -> Attribute:
        """What the elements of a tile are multiplied as."""
        return U8 if is_unsigned else types.element_of(tile.memory)

    def column_fragments(self, stage: Index, j: int, k: Index) -> list[Fragment]:
        """The j-th and the next 8 columns of the second factor."""
        b, tile = self.b, self.other
        first = b.add(self.first_column, j * COLUMNS)
        if tile.shape.reader in ("words", "pairs"):
            starts = (first, b.add(first, COLUMNS))
            return [self.split(self.words(tile, stage, at, k, 1)) for at in starts]
        upper, side = b.unflatten(self.eighth, (2, 2))
        if tile.shape.factor.is_depth_contiguous:
            row = b.add(first, b.add(self.in_eight, b.mul(upper, 8)))
            column = b.add(b.mul(side, tile.shape.chunk), k)
        else:
            row = b.add(b.add(self.in_eight, b.mul(side, 8)), k)
            column = b.add(first, b.mul(upper, 8))
        place = tile.place(stage, row, column)
        transpose = not tile.shape.factor.is_depth_contiguous
        read = self.element(tile, self.spec.is_second_unsigned)
        both = b.load_matrices(tile.memory, place, 4, transpose, read)
        return [self.split(b.shuffle(both, both, x)) for x in ((0, 1), (2, 3))]

    def words(
        self, tile: SharedTile, stage: Index, first: Index, k: Index, sides: int
    ) -> SSAValue:
        """A fragment of f32 whose depth is not contiguous, word by word.

        Of "pairs" positions 2 i and 2 i + 1 are where i and i + 4 are else, so that sums of
        fragments are fragments of a factor.
        """
        b = self.b
        first_step, step = (2, 1) if tile.shape.reader == "pairs" else (1, 4)
        value = b.constant(0, types.vector_type((2 * sides, 1)))
        for number in range(2 * sides):
            upper, side = divmod(number, sides)
            row = b.add(b.add(b.mul(self.member, first_step), step * upper), k)
            column = b.add(first, b.add(self.group, 8 * side))
            element = b.load(tile.memory, *tile.place(stage, row, column))
            value = b.insert(element, value, number, 0)
        return value

    def pieces(self, m: Index, n: Index, sums: Sequence[SSAValue]) -> Iterator[Piece]:
        """The results of a thread, for a tile at (m, n)."""
        b, rows = self.b, self.result_rows(m)
        column = b.add(b.add(n, self.first_column), b.mul(self.member, 2))
        for number, total in enumerate(sums):
            i, j = divmod(number, self.columns)
            at = b.add(column, j * COLUMNS)
            for half in range(2):
                yield Piece(b.extract(total, half), rows[2 * i + half], at)

    def result_rows(self, m: Index) -> list[Index]:
        """The rows of a thread's results, two of each fragment."""
        row = self.b.add(self.b.add(m, self.first_row), self.group)
        return [self.b.add(row, 8 * number) for number in range(2 * self.rows)]
