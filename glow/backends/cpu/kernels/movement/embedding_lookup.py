"""Gathers rows of quantized numbers as f32; numbers of four bits are unpacked in registers.

A row is one piece of memory: bytes of numbers, then scale and zero point. A vector of bytes that
hold two numbers each gives a vector of the row's first half and one of its second half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.dialect import PARAMETER_BYTES, row_bytes
from glow.backends.cpu.kernels.movement.gather import error_types, safe_index
from glow.dialects import arith
from glow.dialects.nibbles import BITS
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.vector_row import for_each_vector
from glow.lowering.target.target import Target

_MASK = (1 << BITS) - 1


@dataclass(frozen=True)
class EmbeddingLookupSpec:
    """out [count, columns] f32 = rows of table [rows, bytes + 8] i8 at indices [count].

    Arguments of the kernel: out, table, indices, and the byte of errors if there is one.
    """

    rows: int
    columns: int
    bits: int
    count: int
    index: Attribute = i64
    unsigned: bool = False
    """Whether indices have no sign."""
    reports: bool = False
    """Whether the kernel notes indices that are outside."""

    @property
    def row_bytes(self) -> int:
        """The bytes of a row's numbers."""
        return row_bytes(self.columns, self.bits)


def build_embedding_lookup(
    spec: EmbeddingLookupSpec, target: Target, name: str = "embedding_lookup"
) -> Kernel:
    """The kernel f(out, table, indices, lo, hi)."""
    if spec.rows == 0 and spec.count:
        raise ValueError("cannot gather rows of an empty table")
    builder = LoopBuilder(target)
    buffers = [
        types.memref_type((spec.count, spec.columns)),
        types.memref_type((spec.rows, spec.row_bytes + PARAMETER_BYTES), i8),
        types.memref_type((spec.count,), spec.index),
        *error_types(spec.reports),
    ]

    def body(memrefs: Sequence[SSAValue], low: Index, high: Index) -> None:
        out, table, indices, *errors = memrefs

        def row(k: Index) -> None:
            place = safe_index(
                builder,
                builder.load(indices, k),
                spec.rows,
                errors,
                unsigned=spec.unsigned,
            )
            _Row(builder, spec, (out, k), (table, place)).run()

        builder.loop(low, high, 1, row)

    return Kernel(builder.function(name, buffers, body), spec.count)


class _Row:
    """One row: where it goes to and where it is."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: EmbeddingLookupSpec,
        target: tuple[SSAValue, Index],
        source: tuple[SSAValue, Index],
    ) -> None:
        self.builder, self.spec = builder, spec
        self.target, self.source = target, source
        stored = builder.vector_load(PARAMETER_BYTES, *source, spec.row_bytes)
        parameters = builder.bitcast(stored, f32)
        self.scale, self.point = (builder.extract(parameters, k) for k in (0, 1))

    def run(self) -> None:
        columns, lanes = self.spec.columns, self.builder.target.lanes(32)
        if self.spec.bits != BITS:
            for_each_vector(self.builder, columns, lanes, self._bytes)
            return
        for_each_vector(self.builder, columns // 2, lanes, self._pairs)
        if columns % 2:
            self._low(self._read(columns // 2, 1), columns // 2)

    def _read(self, position: Index, length: int) -> SSAValue:
        stored = self.builder.vector_load(length, *self.source, position)
        return self.builder.cast(arith.ExtUIOp, stored, i32)

    def _bytes(self, position: Index, length: int) -> None:
        self._write(self._read(position, length), position)

    def _pairs(self, position: Index, length: int) -> None:
        """The numbers of a vector of bytes that hold two each."""
        b, stored = self.builder, self._read(position, length)
        self._low(stored, position)
        high = b.binary_integer(arith.ShRUIOp, stored, b.like(BITS, stored))
        self._write(high, b.add(position, self.spec.row_bytes))

    def _low(self, stored: SSAValue, position: Index) -> None:
        b = self.builder
        low = b.binary_integer(arith.AndIOp, stored, b.like(_MASK, stored))
        self._write(low, position)

    def _write(self, stored: SSAValue, position: Index) -> None:
        """Stored numbers as floats."""
        b, shape = self.builder, types.shape_of(stored)
        scale, point = (b.broadcast(x, shape) for x in (self.scale, self.point))
        floats = b.cast(arith.SIToFPOp, stored, f32)
        b.vector_store(b.mulf(b.subf(floats, point), scale), *self.target, position)
