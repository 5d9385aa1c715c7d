"""Transposed matrices for many threads: [batch, rows, columns] to [batch, columns, rows].

A block reads a tile by rows and writes it by columns, both side by side in memory. Between lies
shared memory, whose columns are xored with the row, so that lanes meet in no bank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, SSAValue

from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder, GpuKernel
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.target.target import Target

TILE = WARP
THREADS = 128
STEP = THREADS // TILE


@dataclass(frozen=True)
class TransposeSpec:
    """Matrices to transpose. Arguments of the kernel: result, source."""

    batch: int
    rows: int
    columns: int
    element: Attribute = f32

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        result = (self.batch, self.columns, self.rows)
        source = (self.batch, self.rows, self.columns)
        return [types.memref_type(shape, self.element) for shape in (result, source)]

    @property
    def grid(self) -> tuple[int, int, int]:
        """The blocks along columns and rows, and the batch."""
        return (-(-self.columns // TILE), -(-self.rows // TILE), self.batch)


def build_transpose(spec: TransposeSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a transposition."""
    b = GpuBuilder(target)

    def body(buffers: Sequence[SSAValue]) -> None:
        result, source = buffers
        tile = b.shared("tile", (TILE, TILE), spec.element)
        line, lane = b.unflatten(b.thread(), (STEP, TILE))
        column, row = (
            b.mul(b.block(axis), TILE) for axis in (DimensionEnum.X, DimensionEnum.Y)
        )
        batch = b.block(DimensionEnum.Z) if spec.batch > 1 else 0

        def each(
            first: tuple[Index, int], side: tuple[Index, int], move: Callable[..., None]
        ) -> None:
            """Moves an element a lane of each line of the tile that is inside."""
            for number in range(0, TILE, STEP):
                at = b.add(line, number)
                valid: Condition = True
                for (origin, extent), own in ((first, at), (side, lane)):
                    if extent % TILE:
                        inside = b.compare("slt", b.add(origin, own), extent)
                        valid = b.both(valid, inside)
                b.if_(valid, partial(move, at))

        def read(at: Index) -> None:
            value = b.load(source, batch, b.add(row, at), b.add(column, lane))
            b.store(value, tile, at, b.xor(lane, at))

        def write(at: Index) -> None:
            value = b.load(tile, lane, b.xor(at, lane))
            b.store(value, result, batch, b.add(column, at), b.add(row, lane))

        rows, columns = (row, spec.rows), (column, spec.columns)
        each(rows, columns, read)
        b.barrier()
        each(columns, rows, write)

    return b.kernel(name, spec.buffers, THREADS, spec.grid, body)
