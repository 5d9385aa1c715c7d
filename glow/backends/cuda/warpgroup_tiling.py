"""What a tile of Hopper's warpgroups takes, by arithmetic on the figures of the machine.

As for tiles of warps (`tiling.py`), with what differs: products read shared memory themselves, one
thread begins the copies of whole tiles, and few blocks are there at a time, so that the end of
one, which stores its results, is beside little else.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from glow.backends.cuda.kernels.contraction_spec import WarpgroupTile
from glow.backends.cuda.kernels.gpu_builder import BARRIER_BYTES, WARP, aligned
from glow.backends.cuda.product import (
    Product,
    TileCost,
    blocks_seconds,
    resident_blocks,
    step_bytes,
)
from glow.dialects.gpu.matrix_descriptor import ROW_BYTES
from glow.dialects.gpu.warpgroups import ROWS
from glow.lowering.target.gpu_machine import GpuMachine, Rates

BASE_REGISTERS = 40
"""Beside the sums: what `ptxas` takes for kernels with an epilogue."""
STEP_INSTRUCTIONS = 40
"""Of a warp in a step: waits, descriptors, products, arrivals."""
GROUPS = (1, 2)
COLUMNS = (64, 128, 192, 256)
STAGES = (2, 3, 4, 5, 6)


def warpgroup_tiles(product: Product, machine: GpuMachine) -> Iterator[WarpgroupTile]:
    """The tiles there are for a product; none where warpgroups do not multiply it."""
    is_float = product.format in ("f16", "bf16", "tf32")
    if machine.warpgroup_multiply_adds is None or not is_float:
        return
    if product.is_split or not product.has_maps:
        return
    depth = ROW_BYTES // product.size
    for groups in GROUPS:
        for columns in COLUMNS:
            rows = groups * ROWS
            if rows <= product.m and columns <= product.n and depth <= product.k:
                for stages in STAGES:
                    yield WarpgroupTile(rows, columns, depth, (rows // 16, 1), stages)


def step_cycles(
    product: Product,
    tile: WarpgroupTile,
    machine: GpuMachine,
    rates: Rates,
    blocks: int,
) -> float:
    """The cycles in which a multiprocessor does a step of so many blocks."""
    multiplied = tile.rows * tile.columns * tile.depth
    # Each warpgroup reads its rows, and all columns.
    words = tile.groups * (ROWS + tile.columns) * tile.depth
    warps = tile.threads // WARP
    shared = max(
        multiplied / rates.of(product.format),
        words * product.size / machine.shared_bytes_per_cycle,
        step_bytes(product, tile)
        * machine.multiprocessors
        / machine.l2_bytes_per_cycle,
        STEP_INSTRUCTIONS * warps / machine.issued_per_cycle,
    )
    waited = machine.memory_latency / (tile.stages - 1) + machine.barrier_cycles
    return max(blocks * shared, waited)


def warpgroup_cost(
    product: Product, tile: WarpgroupTile, machine: GpuMachine
) -> TileCost | None:
    """What a tile takes; None where it does not fit."""
    rates = machine.warpgroup_multiply_adds
    assert rates is not None
    registers = BASE_REGISTERS + tile.columns // 2
    barriers = 2 * aligned(BARRIER_BYTES * tile.stages)
    shared_bytes = tile.stages * step_bytes(product, tile) + barriers
    if shared_bytes > machine.block_shared_bytes:
        return None
    resident = resident_blocks(machine, tile, registers, shared_bytes)
    if not resident:
        return None
    steps = ceil(product.k / tile.depth)
    stored = 4 * tile.rows * tile.columns * machine.multiprocessors
    ends = 2 * machine.memory_latency + stored / machine.l2_bytes_per_cycle

    def cycles(blocks: int) -> float:
        return steps * step_cycles(product, tile, machine, rates, blocks) + ends

    seconds = blocks_seconds(product, tile, machine, resident, cycles)
    return TileCost(seconds, registers, shared_bytes)
