"""One level of Strassen's algorithm for products with constant weights.

The left operand comes as the seven sums of its quadrants (`quadrant_sums.py`), which products
of one input share; the weights' sums are made when the model is compiled. A slice is a panel
of columns of a block of rows: its seven half-size products go into a scratch of the size of
the second cache and from there, as sums, into the four quadrants of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from glow.interpreter.strassen import (
    PRODUCTS,
    RESULT,
    RIGHT,
    Sum,
    quadrants,
    signed_sum,
)
from glow.lowering.instr_to_loops import ir_types as types
from glow.lowering.instr_to_loops.accumulation import accumulate
from glow.lowering.instr_to_loops.builder import Index, LoopBuilder
from glow.lowering.instr_to_loops.epilogue import Epilogue
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.matmul import MatmulSpec, stored_rows
from glow.lowering.instr_to_loops.matmul_tile import (
    ColumnGroup,
    Finish,
    Matrix,
    Strides,
    Tile,
    TileStore,
    columns_of,
    flat,
    matrices_of,
)
from glow.lowering.instr_to_loops.matmul_weights import PanelPrefetch
from glow.lowering.target import Target

WANTED_SLICES = 8
SCRATCH_TILES = 8
"""The most tiles of rows in a block: 86 KiB of products with 8 x 3 registers of 64 bytes."""
QUADRANTS = 4
SUM_COST = 20
RESULT_COST = 20
"""Multiply-adds in the time of one element of the left matrix's sums and of the result."""
MIN_ROWS = 64
"""Fewer rows are bound by reading the weights, of which there are 7 / 4 as many."""

_TileBody = Callable[[Index, Index], None]


@dataclass(frozen=True)
class StrassenSpec:
    """C[rows, columns] = epilogue(A[rows, depth] B[depth, columns] + bias), f32.

    Arguments of the kernel: C, the sums of A [7, rows / 2, depth / 2], packed B, bias if
    `has_bias`, the epilogue's inputs.
    """

    rows: int
    columns: int
    depth: int
    has_bias: bool = False
    epilogue: Epilogue | None = None

    def supported(self, target: Target) -> bool:
        """Whether the quadrants are equal and their columns fill registers."""
        even = not (self.rows % 2 or self.depth % 2)
        return even and self.columns % (2 * target.lanes(32)) == 0

    def pays(self, target: Target) -> bool:
        """Whether the saved eighth of the products outweighs the sums.

        Each element of A is part of seven sums that are written and read back, each one of
        C goes through the scratch: measured as the time of so many multiply-adds.
        """
        if not self.supported(target) or self.rows < MIN_ROWS:
            return False
        saved = self.rows * self.columns * self.depth / 8
        sums = SUM_COST * self.rows * self.depth
        results = RESULT_COST * self.rows * self.columns
        return saved > sums + results

    @property
    def half(self) -> MatmulSpec:
        """The product of two quadrants."""
        return MatmulSpec(self.rows // 2, self.columns // 2, self.depth // 2)

    @property
    def packed_weights(self) -> int:
        """The elements of the seven factors of B."""
        return PRODUCTS * self.half.depth * self.half.columns

    @property
    def operations(self) -> int:
        """The additions and multiplications of a direct product."""
        return 2 * self.rows * self.columns * self.depth

    @property
    def finish(self) -> Finish:
        """Bias and epilogue."""
        return Finish(self.has_bias, self.epilogue)

    def row_tiles(self, target: Target) -> tuple[int, int]:
        """(blocks of rows, tiles in each of them)."""
        tiles = -(-self.half.rows // self.half.tile(target).rows)
        units = self.half.split(target).units
        blocks = max(-(-tiles // SCRATCH_TILES), -(-WANTED_SLICES // units))
        per_block = -(-tiles // min(blocks, tiles))
        return -(-tiles // per_block), per_block


def pack_strassen_weights(
    weights: np.ndarray,
    spec: StrassenSpec,
    target: Target,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """B [depth, columns] as the kernel reads it, flat: [panel][factor][depth / 2][columns].

    The seven factors are made in place, in `out` if that is given. Sums of two are rounded
    once, so single precision is as good as double.
    """
    return _pack(quadrants(weights), RIGHT, spec, target, out)


def pack_strassen_factors(
    factors: np.ndarray,
    spec: StrassenSpec,
    target: Target,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """The same for factors [7, depth / 2, columns / 2] that are given."""
    sums = [((number, 1),) for number in range(PRODUCTS)]
    return _pack(list(factors), sums, spec, target, out)


def _pack(
    parts: Sequence[np.ndarray],
    factors: Sequence[Sum],
    spec: StrassenSpec,
    target: Target,
    out: np.ndarray | None,
) -> np.ndarray:
    split, depth = spec.half.split(target), spec.half.depth
    width = split.blocks * split.lanes
    whole = split.groups * width
    packed = np.empty(spec.packed_weights, np.float32) if out is None else out
    panels, rest = np.split(packed, [PRODUCTS * depth * whole])
    panels = panels.reshape(split.groups, PRODUCTS, depth, width)
    rest = rest.reshape(PRODUCTS, depth, -1)
    pieces = [part[:, :whole].reshape(depth, -1, width) for part in parts]
    for number, terms in enumerate(factors):
        signed_sum(pieces, terms, panels[:, number].transpose(1, 0, 2))
        signed_sum([part[:, whole:] for part in parts], terms, rest[number])
    return packed


def signed_total(
    builder: LoopBuilder,
    parts: Sequence[SSAValue],
    terms: Sequence[tuple[int, int]],
) -> SSAValue:
    """The sum of some of the values; the first sign is positive."""
    (first, _), *others = terms
    total = parts[first]
    for number, sign in others:
        combine = builder.addf if sign > 0 else builder.subf
        total = combine(total, parts[number])
    return total


class _PackedFactors:
    """Reads the rows of the packed factors."""

    def __init__(
        self, builder: LoopBuilder, buffer: SSAValue, spec: StrassenSpec
    ) -> None:
        self.builder = builder
        self.split = split = spec.half.split(builder.target)
        self.depth = spec.half.depth
        panel = PRODUCTS * self.depth * split.blocks * split.lanes
        self.rest_start = split.groups * panel
        whole = (split.groups, PRODUCTS, self.depth, split.blocks, split.lanes)
        self.whole = builder.reinterpret(buffer, whole) if split.groups else buffer
        rest = split.rest
        if rest is not None:
            shape = (PRODUCTS, self.depth, rest.blocks, split.lanes)
            self.rest = builder.reinterpret(buffer, shape, offset=self.rest_start)

    def read(
        self, unit: Index, product: Index, group: ColumnGroup, k: Index
    ) -> SSAValue:
        """The row k of a factor's group of columns, [blocks, lanes]."""
        shape = (group.blocks, self.split.lanes)
        if group == self.split.rest:
            indices = (product, k, 0, 0)
            return self.builder.transfer_read(self.rest, indices, shape, (2, 3))
        indices = (unit, product, k, 0, 0)
        return self.builder.transfer_read(self.whole, indices, shape, (3, 4))

    def end(self, unit: Index, product: Index, group: ColumnGroup) -> Index:
        """Where a factor's group of columns ends in the buffer."""
        builder, panel = self.builder, self.depth * group.blocks * self.split.lanes
        count = builder.add(product, 1)
        if group == self.split.rest:
            return builder.add(builder.mul(count, panel), self.rest_start)
        first = builder.mul(unit, PRODUCTS)
        return builder.mul(builder.add(first, count), panel)


class _StrassenProduct:
    """What the kernel computes, slice by slice."""

    def __init__(
        self, builder: LoopBuilder, spec: StrassenSpec, buffers: Sequence[SSAValue]
    ) -> None:
        c_buffer, a_buffer, b_buffer, *extra_buffers = buffers
        half, target = spec.half, builder.target
        extents = (spec.rows, spec.columns)
        strides = Strides((), spec.columns, 1)
        self.builder = builder
        self.half = half
        self.tile: Tile = half.tile(target)
        self.split = half.split(target)
        self.lanes = lanes = self.split.lanes
        _, self.tiles_per_block = spec.row_tiles(target)
        sums = (PRODUCTS * half.rows, half.depth)
        self.a = Matrix(builder, a_buffer, half.a_strides, sums, lanes)
        self.b = _PackedFactors(builder, b_buffer, spec)
        self.prefetch = PanelPrefetch(
            builder, b_buffer, half.depth, self.tiles_per_block, self.tile.rows
        )
        c = Matrix(builder, c_buffer, strides, extents, lanes, blocked=True)
        extras = matrices_of(builder, spec.finish, extra_buffers, strides, extents)
        self.store = TileStore(builder, spec.finish, c, extras)
        registers = (self.tile.blocks, lanes)
        height = self.tiles_per_block * self.tile.rows
        self.products = builder.alloca(
            types.memref_type((PRODUCTS, height, *registers))
        )
        self.results = builder.alloca(
            types.memref_type((QUADRANTS, self.tile.rows, *registers))
        )

    def slice(self, coordinates: list[Index]) -> None:
        """Computes a panel of columns of all quadrants for a block of rows."""
        unit, block = coordinates
        self.split.visit(
            self.builder, unit, lambda group: self._panel(unit, group, block)
        )

    def _panel(self, unit: Index, group: ColumnGroup, block: Index) -> None:
        builder = self.builder
        shape = (self.tile.rows, group.blocks, self.lanes)

        def multiply(product: Index, row: Index, slot: Index) -> None:
            value = self._multiply(unit, group, product, row, slot)
            where = (product, slot, 0, 0)
            builder.transfer_write(value, self.products, where, (1, 2, 3))

        builder.loop(
            0,
            PRODUCTS,
            1,
            lambda product: self._tiles(
                block, lambda row, slot: multiply(product, row, slot)
            ),
        )
        self._tiles(block, lambda row, slot: self._combine(group, shape, row, slot))

    def _tiles(self, block: Index, body: _TileBody) -> None:
        """Runs the body on (row, place in the scratch) of each tile of a block."""
        builder, height = self.builder, self.tile.rows
        tiles = -(-self.half.rows // height)
        first = builder.mul(block, self.tiles_per_block)
        count = self.tiles_per_block
        if tiles % count:
            count = builder.minimum(builder.sub(tiles, first), count)

        def at(tile: Index) -> None:
            row = builder.mul(builder.add(first, tile), height)
            if self.half.rows % height:
                row = builder.minimum(row, self.half.rows - height)
            body(row, builder.mul(tile, height))

        builder.loop(0, count, 1, at)

    def _multiply(
        self, unit: Index, group: ColumnGroup, product: Index, row: Index, slot: Index
    ) -> SSAValue:
        builder, half = self.builder, self.half
        shape = (self.tile.rows, group.blocks, self.lanes)
        unroll = Tile(self.tile.rows, group.blocks).unroll
        line = builder.add(builder.mul(product, half.rows), row)
        prefetch = self.prefetch.at(self.b.end(unit, product, group), group, slot)

        def factors(k: Index) -> tuple[SSAValue, SSAValue]:
            prefetch(k)
            a = self.a.read(line, k, shape, (0, None, None))
            return a, self.b.read(unit, product, group, k)

        return accumulate(builder, half.depth, unroll, shape, factors)

    def _combine(
        self, group: ColumnGroup, shape: tuple[int, ...], row: Index, slot: Index
    ) -> None:
        """Sums up the products of a tile and stores it in all quadrants."""
        builder = self.builder

        def product(number: int) -> SSAValue:
            where = (number, slot, 0, 0)
            return builder.transfer_read(self.products, where, shape, (1, 2, 3))

        for quadrant, terms in enumerate(RESULT):
            parts = [product(number) for number, _ in terms]
            signs = [(place, sign) for place, (_, sign) in enumerate(terms)]
            value = signed_total(builder, parts, signs)
            where = (quadrant, 0, 0, 0)
            builder.transfer_write(value, self.results, where, (1, 2, 3))

        builder.loop(
            0, QUADRANTS, 1, lambda quadrant: self._store(group, quadrant, row)
        )

    def _store(self, group: ColumnGroup, quadrant: Index, row: Index) -> None:
        """Finishes and stores a quadrant's tile, few rows at a time: the epilogue's values
        of a whole tile would not fit into the registers.
        """
        builder = self.builder
        lower, right = builder.unflatten(quadrant, (2, 2))
        first = builder.mul(right, self.half.columns // self.lanes)
        block = builder.add(group.block, first)
        (columns,) = columns_of(
            ColumnGroup(block, group.blocks, self.lanes), self.lanes
        )
        line = builder.add(row, builder.mul(lower, self.half.rows))
        height = stored_rows(self.tile.rows)

        def rows(position: Index) -> None:
            shape = (height, group.blocks, self.lanes)
            where = (quadrant, position, 0, 0)
            value = builder.transfer_read(self.results, where, shape, (1, 2, 3))
            self.store.store(value, builder.add(line, position), columns)

        builder.loop(0, self.tile.rows, height, rows)


def build_strassen(
    spec: StrassenSpec, target: Target, name: str = "strassen"
) -> Kernel:
    """The kernel f(C, sums of A, packed B, [bias], extras..., lo, hi)."""
    space = [spec.half.split(target).units, spec.row_tiles(target)[0]]
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        builder.space(low, high, space, _StrassenProduct(builder, spec, buffers).slice)

    output = flat(spec.rows * spec.columns)
    buffers = [
        output,
        flat(PRODUCTS * spec.half.rows * spec.half.depth),
        flat(PRODUCTS * spec.half.packed_elements(target)),
        *spec.finish.buffers(output, spec.rows, spec.columns),
    ]
    return Kernel(builder.function(name, buffers, body), space[0] * space[1])
