"""A step of a recurrent layer for many threads: a product of few rows, and the cell.

A block has some units of some rows, with all their gates: so the cell reads sums that the block
has. These are summed up as those of other products of few rows (`skinny.py`), whose columns
are the gates of a unit, then those of the next one:

    sums[row, unit, gate] = sum over depth of hidden[row, depth] weights[unit, gate, depth]
    states'[row, unit] = cell(sums, entering[row, gate, unit], states, numbers[unit])

Nobody reads what a step writes but the thread that writes it, so states other than the hidden one,
whose rows all blocks read, may be updated in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Attribute, SSAValue

from glow.backends.cpu.layout.row_packing import padded_row
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    MatrixFactor,
    MatrixResult,
)
from glow.backends.cuda.kernels.gpu_builder import WARP, GpuBuilder, GpuKernel
from glow.backends.cuda.kernels.skinny import THREADS, WARPS, Skinny, SkinnySpec
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target


@dataclass(frozen=True)
class StepTile:
    """`rows` rows of a block, and `units` units of a warp; or of all warps, if `shares_depth`."""

    rows: int
    units: int
    shares_depth: bool

    @property
    def block_units(self) -> int:
        """The units of a block."""
        return self.units * (1 if self.shares_depth else WARPS)


@dataclass(frozen=True)
class StepSpec:
    """New states = cell(sums of the gates, entering, states, numbers of units).

    Arguments of the kernel: the new states [rows, units], entering [rows, gates, units], hidden
    [rows, units], weights [units, gates, a row of the depth], and for each of `others` a state
    [rows, units] or, where it is False, one number a unit [units]. The inputs of `cell` are the
    sums of the gates, then what enters them, then hidden and the others.
    """

    rows: int
    units: int
    gates: int
    cell: ScalarRegion
    others: tuple[bool, ...]
    tile: StepTile

    @property
    def states(self) -> int:
        """How many states a step computes."""
        return 1 + sum(self.others)

    @property
    def product(self) -> SkinnySpec:
        """The product of the hidden state with the weights."""
        rows, units, tile = self.rows, self.units, self.tile
        columns = self.gates * units
        weights = MatrixFactor(
            1, columns, padded_row(units, types.byte_width(f32)), True
        )
        cut = GpuTile(
            tile.rows, tile.block_units * self.gates, WARP, (1, WARPS), stages=2
        )
        product = ContractionSpec(
            1,
            rows,
            columns,
            units,
            MatrixFactor(1, rows, units, True),
            weights,
            MatrixResult(1, rows, columns),
            cut,
        )
        return SkinnySpec(product, tile.units * self.gates, tile.shares_depth)

    @property
    def buffers(self) -> list[MemRefType[Attribute]]:
        """The types of the arguments."""
        state = types.memref_type((self.rows, self.units))
        _, hidden, weights = self.product.buffers
        return [
            *[state] * self.states,
            types.memref_type((self.rows, self.gates, self.units)),
            hidden,
            weights,
            *(
                state if is_state else types.memref_type((self.units,))
                for is_state in self.others
            ),
        ]


class Step(Skinny):
    """The body of the kernel."""

    def __init__(
        self, b: GpuBuilder, spec: StepSpec, buffers: Sequence[SSAValue]
    ) -> None:
        states, (entering, hidden, weights, *others) = (
            buffers[: spec.states],
            buffers[spec.states :],
        )
        super().__init__(b, spec.product, [states[0], hidden, weights])
        self.step_spec, self.states = spec, states
        self.entering, self.hidden, self.others = entering, hidden, others

    @property
    def states_of_block(self) -> int:
        """The rows' units of a block."""
        return self.spec.rows * self.step_spec.tile.block_units

    def place(self, number: int) -> Index:
        """Where a sum of a warp is kept: gate by gate, so that neighbours read side by side."""
        b, spec, tile = self.b, self.step_spec, self.step_spec.tile
        row, column = divmod(number, self.spec.columns)
        unit, gate = divmod(column, spec.gates)
        own = self.spec.sums if tile.shares_depth else tile.units
        at = gate * self.states_of_block + row * tile.block_units + unit
        return b.add(b.mul(self.warp, own), at)

    def finish(self) -> None:
        """The cell on what the block has."""
        self.share(self.states_of_block, self.cell)

    def cell(self, position: Index) -> None:
        """The new states of a row's unit, unless there is none."""
        b, spec, tile = self.b, self.step_spec, self.step_spec.tile
        row, unit = b.unflatten(position, (tile.rows, tile.block_units))
        m, n = b.add(self.m, row), b.add(b.floordiv(self.n, spec.gates), unit)
        valid: Condition = True
        if spec.rows % tile.rows:
            valid = b.both(valid, b.compare("slt", m, spec.rows))
        if spec.units % tile.block_units:
            valid = b.both(valid, b.compare("slt", n, spec.units))
        b.if_(valid, lambda: self.write(position, m, n))

    def write(self, position: Index, row: Index, unit: Index) -> None:
        """The new states of a unit, which is the block's at that position."""
        b, gates, apart = self.b, range(self.step_spec.gates), self.states_of_block
        sums = [self.sum_of(b.add(position, gate * apart)) for gate in gates]
        entering = [b.load(self.entering, row, gate, unit) for gate in gates]
        hidden = b.load(self.hidden, 0, row, unit)
        others = [
            b.load(buffer, row, unit) if is_state else b.load(buffer, unit)
            for buffer, is_state in zip(self.others, self.step_spec.others, strict=True)
        ]
        values = [*sums, *entering, hidden, *others]
        results = self.step_spec.cell.instantiate(b, values)
        for state, value in zip(self.states, results, strict=True):
            b.store(value, state, row, unit)


def build_step(spec: StepSpec, target: Target, name: str) -> GpuKernel:
    """The kernel of a step."""
    b = GpuBuilder(target)
    return b.kernel(
        name,
        spec.buffers,
        THREADS,
        spec.product.grid,
        lambda buffers: Step(b, spec, buffers).build(),
    )
