"""Attention for many threads: a block has some queries, and goes through blocks of keys.

Scores stay in registers. Of each query there is the largest score so far and the sum of what is
below it; where a later score is larger, sums before decay (FlashAttention-2, Dao 2023):

    copy the queries, and the keys and values of stages 0 to s - 2
    for each block of keys:
      wait for its copies; barrier          all have arrived, and nobody reads the stage before
      copy the block s - 1 ahead into the stage before
      scores  = queries keys' * scale + mask
      maximum = max(maximum before, scores);  decay = 2^(maximum before - maximum)
      weights = 2^(scores - maximum);         total = total * decay + their sum
      sums    = sums * decay + weights values
    store sums / total through the epilogue
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import f32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.attention_spec import AttentionSpec
from glow.backends.cuda.kernels.attention_weights import FmaWeights, TensorCoreWeights
from glow.backends.cuda.kernels.contraction import reader_of
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.online_softmax import OnlineSoftmax, Rows
from glow.backends.cuda.kernels.results import Piece, ResultStore
from glow.backends.cuda.kernels.tiles.shared_tile import Reader, SharedTile, TileShape
from glow.dialects import arith
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.target.target import Target


class Attention:
    """The body of the kernel."""

    def __init__(
        self, b: GpuBuilder, spec: AttentionSpec, buffers: Sequence[SSAValue]
    ) -> None:
        self.b, self.spec = b, spec
        self.batch = b.block(DimensionEnum.Y) if spec.batch > 1 else 0
        self.m = b.mul(b.block(DimensionEnum.X), spec.tile.rows)
        result, *self.factors = buffers[:4]
        masks = 4 + (spec.mask is not None)
        self.mask = buffers[4] if masks > 4 else None
        self.store = ResultStore(
            b, spec.sums, [result, *buffers[2:4], *buffers[masks:]]
        )
        self.tiles = [self.queries(), self.keys(), self.values()]
        kind = TensorCoreWeights if spec.has_tensor_cores else FmaWeights
        self.products = kind(b, spec, *self.tiles)
        self.softmax = OnlineSoftmax(b, spec, self.products.row_lanes)

    # ---- tiles in shared memory

    def queries(self) -> SharedTile:
        """The queries of the block, once."""
        product, factor = self.spec.scores, self.spec.queries
        pitch = self.spec.pitch
        shape = TileShape(factor, product.tile.rows, pitch, reader_of(product, factor))
        return SharedTile(self.b, product, shape, "queries", stages=1)

    def keys(self) -> SharedTile:
        """Blocks of keys."""
        product, factor = self.spec.scores, self.spec.keys
        pitch = self.spec.pitch
        shape = TileShape(
            factor, product.tile.columns, pitch, reader_of(product, factor)
        )
        return SharedTile(self.b, product, shape, "keys")

    def values(self) -> SharedTile:
        """Blocks of values, whose columns are contiguous."""
        product, factor = self.spec.sums, self.spec.values
        reader: Reader = reader_of(product, factor)
        if reader == "words":
            reader = "pairs"
        shape = TileShape(factor, self.spec.value_pitch, product.tile.depth, reader)
        return SharedTile(self.b, product, shape, "values")

    def fill(self, number: Index, stage: Index) -> None:
        """Begins to copy a block of keys and their values."""
        key = self.b.mul(number, self.spec.tile.keys)
        _, keys, values = self.tiles
        keys.fill(self.factors[1], (self.batch, key, 0), stage)
        values.fill(self.factors[2], (self.batch, 0, key), stage)

    # ---- the loop over keys

    def blocks(self) -> Index:
        """How many blocks of keys the queries see, at least one."""
        b, spec = self.b, self.spec
        count = -(-spec.keys.outer // spec.tile.keys)
        if spec.causal is None:
            return count
        behind = b.add(self.m, spec.tile.rows + spec.causal)
        seen = b.floordiv(
            b.maximum(b.add(behind, spec.tile.keys - 1), 0), spec.tile.keys
        )
        return b.clamp(seen, 1, count)

    def build(self) -> None:
        """Writes the kernel."""
        b, stages = self.b, self.spec.tile.stages
        count, groups = self.blocks(), list[SSAValue]()
        self.tiles[0].fill(self.factors[0], (self.batch, self.m, 0), 0)
        for number in range(stages - 1):
            b.if_(
                number == 0 or b.compare("slt", number, count),
                lambda number=number: self.fill(number, number),
            )
            groups.append(b.copy_group())
        zeros = self.products.sums.zeros()
        rows = self.softmax.start(self.products.rows)

        def step(number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            group, *values = carried
            b.wait(group, stages - 2)
            b.barrier()
            ahead = b.add(number, stages - 1)
            stage = b.remainder(ahead, stages)
            b.if_(b.compare("slt", ahead, count), lambda: self.fill(ahead, stage))
            group = b.copy_group()
            before, sums = Rows.of(values, self.products.rows)
            after, sums = self.block(number, before, sums)
            return [group, *after.values, *sums]

        start = [groups[-1], *rows.values, *zeros]
        _, *values = b.carry(0, count, 1, start, step)
        rows, sums = Rows.of(values, self.products.rows)
        self.finish(rows, sums)

    def block(
        self, number: Index, rows: Rows, sums: Sequence[SSAValue]
    ) -> tuple[Rows, list[SSAValue]]:
        """What a block of keys makes of maxima, totals and sums."""
        stage = self.b.remainder(number, self.spec.tile.stages)
        scores = self.products.scores(stage)
        key = self.b.mul(number, self.spec.tile.keys)
        pieces = list(self.products.score_pieces(self.m, key, scores))
        shown = [replace(one, value=self.score(one)) for one in pieces]
        rows, decays, weights = self.softmax.block(rows, shown)
        sums = self.products.scaled(sums, decays)
        return rows, self.products.weighted(stage, weights, sums)

    def score(self, piece: Piece) -> SSAValue:
        """Scores with scale and mask; of keys that are not seen, minus infinity."""
        b, spec = self.b, self.spec
        value = b.mulf(piece.value, b.like(self.softmax.scale, piece.value))
        elements = list(b.elements(value))
        for lane, element in enumerate(elements):
            key = b.add(piece.n, lane * piece.step)
            valid: Condition = True
            if spec.keys.outer % spec.tile.keys:
                valid = b.compare("slt", key, spec.keys.outer)
            if spec.causal is not None:
                last = b.add(piece.m, spec.causal)
                valid = b.both(valid, b.compare("sle", key, last))
            if spec.mask is not None:
                element, seen = self.masked(element, piece.m, key)
                valid = b.both(valid, seen)
            if not isinstance(valid, bool):
                element = b.select(valid, element, b.like(float("-inf"), element))
            elements[lane] = element
        return b.vector_of(elements, types.shape_of(value))

    def masked(
        self, score: SSAValue, row: Index, key: Index
    ) -> tuple[SSAValue, Condition]:
        """A score with its mask added, and whether a mask of bytes has the key."""
        b, mask = self.b, self.spec.mask
        assert mask is not None
        assert self.mask is not None
        row = b.minimum(row, mask.outer - 1)
        key = b.minimum(key, mask.depth - 1)
        found = b.load(self.mask, *mask.locate(b, self.batch, row, key).indices)
        if self.spec.has_boolean_mask:
            return score, b.cmpi("ne", found, b.like(0, found))
        if found.type != score.type:
            found = b.cast(arith.ExtFOp, found, f32)
        return b.addf(score, found), True

    def finish(self, rows: Rows, sums: Sequence[SSAValue]) -> None:
        """Stores sums over totals."""
        sums = self.products.scaled(sums, self.softmax.inverse_totals(rows))
        pieces = self.products.sums.pieces(self.m, 0, sums)
        if self.spec.zero_nans:
            pieces = map(self.without_nan, pieces)
        self.store.store_rows(self.batch, pieces)

    def without_nan(self, piece: Piece) -> Piece:
        """A piece with zeros for what is NaN."""
        value = piece.value
        is_nan = self.b.cmpf("uno", value, value)
        value = self.b.select(is_nan, self.b.like(0.0, value), value)
        return replace(piece, value=value)


def build_attention(spec: AttentionSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of attention."""
    b = GpuBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        spec.threads,
        spec.grid,
        lambda buffers: Attention(b, spec, buffers).build(),
    )
