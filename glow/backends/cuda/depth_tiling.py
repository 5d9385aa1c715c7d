"""Into how many parts the depth of a product goes, by arithmetic.

Parts are blocks beside each other. What they cost is a kernel more, which reads all sums, as they
were written just before, from the L2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    WarpgroupTile,
)
from glow.backends.cuda.kernels.depth_parts import PartSumsSpec, part_product
from glow.backends.cuda.kernels.gpu_builder import MOST_BLOCKS, TILE_BYTES
from glow.backends.cuda.product import product_of
from glow.backends.cuda.tiling import choose_tile, tile_cost
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.gpu_machine import GpuMachine

PARTS = (2, 4, 8, 16)
LEAST_BYTES = 256
"""Of the depth of a part: some tiles, so that copies of the next come beside products."""
ANY_TILE = GpuTile(1, 1, 1, (1, 1))
"""That of all products whose sums are added up: these do not depend on it."""
GAIN = 0.8
"""Times that have to be left, since models of two kernels are wrong twice."""


def sums_seconds(spec: PartSumsSpec, machine: GpuMachine) -> float:
    """The time of the second kernel, from the end of the first."""
    moved = spec.sums_bytes * (1 + 1 / spec.parts) / machine.l2_bytes_per_cycle
    waited = 2 * machine.memory_latency
    return machine.launch_seconds + (moved + waited) / machine.clock_hz


def depth_parts(spec: ContractionSpec) -> Iterator[int]:
    """The numbers of parts there are: whole pieces of 16 bytes, as copies take them."""
    size = types.byte_width(spec.element)
    for parts in PARTS:
        part_bytes = spec.k * size // parts
        is_whole = spec.k % parts == 0 and part_bytes % TILE_BYTES == 0
        if is_whole and part_bytes >= LEAST_BYTES and spec.batch * parts <= MOST_BLOCKS:
            yield parts


def choose_parts(spec: ContractionSpec, machine: GpuMachine) -> PartSumsSpec | None:
    """The sums of a product's parts, where these are faster than the tile that it has.

    Their product is `part_product`, whose tile is chosen as that of any.
    """
    is_mapped = isinstance(spec.tile, WarpgroupTile) and spec.tile.is_mapped
    if is_mapped or spec.padding:
        return None  # Those of tensor maps are large products.
    whole = tile_cost(product_of(spec), spec.tile, machine)
    best, bound = None, 0.0 if whole is None else whole.seconds * GAIN
    for parts in depth_parts(spec):
        product = product_of(part_product(spec, parts))
        cost = tile_cost(product, choose_tile(product, machine), machine)
        sums = PartSumsSpec(replace(spec, tile=ANY_TILE, points=None), parts)
        seconds = sums_seconds(sums, machine)
        if cost is not None and (total := cost.seconds + seconds) < bound:
            best, bound = sums, total
    return best
