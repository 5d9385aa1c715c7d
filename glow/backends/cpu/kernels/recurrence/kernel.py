"""One step of a recurrent layer: a product with packed weights, and gates in registers.

A thread computes groups of units: it sums up all gates of a group over the hidden state,
applies the cell to the sums while they are in registers, and writes the group's new states. The
weights of its groups stay in its own cache from step to step; where the cache holds a part of
them only, every other step goes `backward`, and first meets what the step before read last. Each
element of a state is read before it is written and computed once, so that states other than the
hidden one, which every group reads whole, may be updated in place.

Several rows, and the group that fills no whole register, pass their sums through the stack:
the cell then works on one row at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32, i32
from xdsl.ir import SSAValue

from glow.backends.cpu.kernels.recurrence.weights import StepShape
from glow.backends.cpu.tiling.accumulation import (
    Product,
    outer_product,
    widening_product,
)
from glow.backends.cpu.tiling.matrix_memory import flat
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.builder import Index, LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class RecurrenceSpec:
    """New states = cell(sums of the gates, entering, states, numbers of units).

    Arguments of the kernel: the new states, entering [rows, gates * units], hidden [rows,
    units], packed weights, and for each of `others` a state [rows, units] or, where it is
    False, one number a unit [units]. The inputs of `cell` are the sums of the gates, then what
    enters them, then hidden and the others. `backward`: the last group of units comes first.
    """

    shape: StepShape
    cell: ScalarRegion
    others: tuple[bool, ...] = ()
    backward: bool = False

    @property
    def states(self) -> int:
        """How many states a step computes."""
        return 1 + sum(self.others)

    @property
    def rows(self) -> int:
        """The rows of the product."""
        return self.shape.rows

    @property
    def columns(self) -> int:
        """Its columns: all gates of all units."""
        return self.shape.gates * self.shape.units

    @property
    def depth(self) -> int:
        """Its depth: the hidden state."""
        return self.shape.units

    @property
    def operations(self) -> int:
        """Its additions and multiplications."""
        return 2 * self.rows * self.columns * self.depth


@dataclass(frozen=True)
class _Units:
    """Units from register `block` on: whole ones [blocks, lanes], or the rest [left]."""

    block: Index
    shape: tuple[int, ...]


class _Rows:
    """A buffer of rows [..., units], read and written by groups of units."""

    def __init__(
        self, builder: LoopBuilder, buffer: SSAValue, outer: tuple[int, ...], units: int
    ) -> None:
        lanes = builder.target.lanes(32)
        strides = tuple(n * units for n in types.row_major_strides(outer))
        self.builder = builder
        self.lanes = lanes
        self.plain = builder.reinterpret(buffer, (*outer, units), (*strides, 1))
        if units >= lanes:
            shape = (*outer, units // lanes, lanes)
            self.blocked = builder.reinterpret(buffer, shape, (*strides, lanes, 1))

    def read(self, position: Sequence[Index], units: _Units) -> SSAValue:
        """The units of a row."""
        memory, indices, axes = self._place(position, units)
        return self.builder.transfer_read(memory, indices, units.shape, axes)

    def write(self, value: SSAValue, position: Sequence[Index], units: _Units) -> None:
        """Stores the units of a row."""
        memory, indices, axes = self._place(position, units)
        self.builder.transfer_write(value, memory, indices, axes)

    def _place(
        self, position: Sequence[Index], units: _Units
    ) -> tuple[SSAValue, tuple[Index, ...], tuple[int, ...]]:
        outer = len(position)
        if len(units.shape) == 1:
            start = self.builder.mul(units.block, self.lanes)
            return self.plain, (*position, start), (outer,)
        return self.blocked, (*position, units.block, 0), (outer, outer + 1)


class _Weights:
    """Reads the packed weights of one gate of a group of units."""

    def __init__(
        self, builder: LoopBuilder, buffer: SSAValue, shape: StepShape
    ) -> None:
        target = builder.target
        lanes, blocks = target.lanes(32), shape.blocks(target)
        steps, groups = shape.units // shape.group, shape.groups(target)
        self.builder = builder
        if groups:
            whole = (groups, steps, shape.gates, blocks, lanes)
            self.whole = builder.reinterpret(buffer, whole)
        if shape.left(target):
            start = steps * shape.gates * groups * blocks * lanes
            rest = (1, steps, shape.gates, 1, lanes)
            self.rest = builder.reinterpret(buffer, rest, offset=start)

    def read(self, group: Index | None, k: Index, gate: int, blocks: int) -> SSAValue:
        """[blocks, lanes] of step k; no group is the rest."""
        memory = self.rest if group is None else self.whole
        shape = (blocks, self.builder.target.lanes(32))
        indices = (0 if group is None else group, k, gate, 0, 0)
        return self.builder.transfer_read(memory, indices, shape, (3, 4))


class _Step:
    """What one kernel computes, group by group."""

    def __init__(
        self, builder: LoopBuilder, spec: RecurrenceSpec, buffers: Sequence[SSAValue]
    ) -> None:
        shape = spec.shape
        states, inputs = buffers[: spec.states], buffers[spec.states :]
        entering, hidden, weights, *others = inputs

        def rows(buffer: SSAValue) -> _Rows:
            return _Rows(builder, buffer, (shape.rows,), shape.units)

        self.builder = builder
        self.spec = spec
        self.shape = shape
        self.target = builder.target
        self.new = [rows(state) for state in states]
        self.entering = _Rows(builder, entering, (shape.rows, shape.gates), shape.units)
        self.hidden = rows(hidden)
        self.weights = _Weights(builder, weights, shape)
        self.others = [
            rows(other) if is_state else _Rows(builder, other, (), shape.units)
            for other, is_state in zip(others, spec.others, strict=True)
        ]

    def group(self, number: Index) -> None:
        """Computes one group of units of all rows."""
        builder, shape, target = self.builder, self.shape, self.target
        lanes, blocks = target.lanes(32), shape.blocks(target)
        left, groups = shape.left(target), shape.groups(target)
        whole = _Units(builder.mul(number, blocks), (blocks, lanes))
        rest = _Units(groups * blocks, (left,))
        builder.if_(
            builder.compare("slt", number, groups) if left and groups else not left,
            lambda: self._rows(number, whole),
            lambda: self._rows(None, rest),
        )

    def _rows(self, group: Index | None, units: _Units) -> None:
        """All rows of a group, in tiles that do not overlap."""
        rows, size = self.shape.rows, self.shape.tile_rows(self.target)
        whole = rows - rows % size
        self.builder.loop(
            0, whole, size, lambda row: self._tile(group, units, row, size)
        )
        if whole < rows:
            self._tile(group, units, whole, rows - whole)

    def _tile(self, group: Index | None, units: _Units, row: Index, rows: int) -> None:
        sums = self._sums(group, row, rows)
        if rows == 1 and len(units.shape) == 2:
            gates = [self.builder.extract(value, 0) for value in sums]
            self._cell(gates, row, units)
            return
        at = self._through_stack(sums, units)

        def one(offset: Index) -> None:
            gates = [at(gate, offset) for gate in range(self.shape.gates)]
            self._cell(gates, self.builder.add(row, offset), units)

        self.builder.loop(0, rows, 1, one)

    def _sums(self, group: Index | None, row: Index, rows: int) -> list[SSAValue]:
        """The gates' sums of a tile, [rows, blocks, lanes] each."""
        builder, shape = self.builder, self.shape
        gates, steps = range(shape.gates), shape.units // shape.group
        blocks = 1 if group is None else shape.blocks(self.target)
        vector = (rows, blocks, self.target.lanes(32))
        unroll = min(shape.unroll(self.target, rows), steps)
        product: Product = widening_product if shape.widens else outer_product

        def step(k: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            left = [
                builder.transfer_read(
                    self.hidden.plain,
                    (row, builder.add(builder.mul(k, shape.group), element)),
                    vector,
                    (0, None, None),
                )
                for element in range(shape.group)
            ]
            right = [self.weights.read(group, k, gate, blocks) for gate in gates]
            return [product(builder, *left, right[gate], sums[gate]) for gate in gates]

        def body(k: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [
                value
                for u in range(unroll)
                for value in step(builder.add(k, u), carried[u * len(gates) :])
            ]

        zero = builder.constant(0, types.vector_type(vector))
        whole = steps - steps % unroll
        carried = builder.carry(0, whole, unroll, [zero] * (unroll * len(gates)), body)
        sums = list(carried[: len(gates)])
        for k in range(whole, steps):
            sums = step(k, sums)
        for u in range(1, unroll):
            more = carried[u * len(gates) :]
            sums = [builder.addf(sums[gate], more[gate]) for gate in gates]
        return sums

    def _through_stack(
        self, sums: Sequence[SSAValue], units: _Units
    ) -> Callable[[int, Index], SSAValue]:
        """Stores the sums; returns how a row of a gate is read again."""
        builder, (rows, blocks, lanes) = self.builder, types.shape_of(sums[0])
        shape = (len(sums), rows, blocks, lanes)
        stack = builder.alloca(types.memref_type(shape))
        for gate, value in enumerate(sums):
            builder.transfer_write(value, stack, (gate, 0, 0, 0), (1, 2, 3))
        axes = (2, 3) if len(units.shape) == 2 else (3,)
        return lambda gate, row: builder.transfer_read(
            stack, (gate, row, 0, 0), units.shape, axes
        )

    def _cell(self, sums: Sequence[SSAValue], row: Index, units: _Units) -> None:
        """The new states of one row's units."""
        entering = [
            self.entering.read((row, gate), units) for gate in range(self.shape.gates)
        ]
        others = [
            other.read((row,) if is_state else (), units)
            for other, is_state in zip(self.others, self.spec.others, strict=True)
        ]
        values = [*sums, *entering, self.hidden.read((row,), units), *others]
        results = self.spec.cell.instantiate(self.builder, values)
        for state, value in zip(self.new, results, strict=True):
            state.write(value, (row,), units)


def build_recurrence(
    spec: RecurrenceSpec, target: Target, name: str = "recurrence"
) -> Kernel:
    """The kernel f(new states..., entering, hidden, packed weights, others..., lo, hi)."""
    shape, builder = spec.shape, LoopBuilder(target)

    def body(buffers: Sequence[SSAValue], low: Index, high: Index) -> None:
        group, end = _Step(builder, spec, buffers).group, builder.add(low, high)

        def mirrored(number: Index) -> None:
            group(builder.sub(builder.sub(end, 1), number))

        builder.loop(low, high, 1, mirrored if spec.backward else group)

    state = flat(shape.rows * shape.units)
    buffers = [
        *[state] * spec.states,
        flat(shape.rows * shape.gates * shape.units),
        state,
        _packed_type(shape, target),
        *(state if is_state else flat(shape.units) for is_state in spec.others),
    ]
    return Kernel(builder.function(name, buffers, body), shape.work_items(target))


def _packed_type(shape: StepShape, target: Target) -> MemRefType:
    """The packed weights; those of bf16 are read as words of two."""
    elements = shape.packed_elements(target)
    return flat(elements // 2, i32) if shape.widens else flat(elements, f32)
