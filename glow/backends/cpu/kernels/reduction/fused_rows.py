"""Sums over rows with the element-wise work around them, one row at a time.

A value's stage is the number of sums that it waits for. Each stage is one pass over the row,
which stays in the first-level cache: it computes the sums that can be taken now, and the last
one what is stored. What a later pass needs again is computed again, but functions that are
written out, such as exponentials, which wait on the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu.dialect.fused_rows import RowSumOp
from glow.backends.cpu.kernels.elementwise.kernel import loaded, stored
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.math_expansions import EXPANSIONS
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


class _Stages:
    """The passes that a region takes."""

    def __init__(self, spec: FusedRowsSpec) -> None:
        self.region = spec.region
        self.ops: list[Operation] = list(spec.region.block.ops)[:-1]
        self.stage: dict[SSAValue, int] = {}
        self.vectors: set[SSAValue] = set()
        for argument, operand in zip(
            spec.region.block.args, spec.operands, strict=True
        ):
            self.stage[argument] = 0
            if operand.is_vector:
                self.vectors.add(argument)
        for op in self.ops:
            stage = max((self.stage[value] for value in op.operands), default=0)
            is_sum = isinstance(op, RowSumOp)
            for result in op.results:
                self.stage[result] = stage + is_sum
                if not is_sum and any(value in self.vectors for value in op.operands):
                    self.vectors.add(result)

    @cached_property
    def passes(self) -> list[list[SSAValue]]:
        """What each pass computes for each element: the terms of sums, and then the results."""
        sums = [op for op in self.ops if isinstance(op, RowSumOp)]
        count = max((self.stage[op.result] for op in sums), default=0)
        terms: list[list[SSAValue]] = [[] for _ in range(count + 1)]
        for op in sums:
            terms[self.stage[op.value]].append(op.value)
        terms[count] += [
            value for value in self.region.results if value in self.vectors
        ]
        return terms

    @cached_property
    def kept(self) -> dict[SSAValue, int]:
        """Values that wait on the stack, with the pass that computes them."""
        found: dict[SSAValue, int] = {}
        again: dict[SSAValue, int] = {}
        for number, values in enumerate(self.passes):
            for value in self._needed(values):
                if type(value.owner) not in EXPANSIONS:
                    continue
                if value in found:
                    again[value] = found[value]
                found.setdefault(value, number)
        return again

    def _needed(self, values: Sequence[SSAValue]) -> set[SSAValue]:
        seen: set[SSAValue] = set()
        left = list(values)
        while left:
            value = left.pop()
            if value in seen or value not in self.vectors:
                continue
            seen.add(value)
            if isinstance(value.owner, Operation):
                left += value.owner.operands
        return seen


class _Rows:
    """Computes rows, while the kernel is built."""

    def __init__(
        self,
        builder: LoopBuilder,
        spec: FusedRowsSpec,
        stages: _Stages,
        buffers: Sequence[SSAValue],
    ) -> None:
        count = len(spec.results)
        self.builder = builder
        self.spec = spec
        self.stages = stages
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
            for value in stages.kept
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
                builder.store(stored(builder, self.numbers[value]), out, row)

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
        totals: list[list[SSAValue]] = []
        for part in segments(self.spec.extent, self._lanes) if values else ():
            zero = builder.constant(0.0, types.vector_type((part.length,), f32))

            def vectors(
                position: Index, carried: Sequence[SSAValue], part: Segment = part
            ) -> Sequence[SSAValue]:
                known = _Vectors(self, number, position, part.length)
                terms = [known.get(op.value) for op in sums]
                if is_last:
                    self._store(known)
                for value, home in stages.kept.items():
                    if home == number:
                        found = stored(builder, known.get(value))
                        builder.vector_store(found, self.stack[value], position)
                pairs = zip(carried, terms, strict=True)
                return [builder.addf(total, term) for total, term in pairs]

            found = builder.carry(
                part.start, part.stop, part.length, [zero] * len(sums), vectors
            )
            totals.append([reduce_vector(builder, "add", value) for value in found])
        for k, op in enumerate(sums):
            first, *others = (part[k] for part in totals)
            for other in others:
                first = builder.addf(first, other)
            self.numbers[op.result] = first

    @property
    def _lanes(self) -> int:
        return self.builder.target.lanes(32)

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

    def __init__(self, rows: _Rows, number: int, position: Index, length: int) -> None:
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
        if rows.stages.kept.get(value, self.number) < self.number:
            memory = rows.stack[value]
            kept = builder.vector_load(self.length, memory, self.position)
            return loaded(builder, kept, value.type)
        op = value.owner
        assert isinstance(op, Operation)
        for operand in op.operands:
            self.get(operand)
        instantiate_operation(builder, op, self.known, (self.length,))
        return self.known[value]


def _buffers(spec: FusedRowsSpec) -> Iterator[MemRefType]:
    region = spec.region
    for operand, element in zip(spec.results, region.result_types, strict=True):
        yield operand.buffer(spec.extent, element)
    for operand, element in zip(spec.operands, region.input_types, strict=True):
        yield operand.buffer(spec.extent, element)


def build_fused_rows(
    spec: FusedRowsSpec, target: Target, name: str = "fused_rows"
) -> Kernel:
    """The kernel f(outs..., ins..., lo, hi)."""
    builder, stages = LoopBuilder(target), _Stages(spec)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        rows = _Rows(builder, spec, stages, buffers)
        builder.loop(low, high, 1, rows.compute)

    return Kernel(builder.function(name, list(_buffers(spec)), body), spec.rows)
