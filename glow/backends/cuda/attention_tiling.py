"""Which tile attention has on a GPU, by arithmetic on the figures of the machine.

As for contractions (`tiling.py`): a step is a block of keys, in which both products, the
exponentials between them, the words of shared memory and the bytes from the L2 take turns, and no
less passes than one block waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import ceil

from glow.backends.cuda.kernels.attention_spec import AttentionSpec, AttentionTile
from glow.backends.cuda.kernels.contraction_spec import ContractionSpec
from glow.backends.cuda.kernels.gpu_builder import WARP
from glow.backends.cuda.product import Product, TileCost, resident_blocks
from glow.backends.cuda.tiling import (
    BASE_REGISTERS,
    EQUAL,
    STEP_INSTRUCTIONS,
    issued,
)
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.gpu_machine import GpuMachine

STAGES = (2, 3)
SPARE_REGISTERS = 15
"""What `ptxas` may need beyond the count."""
SCORE_INSTRUCTIONS = 8
"""Of a lane for a score: scale, mask, maximum, difference, exponential, total, rounding."""
EXCHANGE_CYCLES = 200.0
"""What lanes wait for each other and for exponentials in a step, one behind the other."""


def tiles(spec: AttentionSpec) -> Iterator[AttentionTile]:
    """The tiles there are: threads that multiply have rows that swizzle alike, in two warps."""
    is_wide = spec.has_tensor_cores
    for rows in (16, 32, 64, 128) if is_wide else (32, 64):
        for keys in (32, 64) if is_wide else (32,):
            for stages in STAGES:
                yield AttentionTile(rows, keys, stages)


def product_of(part: ContractionSpec) -> Product:
    """One of the two products."""
    return Product(part.batch, part.m, part.n, part.k, part.element, part.precision)


def copies_of(spec: AttentionSpec) -> int:
    """The copies that a thread begins in a step."""
    return ceil(spec.key_bytes / (16 * spec.threads))


def has_tails(spec: AttentionSpec) -> bool:
    """Whether rows, or blocks of keys, end in zeros, so that copies have sizes of their own."""
    pitches = spec.pitch, spec.value_pitch
    has_whole_blocks = spec.keys.outer % spec.tile.keys == 0
    return pitches != (spec.queries.depth, spec.values.outer) or not has_whole_blocks


def registers_of(spec: AttentionSpec) -> int:
    """The registers of a thread: sums, scores and weights, fragments, places of its copies.

    Of `ptxas`, which writes a step's copies out, these are one a copy, and sizes some more.
    """
    tile, columns = spec.tile, spec.sums.tile.columns
    lanes = columns // 2, tile.keys // 2
    product = product_of(spec.scores)
    if not spec.has_tensor_cores:
        fragments = 4 * (4 + max(lanes) // 4)
        of_copy = 3 if has_tails(spec) else 1
        return BASE_REGISTERS + sum(lanes) + fragments + of_copy * copies_of(spec)
    parts = 2 if product.is_split else 1
    weights = parts * lanes[1] * product.size // 4
    held = sum(lanes) + weights + parts * 8
    return BASE_REGISTERS + held + (4 if has_tails(spec) else 1) * copies_of(spec)


def step_cycles(spec: AttentionSpec, machine: GpuMachine, blocks: int) -> float:
    """The cycles in which a multiprocessor does a block of keys of so many blocks of threads."""
    parts = [(product_of(one), one.tile) for one in (spec.scores, spec.sums)]
    product, rows, keys = parts[0][0], spec.tile.rows, spec.tile.keys
    multiplied = sum(t.rows * t.columns * t.depth * p.products for p, t in parts)
    warps = spec.threads // WARP
    softmax = SCORE_INSTRUCTIONS * keys / 2 + spec.sums.tile.columns / 2
    others = (softmax + STEP_INSTRUCTIONS + 8 * copies_of(spec)) * warps
    words = warps * sum(t.depth * (t.warp_rows + t.columns) for _, t in parts)
    shared = max(
        multiplied / machine.multiply_adds.of(product.format),
        (sum(issued(p, t) for p, t in parts) + others) / machine.issued_per_cycle,
        words * product.size / machine.shared_bytes_per_cycle,
        spec.key_bytes * machine.multiprocessors / machine.l2_bytes_per_cycle,
        rows * keys / machine.exponentials_per_cycle,
    )
    chain = sum(
        4.0 * t.depth
        if p.format == "f32"
        else machine.product_latency * (t.depth * p.size // 32) * p.products
        for p, t in parts
    )
    waited = max(
        machine.memory_latency / (spec.tile.stages - 1), chain + EXCHANGE_CYCLES
    )
    return max(blocks * shared, waited + machine.barrier_cycles)


def tile_cost(spec: AttentionSpec, machine: GpuMachine) -> TileCost | None:
    """What a tile takes; None where shared memory or registers of a block do not do."""
    registers, shared_bytes = registers_of(spec), spec.shared_bytes
    if shared_bytes > machine.block_shared_bytes:
        return None
    registers = min(registers, machine.thread_registers)
    resident = resident_blocks(machine, spec.sums.tile, registers, shared_bytes)
    if not resident:
        return None
    total = spec.batch * ceil(spec.queries.outer / spec.tile.rows)
    rounds, rest = divmod(ceil(total / machine.multiprocessors), resident)
    steps, cycles = ceil(spec.keys.outer / spec.tile.keys), 0.0
    for blocks, times in ((resident, rounds), (rest, 1)):
        if blocks and times:
            step = step_cycles(spec, machine, blocks)
            cycles += times * (steps * step + machine.memory_latency * 2)
    seconds = cycles / machine.clock_hz
    moved = sum(
        type_.element_count() * types.byte_width(type_.element_type)
        for type_ in spec.buffers
    )
    seconds = max(seconds, moved / machine.dram_bytes_per_second)
    return TileCost(seconds, registers, shared_bytes)


@cache
def choose_tile(spec: AttentionSpec, machine: GpuMachine) -> AttentionTile:
    """The fastest tile, whatever the one of the spec is; of those as fast the largest.

    One that needs more registers than there are is taken where all do.
    """
    found = [replace(spec, tile=tile) for tile in tiles(spec)]
    costs = [(one, c) for one in found if (c := tile_cost(one, machine)) is not None]
    most = machine.thread_registers - SPARE_REGISTERS
    least = max(most, min(registers_of(one) for one, _ in costs))
    costs = [(c.seconds, one.tile) for one, c in costs if registers_of(one) <= least]
    bound = EQUAL * min(seconds for seconds, _ in costs)
    fast = [tile for seconds, tile in costs if seconds <= bound]
    return max(fast, key=lambda tile: (tile.rows, tile.keys, -tile.stages))
