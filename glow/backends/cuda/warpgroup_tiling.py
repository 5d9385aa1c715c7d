"""What a tile of Hopper's warpgroups takes, by arithmetic on the figures of the machine.

As for tiles of warps (`tiling.py`), with what differs: products read shared memory themselves, and
where one block is there at a time, its end, which stores its results, is beside nothing. Tiles of
matrices come by tensor maps, one thread beginning the copies; others the threads copy, with the
places of all in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cartesian
from math import ceil

from glow.backends.cuda.kernels.contraction_spec import WarpgroupTile
from glow.backends.cuda.kernels.copied_contraction import STAGES_READ
from glow.backends.cuda.kernels.gpu_builder import (
    BARRIER_BYTES,
    MOST_BLOCKS,
    WARP,
    aligned,
)
from glow.backends.cuda.product import (
    COPY_REGISTERS,
    MOST_COPIES,
    Product,
    TileCost,
    blocks_seconds,
    copies_of,
    resident_blocks,
    step_bytes,
)
from glow.dialects.gpu.matrix_descriptor import ROW_BYTES
from glow.dialects.gpu.warpgroups import ROWS, WARPGROUP
from glow.lowering.target.gpu_machine import GpuMachine, Rates

BASE_REGISTERS = 40
"""Beside the sums: what `ptxas` takes for kernels with an epilogue."""
STEP_INSTRUCTIONS = 40
"""Of a warp in a step: waits, descriptors, products, arrivals."""
COPY_INSTRUCTIONS = 20
"""Of a copy in a step, by the PTX: 35 of a window of an image, 2 of weights."""
GROUPS = (1, 2)
COLUMNS = (64, 128, 192, 256)
PARTS = (1, 2)
STAGES = (2, 3, 4, 5, 6)
COPIED_STAGES = range(STAGES_READ + 1, 7)


def warpgroup_tiles(product: Product, machine: GpuMachine) -> Iterator[WarpgroupTile]:
    """The tiles there are for a product; none where warpgroups do not multiply it."""
    if machine.warpgroup_multiply_adds is None or product.format == "f32":
        return
    # What tensor maps bring is multiplied by `nvgpu.warpgroup.mma`, which takes no bytes.
    is_mapped = product.has_maps and product.format != "i8"
    if product.is_split or not (is_mapped or product.is_copied_to_warpgroups):
        return
    depth = ROW_BYTES // product.size
    stages = STAGES if is_mapped else COPIED_STAGES
    parts = (1,) if is_mapped else PARTS
    for group, part, columns in cartesian(GROUPS, parts, COLUMNS):
        rows = group * part * ROWS
        if rows <= product.m and columns <= product.n and depth <= product.k:
            warps = (group * WARPGROUP // WARP, 1)
            for count in stages:
                yield WarpgroupTile(rows, columns, depth, warps, count, is_mapped)


def copies(product: Product, tile: WarpgroupTile) -> int:
    """The copies that each thread begins in a step."""
    return 0 if tile.is_mapped else copies_of(product, tile)


def registers_of(product: Product, tile: WarpgroupTile) -> int:
    """The registers of a thread: sums, places of its copies."""
    return (
        BASE_REGISTERS
        + tile.parts * tile.columns // 2
        + ceil(COPY_REGISTERS * copies(product, tile))
    )


def step_cycles(
    product: Product,
    tile: WarpgroupTile,
    machine: GpuMachine,
    rates: Rates,
    blocks: int,
) -> float:
    """The cycles in which a multiprocessor does a step of so many blocks."""
    multiplied = tile.rows * tile.columns * tile.depth
    # Each 64 rows are read, and beside them all columns.
    words = tile.groups * tile.parts * (ROWS + tile.columns) * tile.depth
    warps = tile.threads // WARP
    instructions = STEP_INSTRUCTIONS + COPY_INSTRUCTIONS * copies(product, tile)
    shared = max(
        multiplied / rates.of(product.format),
        words * product.size / machine.shared_bytes_per_cycle,
        step_bytes(product, tile)
        * machine.multiprocessors
        / machine.l2_bytes_per_cycle,
        instructions * warps / machine.issued_per_cycle,
    )
    ahead = tile.stages - (1 if tile.is_mapped else STAGES_READ)
    waited = machine.memory_latency / ahead + machine.barrier_cycles
    return max(blocks * shared, waited)


def resident(product: Product, tile: WarpgroupTile, machine: GpuMachine) -> int:
    """The blocks of a tile that a multiprocessor runs at a time; 0 where it does not fit."""
    registers, shared_bytes = registers_of(product, tile), shared_of(product, tile)
    is_small = ceil(product.m / tile.rows) <= MOST_BLOCKS
    fits = shared_bytes <= machine.block_shared_bytes
    if registers > machine.thread_registers or copies(product, tile) > MOST_COPIES:
        return 0
    if not (fits and is_small):
        return 0
    return resident_blocks(machine, tile, registers, shared_bytes)


def shared_of(product: Product, tile: WarpgroupTile) -> int:
    """The shared memory of a block: tiles, and the barriers of those that maps bring."""
    barriers = 2 * aligned(BARRIER_BYTES * tile.stages) if tile.is_mapped else 0
    return tile.stages * step_bytes(product, tile) + barriers


def warpgroup_cost(
    product: Product, tile: WarpgroupTile, machine: GpuMachine
) -> TileCost | None:
    """What a tile takes; None where it does not fit."""
    rates, most = machine.warpgroup_multiply_adds, resident(product, tile, machine)
    assert rates is not None
    if not most:
        return None
    steps, ends = ceil(product.k / tile.depth), 2 * machine.memory_latency
    if most == 1:
        stored = 4 * tile.rows * tile.columns * machine.multiprocessors
        ends += stored / machine.l2_bytes_per_cycle

    def cycles(blocks: int) -> float:
        return steps * step_cycles(product, tile, machine, rates, blocks) + ends

    seconds = blocks_seconds(product, tile, machine, most, cycles)
    return TileCost(seconds, registers_of(product, tile), shared_of(product, tile))
