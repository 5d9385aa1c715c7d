"""Results of a block by tensor cores, of int8: factors of any order of axes, with zero points.

A register of a fragment has four bytes along the depth. `ldmatrix` loads them of rows of the depth.
Of rows along m or n a lane takes two bytes of each of four rows, 2 g and 2 g + 1, and so has the
registers of two columns; a thread's results are those of other rows and columns than else:

    rows       g and g + 8 of a fragment are 2 g and 2 g + 1
    columns    c of the first and the second fragment of two are 2 c and 2 c + 1

Zero points are taken off the sums, modulo 2^32: the sum over k of (a - p)(b - q) is

    sum ab - p sum b - q (sum a - k p)

Products with fragments of ones give the sums of rows and of columns, each where a lane needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder
from glow.backends.cuda.kernels.results import Piece
from glow.backends.cuda.kernels.tiles.shared_tile import ROW_BYTES, SharedTile
from glow.backends.cuda.kernels.tiles.tensor_core_tile import (
    COLUMNS,
    ROWS,
    U8,
    Fragment,
    TensorCoreTile,
)
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index

SUMS = (2, 2)
"""The shape of a lane's sums of a fragment."""


class Int8Tile(TensorCoreTile):
    """The sums of a warp, behind them those of its rows and of its columns, where points need them.

    `points`: begins with their buffer, if there are some.
    """

    def __init__(
        self,
        b: GpuBuilder,
        spec: ContractionSpec,
        a: SharedTile,
        other: SharedTile,
        points: Sequence[SSAValue],
    ) -> None:
        super().__init__(b, spec, a, other)
        self.row_tile, self.points = a, points
        known = spec.points
        self.row_sums = self.rows if known is not None and known.second else 0
        self.column_sums = self.columns if known is not None and known.first else 0

    def zeros(self) -> list[SSAValue]:
        """The sums before the first step."""
        products = super().zeros()
        return [*products, *[products[0]] * (self.row_sums + self.column_sums)]

    def products(
        self,
        left: Sequence[Fragment],
        right: Sequence[Fragment],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The sums after the products of fragments, with each other and with ones."""
        products, of_rows, of_columns = self.parts(sums)
        ones = self.b.constant(1, types.vector_type((4, ROW_BYTES), i8))
        few_ones = self.b.constant(1, types.vector_type((2, ROW_BYTES), i8))
        multiply = self.b.multiply_matrices
        return [
            *super().products(left, right, products),
            *(multiply(a, few_ones, x) for (a,), x in zip(left, of_rows, strict=False)),
            *(multiply(ones, b, x) for (b,), x in zip(right, of_columns, strict=False)),
        ]

    def parts(
        self, sums: Sequence[SSAValue]
    ) -> tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]]:
        """The sums of products, of rows and of columns."""
        first = self.rows * self.columns
        second = first + self.row_sums
        return sums[:first], sums[first:second], sums[second:]

    # ---- fragments

    def row_fragment(
        self, tile: SharedTile, stage: Index, i: int, k: Index
    ) -> Fragment:
        """The i-th 16 rows of the first factor."""
        if tile.shape.reader != "bytes":
            return super().row_fragment(tile, stage, i, k)
        first = self.b.add(self.first_row, i * ROWS)
        lower, upper = self.registers(tile, stage, first, k)
        return self.fragment(tile, [*lower, *upper], self.spec.is_unsigned)

    def column_fragments(self, stage: Index, j: int, k: Index) -> list[Fragment]:
        """The j-th and the next 8 columns of the second factor."""
        tile = self.other
        if tile.shape.reader != "bytes":
            return super().column_fragments(stage, j, k)
        first = self.b.add(self.first_column, j * COLUMNS)
        is_unsigned = self.spec.is_second_unsigned
        return [
            self.fragment(tile, pair, is_unsigned)
            for pair in zip(*self.registers(tile, stage, first, k), strict=True)
        ]

    def fragment(
        self, tile: SharedTile, registers: Sequence[SSAValue], is_unsigned: bool
    ) -> Fragment:
        """A fragment of such registers, each four bytes."""
        b = self.b
        value = b.constant(0, types.vector_type((len(registers), ROW_BYTES), i8))
        for number, register in enumerate(registers):
            value = b.insert(register, value, number)
        return (b.bitcast(value, U8) if is_unsigned else value,)

    def registers(
        self, tile: SharedTile, stage: Index, first: Index, k: Index
    ) -> Iterator[tuple[SSAValue, SSAValue]]:
        """The lane's registers of two columns, at k and 16 further."""
        b = self.b
        column = b.add(first, b.mul(self.group, 2))
        for upper in range(2):
            row = b.add(b.mul(self.member, ROW_BYTES), 4 * ROW_BYTES * upper)
            places = [
                tile.place(stage, b.add(b.add(row, number), k), column)
                for number in range(ROW_BYTES)
            ]
            loads = [b.vector_load(2, tile.memory, *place) for place in places]
            yield self.turned(loads)

    def turned(self, rows: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """The two columns of four rows of two bytes, as permutations of two registers."""
        b = self.b
        a, c, d, e = (b.bitcast(row, i16) for row in rows)
        first = b.bitcast(b.shuffle(a, c, (0, 1)), i8)
        second = b.bitcast(b.shuffle(d, e, (0, 1)), i8)
        return (
            b.shuffle(first, second, (0, 2, 4, 6)),
            b.shuffle(first, second, (1, 3, 5, 7)),
        )

    # ---- results

    def pieces(self, m: Index, n: Index, sums: Sequence[SSAValue]) -> Iterator[Piece]:
        """The results of a thread, for a tile at (m, n)."""
        b, totals = self.b, self.without_points(sums)
        if self.other.shape.reader != "bytes":
            yield from super().pieces(m, n, totals)
            return
        rows = self.result_rows(m)
        column = b.add(b.add(n, self.first_column), b.mul(self.member, 4))
        for number in range(0, len(totals), 2):
            i, j = divmod(number, self.columns)
            at = b.add(column, j * COLUMNS)
            for half in range(2):
                even, odd = (b.extract(x, half) for x in totals[number : number + 2])
                yield Piece(b.shuffle(even, odd, (0, 2, 1, 3)), rows[2 * i + half], at)

    def result_rows(self, m: Index) -> list[Index]:
        """The rows of a thread's results, two of each fragment."""
        if self.row_tile.shape.reader != "bytes":
            return super().result_rows(m)
        b = self.b
        row = b.add(b.add(m, self.first_row), b.mul(self.group, 2))
        return [
            b.add(row, ROWS * i + half) for i in range(self.rows) for half in range(2)
        ]

    def without_points(self, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The sums of products of what bytes stand for."""
        products, of_rows, of_columns = self.parts(sums)
        if not (of_rows or of_columns):
            return products
        b, subtract = self.b, arith.SubiOp
        p, q = (b.broadcast(b.load(*self.points, at), SUMS) for at in range(2))
        of_columns = [b.binary_integer(arith.MuliOp, x, p) for x in of_columns]
        if of_columns and of_rows:
            depth = b.constant(self.spec.k, types.vector_type(SUMS, i32))
            taken = b.binary_integer(arith.MuliOp, p, depth)
            of_rows = [b.binary_integer(subtract, x, taken) for x in of_rows]
        of_rows = [b.binary_integer(arith.MuliOp, x, q) for x in of_rows]
        totals: list[SSAValue] = []
        for number, total in enumerate(products):
            i, j = divmod(number, self.columns)
            for term in (*of_rows[i : i + 1], *of_columns[j : j + 1]):
                total = b.binary_integer(subtract, total, term)
            totals.append(total)
        return totals
