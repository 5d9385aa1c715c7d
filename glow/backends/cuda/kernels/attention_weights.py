"""The two products of attention: how scores become the first factor of the second one.

tensor cores   sums of fragments are fragments of a factor, in the registers of the same lane
threads        a tile in shared memory, which a warp writes and reads its own rows of
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.attention_spec import AttentionSpec
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder
from glow.backends.cuda.kernels.results import Piece
from glow.backends.cuda.kernels.tiles.fma_tile import LANES, FmaTile
from glow.backends.cuda.kernels.tiles.shared_tile import SharedTile, TileShape
from glow.backends.cuda.kernels.tiles.tensor_core_tile import Fragment, TensorCoreTile
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Index

Pieces = Sequence[Piece]


class TensorCoreWeights:
    """Products of fragments; a thread has parts of rows g and g + 8 of its warp's 16."""

    rows, row_lanes = 2, (1, 2)

    def __init__(
        self,
        b: GpuBuilder,
        spec: AttentionSpec,
        queries: SharedTile,
        keys: SharedTile,
        values: SharedTile,
    ) -> None:
        self.b, self.spec = b, spec
        self.first = TensorCoreTile(b, spec.scores, queries, keys)
        self.sums = TensorCoreTile(b, spec.sums, None, values)

    def scores(self, stage: Index) -> list[SSAValue]:
        """The products of all queries and the keys of a stage."""
        return self.first.step(stage, self.first.zeros())

    def score_pieces(self, m: Index, key: Index, scores: Sequence[SSAValue]) -> Pieces:
        """The scores of a thread, row by row."""
        pieces = list(self.first.pieces(m, key, scores))
        return [*pieces[::2], *pieces[1::2]]

    def scaled(
        self, sums: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Sums times a factor for each row."""
        upper, lower = factors
        both = self.b.vector_of([upper, upper, lower, lower], (2, 2))
        return [self.b.mulf(total, both) for total in sums]

    def weighted(
        self, stage: Index, weights: Pieces, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums after the products of weights and the values of a stage."""
        half = len(weights) // 2
        upper, lower = (
            [p.value for p in part] for part in (weights[:half], weights[half:])
        )
        steps = self.sums.steps
        each = half // len(steps)
        for number, k in enumerate(steps):
            chosen = slice(number * each, (number + 1) * each)
            left = self.fragment(upper[chosen], lower[chosen])
            sums = self.sums.multiply([left], stage, k, sums)
        return list(sums)

    def fragment(
        self, upper: Sequence[SSAValue], lower: Sequence[SSAValue]
    ) -> Fragment:
        """Weights of rows g and of rows g + 8 as the first factor."""
        b, element = self.b, self.spec.element
        if element == f32:
            pairs = zip(*(b.elements(one) for one in (*upper, *lower)), strict=True)
            return self.sums.split(
                b.vector_of([x for pair in pairs for x in pair], (4, 1))
            )
        rows = [one for pair in zip(upper, lower, strict=True) for one in pair]
        elements = [x for row in rows for x in b.elements(row)]
        value = b.vector_of(elements, (4, 2))
        return self.sums.split(b.cast(arith.TruncFOp, value, element))


class FmaWeights:
    """Products by threads, eight of which have a row's columns; a thread has four rows."""

    row_lanes = (1, 2, 4)

    def __init__(
        self,
        b: GpuBuilder,
        spec: AttentionSpec,
        queries: SharedTile,
        keys: SharedTile,
        values: SharedTile,
    ) -> None:
        self.b = b
        tile, factor = spec.tile, spec.sums.a
        shape = TileShape(factor, tile.rows, tile.keys, "rows")
        self.weights = SharedTile(b, spec.sums, shape, "weights", stages=1)
        self.first = FmaTile(b, spec.scores, queries, keys)
        self.sums = FmaTile(b, spec.sums, self.weights, values)
        self.rows = self.first.rows.count

    def scores(self, stage: Index) -> list[SSAValue]:
        """The products of all queries and the keys of a stage."""
        return self.first.step(stage, self.first.zeros())

    def score_pieces(self, m: Index, key: Index, scores: Sequence[SSAValue]) -> Pieces:
        """The scores of a thread, row by row."""
        return list(self.first.pieces(m, key, scores))

    def scaled(
        self, sums: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Sums times a factor for each row."""
        b = self.b
        pairs = zip(sums, factors, strict=True)
        return [b.mulf(s, b.broadcast(f, types.shape_of(s))) for s, f in pairs]

    def weighted(
        self, stage: Index, weights: Pieces, sums: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """The sums after the products of weights and the values of a stage."""
        groups = self.first.columns.count // LANES
        for number, piece in enumerate(weights):
            row, group = divmod(number, groups)
            self.keep(self.first.rows.position(row), group * LANES, piece)
        self.b.barrier()
        return self.sums.step(stage, sums)

    def keep(self, row: Index, first: int, weights: Piece) -> None:
        """Stores weights of a row, from one of the thread's columns on."""
        b, columns, memory = self.b, self.first.columns, self.weights.memory
        if weights.step == 1:
            place = self.weights.place(0, row, columns.position(first))
            b.vector_store(weights.value, memory, *place)
            return
        for lane, weight in enumerate(b.elements(weights.value)):
            place = self.weights.place(0, row, columns.position(first + lane))
            b.store(weight, memory, *place)
