"""How steps of recurrent layers are cut, by arithmetic.

A step is a product of few rows (`skinny_tiling.py`). Its weights are those of the step before, so
they come from the L2 where this holds them, and each block of rows reads them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from glow.backends.cuda.kernels.recurrence import StepSpec, StepTile
from glow.backends.cuda.skinny_tiling import MOST_SUMS, cycles_of
from glow.backends.cuda.tiling import EQUAL
from glow.lowering.target.gpu_machine import GpuMachine

UNITS = (1, 2, 4, 8)
ROWS = (1, 2, 3, 4, 6, 8)

SMALLEST = StepTile(1, 1, shares_depth=True)
"""Before one is chosen."""


def step_tiles(spec: StepSpec) -> Iterator[StepTile]:
    """The ways in which a step may be cut."""
    for rows in sorted({min(rows, spec.rows) for rows in ROWS}):
        for units in UNITS:
            for shares_depth in (False, True):
                tile = StepTile(rows, units, shares_depth)
                product = replace(spec, tile=tile).product
                few = product.sums * product.width <= MOST_SUMS
                if few or tile == SMALLEST:
                    yield tile


def step_cycles(spec: StepSpec, machine: GpuMachine) -> float:
    """The cycles of a step of a tile; infinity where it does not fit."""
    x, y, _ = spec.product.grid
    depth = spec.units * 4
    rows = y * spec.gates * spec.units + x * spec.rows
    return max(
        cycles_of(spec.product, machine), rows * depth / machine.l2_bytes_per_cycle
    )


@cache
def choose_step(spec: StepSpec, machine: GpuMachine) -> StepSpec:
    """The fastest cut, whatever the tile of the spec is; of those as fast, the largest."""
    specs = [replace(spec, tile=tile) for tile in step_tiles(spec)]
    costs = [(step_cycles(each, machine), each) for each in specs]
    bound = EQUAL * min(cycles for cycles, _ in costs)
    fast = [each.tile for cycles, each in costs if cycles <= bound]
    best = max(fast, key=lambda tile: (tile.rows, tile.units, not tile.shares_depth))
    return replace(spec, tile=best)
