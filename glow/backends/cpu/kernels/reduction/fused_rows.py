"""Sums over rows with the element-wise work around them, one row at a time.

Each stage (`row_stages.py`) is one pass over the row, which stays in the first-level cache. What a
later pass needs again is computed again, but functions that are written out, such as
exponentials, which wait on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu.dialect.fused_rows import RowSumOp
from glow.backends.cpu.kernels.elementwise.kernel import loaded, stored
from glow.backends.cpu.kernels.reduction.row_stages import RowStages
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_operations import instantiate_operation
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.vector_row import Segment, reduce_vector, segments
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class RowOperand:
    """`rows` rows, of the extent or of one number; row r of the space reads row r % rows."""

    rows: int
    is_vector: bool

    def buffer(self, extent: int, element: Attribute) -> MemRefType:
        """The type of its buffer."""
        shape = (self.rows, extent) if self.is_vector else (self.rows,)
        return types.memref_type(shape, types.storage_type(element))


@dataclass(frozen=True)
class FusedRowsSpec:
    """outs... = region(ins...), with sums over rows.

    Arguments of the kernel: outs [rows, extent] or [rows], ins.
    """

    rows: int
    extent: int
    operands: tuple[RowOperand, ...]
    results: tuple[RowOperand, ...]
    region: ScalarRegion

    @property
    def buffers(self) -> Iterator[MemRefType]:
        """The types of the arguments."""
        region = self.region
        for operand, element in zip(self.results, region.result_types, strict=True):
            yield operand.buffer(self.extent, element)
        for operand, element in zip(self.operands, region.input_types, strict=True):
            yield operand.buffer(self.extent, element)


Terms = Callable[[Index, int, Sequence[SSAValue]], Sequence[SSAValue]]
"""Takes a column, how many from it on are computed at once, and a vector of each sum; returns
those with these columns' terms."""


class FusedRows:
    """Computes rows, while the kernel is built."""

    keeps = True
    """Whether functions that are needed again wait on the stack."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: FusedRowsSpec,
        buffers: Sequence[SSAValue],
    ) -> None:
        count = len(spec.results)
        self.builder = builder
        self.spec = spec
        are_vectors = [operand.is_vector for operand in spec.operands]
        self.stages = RowStages(spec.region, are_vectors)
        self.kept = self.stages.kept if self.keeps else {}
        self.outs = buffers[:count]
        arguments = spec.region.block.args
        self.ins: dict[SSAValue, SSAValue] = dict(
            zip(arguments, buffers[count:], strict=True)
        )
        self.operands = dict(zip(self.ins, spec.operands, strict=True))
        self.numbers: dict[SSAValue, SSAValue] = {}
        """The values that are one number for the row."""
        self.row: Index = 0
        self.stack = {
            value: builder.alloca(
                types.memref_type((spec.extent,), types.storage_type(value.type))
            )
            for value in self.kept
        }

    def compute(self, row: Index) -> None:
        """Computes and stores a row."""
        builder, region = self.builder, self.spec.region
        self.row, self.numbers = row, {}
        for argument, operand in self.operands.items():
            if not operand.is_vector:
                place = self._row_of(operand)
                value = builder.load(self.ins[argument], place)
                self.numbers[argument] = loaded(builder, value, argument.type)
        for number, values in enumerate(self.stages.passes):
            self._numbers_of(number)
            self._pass(number, values)
        for value, operand, out in zip(
            region.results, self.spec.results, self.outs, strict=True
        ):
            if not operand.is_vector:
                self.store_number(stored(builder, self.numbers[value]), out)

    def store_number(self, value: SSAValue, out: SSAValue) -> None:
        """Stores a result that is one number for the row."""
        self.builder.store(value, out, self.row)

    def sweep(self, sums: int, terms: Terms) -> list[SSAValue]:
        """Goes through the row once, and returns its sums."""
        builder, totals = self.builder, list[list[SSAValue]]()
        for part in segments(self.spec.extent, builder.target.lanes(32)):
            zero = builder.constant(0.0, types.vector_type((part.length,), f32))

            def vectors(
                position: Index, carried: Sequence[SSAValue], part: Segment = part
            ) -> Sequence[SSAValue]:
                return terms(position, part.length, carried)

            found = builder.carry(
                part.start, part.stop, part.length, [zero] * sums, vectors
            )
            totals.append([reduce_vector(builder, "add", value) for value in found])
        first, *others = totals
        for other in others:
            pairs = zip(first, other, strict=True)
            first = [builder.addf(total, part) for total, part in pairs]
        return first

    def _row_of(self, operand: RowOperand) -> Index:
        if operand.rows == self.spec.rows:
            return self.row
        return self.builder.remainder(self.row, operand.rows)

    def _numbers_of(self, stage: int) -> None:
        """The values that are known before a pass and have one number for the row."""
        for op in self.stages.ops:
            result = op.results[0]
            if isinstance(op, RowSumOp) or result in self.stages.vectors:
                continue
            if self.stages.stage[result] == stage:
                instantiate_operation(self.builder, op, self.numbers, ())

    def _pass(self, number: int, values: list[SSAValue]) -> None:
        builder, stages = self.builder, self.stages
        sums = [
            op
            for op in stages.ops
            if isinstance(op, RowSumOp) and stages.stage[op.value] == number
        ]
        is_last = number == len(stages.passes) - 1

        def terms(
            position: Index, length: int, carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            known = _Vectors(self, number, position, length)
            found = [known.get(op.value) for op in sums]
            if is_last:
                self._store(known)
            for value, home in self.kept.items():
                if home == number:
                    kept = stored(builder, known.get(value))
                    builder.vector_store(kept, self.stack[value], position)
            pairs = zip(carried, found, strict=True)
            return [builder.addf(total, term) for total, term in pairs]

        totals = self.sweep(len(sums), terms) if values else []
        for op, total in zip(sums, totals, strict=True):
            self.numbers[op.result] = total

    def _store(self, known: _Vectors) -> None:
        for value, operand, out in zip(
            self.spec.region.results, self.spec.results, self.outs, strict=True
        ):
            if operand.is_vector:
                result = stored(self.builder, known.get(value))
                self.builder.vector_store(result, out, self.row, known.position)

    def read(self, argument: SSAValue, position: Index, length: int) -> SSAValue:
        """A vector of an operand's row."""
        builder = self.builder
        row = self._row_of(self.operands[argument])
        value = builder.vector_load(length, self.ins[argument], row, position)
        return loaded(builder, value, argument.type)


class _Vectors:
    """The values of one vector of a row in a pass."""

    def __init__(
        self, rows: FusedRows, number: int, position: Index, length: int
    ) -> None:
        self.rows = rows
        self.number = number
        self.position = position
        self.length = length
        self.known: dict[SSAValue, SSAValue] = {}

    def get(self, value: SSAValue) -> SSAValue:
        """The vector of a value, computed on first use."""
        if value not in self.known:
            self.known[value] = self._compute(value)
        return self.known[value]

    def _compute(self, value: SSAValue) -> SSAValue:
        rows, builder = self.rows, self.rows.builder
        if value not in rows.stages.vectors:
            return builder.broadcast(rows.numbers[value], (self.length,))
        if value in rows.ins:
            return rows.read(value, self.position, self.length)
        if rows.kept.get(value, self.number) < self.number:
            memory = rows.stack[value]
            kept = builder.vector_load(self.length, memory, self.position)
            return loaded(builder, kept, value.type)
        op = value.owner
        assert isinstance(op, Operation)
        for operand in op.operands:
            self.get(operand)
        instantiate_operation(builder, op, self.known, (self.length,))
        return self.known[value]


def build_fused_rows(
    spec: FusedRowsSpec, target: Target, name: str = "fused_rows"
) -> Kernel:
    """The kernel f(outs..., ins..., lo, hi)."""
    builder = LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        rows = FusedRows(builder, spec, buffers)
        builder.loop(low, high, 1, rows.compute)

    return Kernel(builder.function(name, list(spec.buffers), body), spec.rows)
