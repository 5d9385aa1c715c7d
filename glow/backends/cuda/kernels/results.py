"""What a thread has of a tile of results, and how it stores that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.gpu_builder import GpuBuilder
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.epilogue import OperandLayout
from glow.lowering.loop_builder.index_builder import Condition, Index


@dataclass(frozen=True)
class Piece:
    """A vector of results of row `m`: at columns n, n + step, ..."""

    value: SSAValue
    m: Index
    n: Index
    step: int = 1


class ResultStore:
    """Stores pieces, each through the epilogue."""

    def __init__(
        self, b: GpuBuilder, spec: ContractionSpec, buffers: Sequence[SSAValue]
    ):
        self.b, self.spec = b, spec
        self.target, self.operands = (
            buffers[0],
            buffers[3 + (spec.points is not None) :],
        )

    def store_rows(self, batch: Index, pieces: Iterable[Piece]) -> None:
        """Stores pieces, in one branch a row: with one a piece the assembler keeps the places of
        many.
        """
        rows: dict[Index, list[Piece]] = {}
        for piece in pieces:
            rows.setdefault(piece.m, []).append(piece)
        for row, found in rows.items():

            def body(found: Sequence[Piece] = found) -> None:
                for piece in found:
                    self.store_piece(batch, piece)

            self.b.if_(self.has_row(row), body)

    def store_piece(self, batch: Index, piece: Piece) -> None:
        """Stores a piece of a row at once where its elements lie in a row, else one by one."""
        b = self.b
        (width,) = types.shape_of(piece.value)
        if piece.step == 1 and self.spec.result.row_extent % width == 0:
            self.store_columns(batch, piece.value, piece.m, piece.n)
            return
        for k in range(width):
            n = b.add(piece.n, k * piece.step)
            self.store_columns(batch, b.extract(piece.value, k), piece.m, n)

    def store_valid(self, batch: Index, value: SSAValue, m: Index, n: Index) -> None:
        """Stores a vector or an element if it is inside of the results."""
        self.b.if_(self.has_row(m), lambda: self.store_columns(batch, value, m, n))

    def has_row(self, m: Index) -> Condition:
        """Whether a row of a tile is inside of the results."""
        spec = self.spec
        return spec.m % spec.tile.rows == 0 or self.b.compare("slt", m, spec.m)

    def store_columns(self, batch: Index, value: SSAValue, m: Index, n: Index) -> None:
        """Stores a vector or an element of a row if its columns are inside of the results."""
        b, spec = self.b, self.spec

        def body() -> None:
            indices = spec.result.locate(b, batch, m, n)
            self.write(self.finished(batch, value, m, n), indices)

        is_whole = spec.n % spec.tile.columns == 0
        b.if_(is_whole or b.compare("slt", n, spec.n), body)

    def finished(self, batch: Index, value: SSAValue, m: Index, n: Index) -> SSAValue:
        """What the epilogue makes of sums."""
        b, spec = self.b, self.spec
        if spec.epilogue is None:
            return value
        shape = types.shape_of(value)
        channel = spec.result.channel(b, batch, m, n)

        def read(layout: OperandLayout, buffer: SSAValue) -> SSAValue:
            if layout == "full":
                return self.read(buffer, spec.result.locate(b, batch, m, n), shape)
            if layout == "channel" and spec.result.has_channel_columns:
                return self.read(buffer, [channel], shape)
            one = {"channel": channel, "row": m, "scalar": 0}[layout]
            element = b.load(buffer, one)
            return b.broadcast(element, shape) if shape else element

        layouts = spec.epilogue.operand_layouts
        pairs = zip(layouts, self.operands, strict=True)
        return spec.epilogue.apply(b, value, [read(*pair) for pair in pairs])

    def read(
        self, buffer: SSAValue, indices: Sequence[Index], shape: tuple[int, ...]
    ) -> SSAValue:
        """A vector of that shape, or an element."""
        if shape:
            return self.b.vector_load(shape[0], buffer, *indices)
        return self.b.load(buffer, *indices)

    def write(self, value: SSAValue, indices: Sequence[Index]) -> None:
        """Stores a vector, or an element."""
        put = self.b.vector_store if types.shape_of(value) else self.b.store
        put(value, self.target, *indices)
