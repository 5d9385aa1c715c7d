"""Which tile a contraction has on a GPU, by arithmetic on the figures of the machine.

The time of a tile is that of the multiprocessor with most blocks. Of these some are there at a
time, as registers, shared memory and threads allow; a step of all of them takes as long as the
slowest of what they share,

    multiplications, instructions to issue, words of shared memory, bytes from the L2

and no less than one block waits: for a copy, which the stages spread over several steps, for the
sums of fragments, and at the barrier. What DRAM sends bounds the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from itertools import product as pairs
from math import ceil

from glow.backends.cuda.kernels.contraction_spec import GpuTile, WarpgroupTile
from glow.backends.cuda.kernels.gpu_builder import MOST_BLOCKS, WARP
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
from glow.backends.cuda.warpgroup_tiling import warpgroup_cost, warpgroup_tiles
from glow.lowering.target.gpu_machine import GpuMachine

BASE_REGISTERS = 40
"""Addresses, strides, what a loop needs: what `ptxas` takes for kernels with little else."""
WORD_REGISTERS = 8
"""The same where each element is by itself in a window, and may be outside of the image."""
TURNED = 16
"""The registers, and the instructions of a step, of 16 rows or columns that bytes lie along: eight
pairs are loaded, and put together by as many permutations."""
STEP_INSTRUCTIONS = 40
"""Of a warp in a step, whatever it multiplies: places of copies, the loop, the barrier."""
STAGES = (2, 3, 4)
WARPS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 4), (4, 2))
WARP_TILES = (16, 32, 64)
THREAD_TILES = (4, 8)
DEPTH_BYTES = (64, 128)
NARROW_DEPTH = 32
"""That of bytes which are copied one by one: as many elements as others have."""


def registers_of(product: Product, tile: GpuTile) -> int:
    """The registers of a thread: sums, fragments of a step, places of its copies."""
    if product.format == "f32":
        rows = tile.rows // (4 * tile.warps[0])
        columns = tile.columns // (8 * tile.warps[1])
        held = rows * columns + 4 * (rows + columns)
    else:
        parts = 2 if product.is_split else 1
        rows, columns = tile.warp_rows // 16, tile.warp_columns // 8
        held = 4 * rows * columns + parts * (4 * rows + 2 * columns)
        held += 4 * (rows * product.has_sums[0] + columns * product.has_sums[1])
        held += TURNED * turned_sixteens(product, tile)
    copy = WORD_REGISTERS if is_narrow(product) else COPY_REGISTERS
    return BASE_REGISTERS + held + ceil(copy * copies_of(product, tile))


def turned_sixteens(product: Product, tile: GpuTile) -> int:
    """The 16 rows and 16 columns of a warp of which threads make registers."""
    rows, columns = tile.warp_rows // 16, tile.warp_columns // 16
    return rows * product.has_turned[0] + columns * product.has_turned[1]


def issued(product: Product, tile: GpuTile) -> float:
    """The instructions with which all warps of a block multiply in a step."""
    size, depth = product.size, tile.depth
    warps = tile.threads // WARP
    if product.format == "f32":
        rows = tile.rows // (4 * tile.warps[0])
        columns = tile.columns // (8 * tile.warps[1])
        return warps * (depth * rows * columns + depth * (rows + columns) / 4)
    steps = depth * size // 32
    rows, columns = tile.warp_rows // 16, tile.warp_columns // 8
    loads, sums = rows + columns / 2, rows * columns * product.products
    loads += TURNED * turned_sixteens(product, tile)
    sums += rows * product.has_sums[0] + columns * product.has_sums[1]
    # Rounding takes an addition, a mask and a difference an element.
    rounded = 4 * (4 * rows + 2 * columns) * (product.format == "tf32")
    return warps * steps * (loads + sums + rounded * (3 if product.is_split else 2) / 4)


def step_cycles(
    product: Product, tile: GpuTile, machine: GpuMachine, blocks: int
) -> float:
    """The cycles in which a multiprocessor does a step of so many blocks."""
    multiplied = tile.rows * tile.columns * tile.depth * product.products
    warps = tile.threads // WARP
    words = warps * tile.depth * (tile.warp_rows + tile.warp_columns)
    filled = step_bytes(product, tile)
    others = (STEP_INSTRUCTIONS + 8 * copies_of(product, tile)) * warps
    l2 = machine.l2_bytes_per_cycle / machine.multiprocessors
    shared = max(
        multiplied / machine.multiply_adds.of(product.format),
        (issued(product, tile) + others) / machine.issued_per_cycle,
        words * product.size / machine.shared_bytes_per_cycle,
        filled / l2,
    )
    fragments = tile.depth * product.size // 32
    chain = machine.product_latency * fragments * product.products
    if product.format == "f32":
        chain = 4.0 * tile.depth
    waited = max(machine.memory_latency / (tile.stages - 1), chain)
    return max(blocks * shared, waited + machine.barrier_cycles)


def tile_cost(product: Product, tile: GpuTile, machine: GpuMachine) -> TileCost | None:
    """What a tile takes; None where it does not fit."""
    if isinstance(tile, WarpgroupTile):
        return warpgroup_cost(product, tile, machine)
    registers = registers_of(product, tile)
    shared_bytes = tile.stages * step_bytes(product, tile)
    fits = shared_bytes <= machine.static_shared_bytes
    if copies_of(product, tile) > MOST_COPIES:
        return None
    if ceil(product.m / tile.rows) > MOST_BLOCKS:
        return None
    if not fits or registers > machine.thread_registers:
        return None
    resident = resident_blocks(machine, tile, registers, shared_bytes)
    if not resident:
        return None
    steps, ends = ceil(product.k / tile.depth), machine.memory_latency * 2

    def cycles(blocks: int) -> float:
        return steps * step_cycles(product, tile, machine, blocks) + ends

    seconds = blocks_seconds(product, tile, machine, resident, cycles)
    return TileCost(seconds, registers, shared_bytes)


def is_narrow(product: Product) -> bool:
    """Whether elements of a factor are copied one by one."""
    return product.widths is not None and 1 in product.widths


def depths_of(product: Product) -> tuple[int, ...]:
    """The bytes of the depth that tiles may have."""
    if product.format == "i8" and is_narrow(product):
        return (NARROW_DEPTH, *DEPTH_BYTES)
    return DEPTH_BYTES


def tiles(product: Product) -> Iterator[GpuTile]:
    """The tiles there are for a format."""
    is_scalar = product.format == "f32"
    for warps in WARPS:
        if is_scalar and warps[0] % 2:  # Rows that threads share swizzle alike.
            continue
        sides = THREAD_TILES if is_scalar else WARP_TILES
        rows, columns = (4, 8) if is_scalar else (1, 1)
        for row, column, depth_bytes, stages in pairs(
            sides, sides, depths_of(product), STAGES
        ):
            sizes = row * rows * warps[0], column * columns * warps[1]
            yield GpuTile(*sizes, depth_bytes // product.size, warps, stages)


EQUAL = 1.02
"""Times as near to each other are the same: figures are not better than that."""


@cache
def choose_tile(product: Product, machine: GpuMachine) -> GpuTile:
    """The fastest tile; of those as fast the one that reads least from the L2, then one of
    warpgroups, which leave most to other blocks.
    """
    costs = [
        (cost.seconds, tile)
        for tile in chain(tiles(product), warpgroup_tiles(product, machine))
        if (cost := tile_cost(product, tile, machine)) is not None
    ]
    bound = EQUAL * min(seconds for seconds, _ in costs)
    fast = [tile for seconds, tile in costs if seconds <= bound]

    def preference(tile: GpuTile) -> tuple[int, bool, int]:
        is_other = not isinstance(tile, WarpgroupTile)
        return moved_rows(product, tile), is_other, -tile.stages

    return min(fast, key=preference)


def moved_rows(product: Product, tile: GpuTile) -> int:
    """The rows and columns of factors that all blocks read."""
    blocks = ceil(product.m / tile.rows) * ceil(product.n / tile.columns)
    return blocks * (tile.rows + tile.columns)
