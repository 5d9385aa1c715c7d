"""Products of rows with one of several constant matrices each, which indices name.

    y[row] = x[row] weights[indices[row]]

Layers of experts have them: no matrix is copied for its row. First the rows are sorted by their
matrix, which takes a few steps a row. Then each panel of columns visits all matrices, and
multiplies its part of one with all rows that name it, a tile of them at a time. The last tile
of a matrix repeats its last row. Threads share the panels, so that none of them waits because
many rows name one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.kernels.movement.gather import error_types, safe_index
from glow.backends.cpu.tiling.accumulation import accumulate
from glow.backends.cpu.tiling.matmul_tile import (
    ColumnGroup,
    ColumnSplit,
    Tile,
    choose_tile,
    tallest,
)
from glow.backends.cpu.tiling.matrix_memory import Matrix, Strides, flat
from glow.backends.cpu.tiling.tile_store import (
    PartialStore,
    TileEpilogue,
    TileStore,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

SORTED_ROWS = 4096
"""The rows that are sorted at once: their order is on the stack."""

MOST_MATRICES = 1024
"""With more, where their rows start would take more of the stack, and to visit those that no row
names more time than to copy those that rows name."""


@dataclass(frozen=True)
class IndexedMatmulSpec:
    """y [rows, columns] = x [rows, depth] times the matrices of weights at indices [rows], f32.

    weights [matrices, panels, depth, width], the columns of the last panel zero behind the last
    one. Arguments of the kernel: y, x, weights, indices, and the byte of errors if there is one.
    """

    rows: int
    columns: int
    depth: int
    matrices: int
    width: int
    index: Attribute = i64
    unsigned: bool = False
    """Whether indices have no sign."""
    reports: bool = False
    """Whether the kernel notes indices that are outside."""

    def tile(self, target: Target) -> Tile:
        """The register tile: as many rows as a matrix has on average, if they fit."""
        blocks = self.width // target.lanes(32)
        wanted = rows_of_matrix(self.rows, self.matrices)
        return Tile(min(wanted, tallest(blocks, target)), blocks)

    @property
    def panels(self) -> int:
        """The groups of columns."""
        return -(-self.columns // self.width)

    @property
    def buffers(self) -> list[MemRefType]:
        """The types of the kernel's arguments."""
        return [
            flat(self.rows * self.columns),
            flat(self.rows * self.depth),
            self.weights,
            flat(self.rows, self.index),
            *error_types(self.reports),
        ]

    @property
    def weights(self) -> MemRefType:
        """The type of the weights."""
        return flat(self.matrices * self.panels * self.depth * self.width)


def rows_of_matrix(rows: int, matrices: int) -> int:
    """How many rows name one matrix, on average."""
    return -(-rows // matrices)


def panel_width(
    rows: int, columns: int, depth: int, matrices: int, target: Target
) -> int:
    """The columns of a panel, whole registers of them, that suit a product best; 0 for none."""
    if matrices > MOST_MATRICES:
        return 0
    wanted = rows_of_matrix(rows, matrices)
    return choose_tile(wanted, columns, depth, target).blocks * target.lanes(32)


class IndexedProduct:
    """What one kernel computes."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: IndexedMatmulSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        y, x, weights, self.indices, *self.errors = buffers
        self.builder = builder
        self.spec = spec
        self.tile = spec.tile(builder.target)
        lanes, extents = builder.target.lanes(32), (spec.rows, spec.columns)
        self.lanes = lanes
        self.split = ColumnSplit(spec.columns, lanes, self.tile.blocks)
        self.x = builder.reinterpret(x, (spec.rows, spec.depth))
        self.weights = self.panels(weights)
        strides = Strides((), spec.columns, 1)
        result = Matrix(builder, y, strides, extents, lanes, blocked=True)
        self.store = PartialStore(
            builder, TileStore(builder, TileEpilogue(), result, []), 1
        )
        count = min(spec.rows, SORTED_ROWS)
        self.order = builder.alloca(types.memref_type((count,), types.INDEX))
        self.starts = builder.alloca(
            types.memref_type((spec.matrices + 2,), types.INDEX)
        )

    def panels(self, weights: SSAValue) -> SSAValue:
        """The weights, [matrices, panels, ..., blocks, lanes]."""
        spec, registers = self.spec, (self.tile.blocks, self.lanes)
        shape = (spec.matrices, spec.panels, spec.depth, *registers)
        return self.builder.reinterpret(weights, shape)

    def rows(self, low: Index, high: Index, first: Index) -> None:
        """Computes some panels of the rows that are sorted at once, from a first one on."""
        b = self.builder
        end = b.minimum(b.add(first, SORTED_ROWS), self.spec.rows)
        self._sort(first, end)

        def matrices(panel: Index) -> None:
            known = 0 if self.spec.panels == 1 else panel
            b.loop(0, self.spec.matrices, 1, lambda one: self._matrix((one, known)))

        b.loop(low, high, 1, matrices)

    def _sort(self, first: Index, end: Index) -> None:
        """Finds the order of rows, and where those of each matrix start in it.

        Rows are counted two places behind that of their matrix. Sums of the counts are where
        rows start, one place behind; and where they start when all rows have their places.
        """
        b, starts, places = self.builder, self.starts, self.spec.matrices + 2

        def count(row: Index) -> None:
            self._add(b.add(self._matrix_of(row, self.errors), 2), 1)

        def add_up(place: Index) -> None:
            self._add(place, b.load(starts, b.sub(place, 1)))

        def put(row: Index) -> None:
            place = b.add(self._matrix_of(row), 1)
            b.store(b.index(row), self.order, b.load(starts, place))
            self._add(place, 1)

        b.loop(0, places, 1, lambda place: b.store(b.index(0), starts, place))
        b.loop(first, end, 1, count)
        b.loop(3, places, 1, add_up)
        b.loop(first, end, 1, put)

    def _matrix_of(self, row: Index, errors: Sequence[SSAValue] = ()) -> Index:
        """The matrix that a row names."""
        index, unsigned = self.builder.load(self.indices, row), self.spec.unsigned
        matrices = self.spec.matrices
        return safe_index(self.builder, index, matrices, errors, unsigned=unsigned)

    def _add(self, place: Index, number: Index) -> None:
        """Adds to a count."""
        b = self.builder
        total = b.add(b.load(self.starts, place), number)
        b.store(b.index(total), self.starts, place)

    def _matrix(self, at: tuple[Index, Index]) -> None:
        """Computes a panel of a matrix, for the rows that name it."""
        b, (number, panel) = self.builder, at
        start = b.load(self.starts, number)
        end = b.load(self.starts, b.add(number, 1))

        def tile(first: Index) -> None:
            last, heights = b.sub(end, 1), range(self.tile.rows)
            places = [b.minimum(b.add(first, height), last) for height in heights]
            rows = [b.load(self.order, place) for place in places]
            self.split.visit(b, panel, lambda group: self._multiply(at, group, rows))

        b.loop(start, end, self.tile.rows, tile)

    def _multiply(
        self, at: tuple[Index, Index], group: ColumnGroup, rows: Sequence[SSAValue]
    ) -> None:
        """Computes a panel's columns of a tile of rows."""
        b, registers = self.builder, (group.blocks, self.lanes)
        total = self.sums(at, rows, registers)
        for number, row in enumerate(rows):
            value = b.shape_cast(b.extract(total, number), (1, *registers))
            self.store(value, row, group)

    def sums(
        self,
        at: tuple[Index, Index],
        rows: Sequence[SSAValue],
        registers: tuple[int, int],
    ) -> SSAValue:
        """The products [rows, *registers] of a tile of rows with a panel of a matrix."""
        b, unroll = self.builder, self.tile.unroll(self.builder.target.core)

        def factors(k: Index) -> Sequence[SSAValue]:
            columns = b.transfer_read(self.weights, (*at, k, 0, 0), registers, (3, 4))
            return self.elements(rows, k, registers), columns

        shape = (self.tile.rows, *registers)
        return accumulate(b, self.spec.depth, unroll, shape, factors)

    def elements(
        self, rows: Sequence[SSAValue], k: Index, registers: tuple[int, int]
    ) -> SSAValue:
        """What the rows of a tile multiply at step k, each of them in registers of its own."""
        b = self.builder
        result = b.constant(0.0, types.vector_type((self.tile.rows, *registers)))
        for number, row in enumerate(rows):
            element = b.broadcast(b.load(self.x, row, k), registers)
            result = b.insert(element, result, number)
        return result


def build_indexed_matmul(
    spec: IndexedMatmulSpec, target: Target, name: str = "indexed_matmul"
) -> Kernel:
    """The kernel f(y, x, weights, indices, [errors], lo, hi); a panel is a work item."""
    return kernel_of(IndexedProduct, spec, target, name)


def kernel_of(
    make: type[IndexedProduct], spec: IndexedMatmulSpec, target: Target, name: str
) -> Kernel:
    """The kernel of products of a kind."""
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        product = make(builder, spec, buffers)

        def rows(first: Index) -> None:
            product.rows(low, high, first)

        has_work = builder.compare("slt", low, high)
        builder.if_(has_work, lambda: builder.loop(0, spec.rows, SORTED_ROWS, rows))

    return Kernel(builder.function(name, spec.buffers, body), spec.panels)
