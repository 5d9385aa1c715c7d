"""How products of few rows are cut, and whether that is faster than tiles, by arithmetic.

The time is that of the multiprocessor with most blocks: what its L1 sends, its multiply-adds, what
its warps wait for (a piece of the depth after the other); and no less than what DRAM sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import ceil

from xdsl.dialects.builtin import f32

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    MatrixFactor,
)
from glow.backends.cuda.kernels.gpu_builder import WARP
from glow.backends.cuda.kernels.skinny import THREADS, WARPS, SkinnySpec
from glow.backends.cuda.kernels.strided import StridedFactor
from glow.backends.cuda.product import product_of, resident_blocks
from glow.backends.cuda.tiling import BASE_REGISTERS, EQUAL, tile_cost
from glow.dialects.half import is_half
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.gpu_machine import GpuMachine

MOST_ROWS = 16
COLUMNS = (1, 2, 4, 8)
MOST_SUMS = 128
"""The registers of a thread for sums."""


def fits(product: ContractionSpec) -> bool:
    """Whether a product of matrices has few rows, and pieces of its depth lie in a row."""
    is_float = product.element == f32 or is_half(product.element)
    are_rows = all(
        isinstance(factor, MatrixFactor | StridedFactor) and factor.is_depth_contiguous
        for factor in (product.a, product.b)
    )
    return product.m <= MOST_ROWS and is_float and are_rows


def specs(product: ContractionSpec) -> Iterator[SkinnySpec]:
    """The ways in which it may be cut."""
    for columns in COLUMNS:
        for shares_depth in (False, True):
            whole = columns * (1 if shares_depth else WARPS)
            tile = GpuTile(product.m, whole, WARP, (1, WARPS), 2)
            spec = SkinnySpec(replace(product, tile=tile), columns, shares_depth)
            if spec.sums * spec.width <= MOST_SUMS or spec.sums == 1:
                yield spec


def registers_of(spec: SkinnySpec) -> int:
    """The registers of a thread: sums, pieces of columns and of a row, and their places."""
    pieces = (spec.columns + 1) * spec.width
    return BASE_REGISTERS + spec.sums * spec.width + pieces + 2 * spec.columns


def cycles_of(spec: SkinnySpec, machine: GpuMachine) -> float:
    """Those of the multiprocessor with most blocks; infinity where a block does not fit."""
    product, (x, y, z) = spec.product, spec.grid
    registers = registers_of(spec)
    shared = max(1, 4 * WARPS * spec.sums)
    tile = product.tile
    resident = resident_blocks(machine, tile, registers, shared)
    if not resident or registers > machine.thread_registers:
        return float("inf")
    blocks = ceil(x * y * z / machine.multiprocessors)
    steps, warps = ceil(product.k / spec.depth_step), blocks * THREADS // WARP
    size, pieces = types.byte_width(product.element), spec.columns + spec.rows
    read = pieces * spec.width * size * WARP
    # Numbers of 16 bits are made f32, an instruction each.
    wide = 0 if product.element == f32 else pieces * spec.width
    multiplied = spec.sums * spec.width
    issued = multiplied + wide + 4 * pieces
    rounds = ceil(blocks / resident)
    return max(
        warps * steps * read / machine.shared_bytes_per_cycle,
        warps * steps * multiplied * WARP / machine.multiply_adds.f32,
        warps * steps * issued / machine.issued_per_cycle,
        rounds * (steps + 2) * machine.memory_latency,
    )


def seconds_of(spec: SkinnySpec, machine: GpuMachine) -> float:
    """The time of a kernel; infinity where it does not fit."""
    moved = product_of(spec.product).operand_bytes / machine.dram_bytes_per_second
    return max(cycles_of(spec, machine) / machine.clock_hz, moved)


@cache
def choose_skinny(product: ContractionSpec, machine: GpuMachine) -> SkinnySpec | None:
    """The fastest way to cut a product of few rows; None where its tile is faster."""
    if not fits(product):
        return None
    costs = [(seconds_of(spec, machine), spec) for spec in specs(product)]
    best = min((seconds for seconds, _ in costs), default=float("inf"))
    tiled = tile_cost(product_of(product), product.tile, machine)
    if best == float("inf") or (tiled is not None and tiled.seconds < best):
        return None
    fast = [spec for seconds, spec in costs if seconds <= EQUAL * best]
    return max(fast, key=lambda spec: (spec.columns, not spec.shares_depth))
