"""What a Winograd convolution of bytes is, why it is exact, and how it is cut.

The method is that of `winograd/spec.py`, y = A^T [(G g G^T) * (B^T d B)] A, in integers modulo a
power of two. G has fractions: times `scale` it has integers, so that the sums come out `scale`^2
times as large, modulo 2^32. The odd part of `scale`^2 has an inverse modulo 2^32; the even part
is a shift, which is right where the true sum is below 2^31 over it. So there is no rounding
anywhere, and the bits are those of direct sums.

Transformed patches and weights fit 16 bits, which `pmaddwd` of x86 and `i32x4.dot_i16x8_s` of
WebAssembly multiply in pairs: bytes are widened for them in any case. `vpdpwssd` of VNNI does half
of what its instruction for bytes does, and few multiplications make up for it. Points are 0, +-1
(and +-2) and infinity.

All tiles of a block go through all phases, before the next block does: patches of all
channels, then products and outputs of one channel tile after the other. Threads share the blocks,
and calls work in the scratch memory of their first work item. Engines of WebAssembly run a module
on one thread, so that there is one work item, and scratch memory for one block.

Packed weights are [channel tile][position][pair of input channels][blocks][lanes][2] of i16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import ClassVar

from xdsl.dialects.builtin import MemRefType, i8, i16, i32
from xdsl.ir import Attribute

from glow.backends.cpu.dialect.config import USUAL_PREFETCH
from glow.backends.cpu.kernels.winograd.config import wrong_winograd_config
from glow.backends.cpu.kernels.winograd.spec import BOTH, WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    THREADS,
    WinogradTiling,
    choose_winograd_tiling,
    places,
    winograd_tiling,
)
from glow.backends.cpu.tiling.int8_tile import pair_products
from glow.backends.cpu.tiling.tiles import TileModel
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.target.target import Target

KERNEL = 3
PAIR = 2
"""The input channels that an instruction multiplies at once."""
WORD_BYTES, SUM_BYTES = 2, 4
"""Of transformed numbers, and of their products."""
SUM_BITS = 8 * SUM_BYTES


@dataclass(frozen=True)
class Form:
    """The integers of F(m x m, 3 x 3)."""

    taps: tuple[tuple[int, ...], ...]
    """Rows of G, times `scale`; the last one times half of it where `doubles`."""
    scale: int
    doubles: bool
    """Whether outputs take the product at infinity twice: its whole weight exceeds 16 bits."""

    @property
    def shift(self) -> int:
        """The twos in the square of the scale."""
        square = self.scale**2
        return (square & -square).bit_length() - 1

    @property
    def inverse(self) -> int:
        """Of the odd part of that square, modulo 2^32, as a signed number."""
        inverse = pow(self.scale**2 >> self.shift, -1, 1 << SUM_BITS)
        return inverse - (inverse >> SUM_BITS - 1 << SUM_BITS)

    @property
    def limit(self) -> int:
        """Sums below it in size are exact."""
        return 1 << SUM_BITS - 1 - self.shift


FORMS: Mapping[int, Form] = {
    2: Form(((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2)), 2, False),
    4: Form(
        (
            (6, 0, 0),
            (-4, -4, -4),
            (-4, 4, -4),
            (1, 2, 4),
            (1, -2, 4),
            (0, 0, 12),
        ),
        24,
        True,
    ),
}
"""By the side of the output tile."""


@dataclass(frozen=True)
class Int8WinogradSpec(WinogradSpec):
    """A convolution of unsigned bytes, stride one, with sums in i32."""

    element: Attribute = i8
    zero_point: int = 0
    """The byte that pads the input."""

    SUMS: ClassVar[Attribute] = i32

    @property
    def output_type(self) -> MemRefType:
        """The memref type of the sums."""
        return types.memref_type(super().output_type.get_shape(), self.SUMS)

    @property
    def channel_type(self) -> MemRefType:
        """The memref type of one sum per output channel."""
        return types.memref_type(super().channel_type.get_shape(), self.SUMS)

    @property
    def form(self) -> Form:
        """The integers of its transforms."""
        return FORMS[self.tile]

    @property
    def channels(self) -> int:
        """The input channels with those that fill the last block."""
        return self.input_blocks * self.lanes

    @property
    def group_weights(self) -> int:
        """The number of packed weights of a group."""
        return self.positions * self.channels * self.output_blocks * self.lanes

    def supported(self) -> bool:
        """Whether there is a form, a tile fits the plane, and pixels have pairs of channels."""
        is_square = (self.kernel, self.axes, self.pool) == (KERNEL, BOTH, 1)
        has_pairs = self.tile in FORMS and self.lanes % PAIR == 0
        return is_square and has_pairs and super().supported()

    def model(self, target: Target) -> TileModel:
        """What register tiles of the products cost."""
        vector_bytes = self.lanes * types.byte_width(self.SUMS)
        products = pair_products(target)
        steps = self.channels // PAIR
        return TileModel(steps, vector_bytes, target, products=products)


@dataclass(frozen=True)
class Buffers:
    """The types of a block's scratch memory."""

    patches: MemRefType
    """[region, position, tile, input channel]"""
    products: MemRefType
    """[region, block of a channel tile, position, tile, lane]"""


def regions_of(tiling: WinogradTiling) -> int:
    """The parts of the scratch memory, one per work item."""
    return 1 if tiling.model.target.is_wasm else tiling.regions


def buffers_of(tiling: WinogradTiling) -> Buffers:
    """The scratch memory of a convolution that is cut so."""
    spec, target, regions = tiling.spec, tiling.model.target, regions_of(tiling)
    channels = spec.input_blocks * spec.lanes
    tiles, sums = (
        places(tiling.tiles, tile_bytes, target)
        for tile_bytes in (WORD_BYTES * channels, SUM_BYTES * spec.lanes)
    )
    products = (regions, tiling.config.blocks, spec.positions, sums, spec.lanes)
    return Buffers(
        types.memref_type((regions, spec.positions, tiles, channels), i16),
        types.memref_type(products, i32),
    )


def scratch_sizes(tiling: WinogradTiling) -> tuple[int, int]:
    """The elements of transformed patches and of products."""
    scratch = buffers_of(tiling)
    return prod(scratch.patches.get_shape()), prod(scratch.products.get_shape())


def int8_winograd_tiling(spec: Int8WinogradSpec, target: Target) -> WinogradTiling:
    """How a convolution is cut as it is configured; else the best way for a target."""
    if spec.config is not None:
        return choose_winograd_tiling(spec, target)
    return _choose_tiling(replace(spec.bare, zero_point=0), target)


@bounded_cache
def _choose_tiling(spec: Int8WinogradSpec, target: Target) -> WinogradTiling:
    """The fastest of blocks whose patches take half of the first cache, or half of the second or
    less of it: each block reads the weights anew; and of smaller ones of which each thread has
    some.
    """
    rows = spec.tile_rows
    tilings = [
        _tiling_within(spec, target, size // 2, most)
        for size in (target.l1_bytes, *(target.l2_bytes >> part for part in range(3)))
        for most in (rows, -(-rows // THREADS))
    ]
    return min(tilings, key=lambda tiling: shared_cycles(tiling, target))


def _tiling_within(
    spec: Int8WinogradSpec, target: Target, size: int, most_rows: int
) -> WinogradTiling:
    """The largest blocks whose patches have so many bytes, of equal numbers of tiles."""
    tiles = max(1, size // (spec.positions * spec.channels * WORD_BYTES))
    across, rows = spec.tiles_across, spec.tile_rows
    if tiles < across:
        return winograd_tiling(spec, target, 1, -(-across // tiles), fused=True)
    most = min(tiles // across, most_rows)
    if spec.groups == 1:
        height = -(-rows // -(-rows // most))
    else:
        height = max(filter(spec.allows_rows, range(1, most + 1)))
    return winograd_tiling(spec, target, height, fused=True)


def shared_cycles(tiling: WinogradTiling, target: Target) -> float:
    """A thread's cycles, and the part of several threads: both count alike."""
    cycles = tiling_cycles(tiling, target)
    if target.is_wasm:
        return cycles
    rounds = -(-tiling.shared_blocks // THREADS)
    return cycles * sqrt(rounds * THREADS / tiling.shared_blocks)


def tiling_cycles(tiling: WinogradTiling, target: Target) -> float:
    """The estimated cycles of a convolution that is cut so.

    Weights that exceed a core's share of the last cache come from memory for the first block of
    each group.
    Scratch memory stays in the first cache, or in half of the second one.
    """
    spec, core = tiling.spec, target.core
    products = spec.positions * tiling.tiles * tiling.product_cycles()
    weights = WORD_BYTES * spec.group_weights
    again = core.contended_l3_bytes_per_cycle
    if weights <= target.l2_bytes * 3 // 4:
        again = core.sustained_l2_bytes_per_cycle
    is_far = WORD_BYTES * spec.packed_weights > core.l3_share
    first = core.contended_memory_bytes_per_cycle if is_far else again
    patches, sums = (size // regions_of(tiling) for size in scratch_sizes(tiling))
    held = patches * WORD_BYTES + sums * SUM_BYTES
    move = 2 * core.move_cycles
    if held > target.l1_bytes:
        move += core.vector_bytes / core.bytes_per_cycle(2 * held)
    vectors = spec.input_blocks / PAIR + spec.output_blocks
    transforms = move * spec.positions * tiling.tiles * vectors
    blocks = tiling.row_blocks * tiling.segments
    read = spec.groups * max(products, weights / first)
    read += (blocks - spec.groups) * max(products, weights / again)
    return read + blocks * transforms


def wrong_int8_winograd_config(spec: Int8WinogradSpec, target: Target) -> str | None:
    """What the target or the shapes do not allow of the configuration, if so."""
    if spec.config is not None and not spec.config.fused:
        return "a kernel for each phase: there is one for all, fused = true"
    if spec.config is not None and spec.config.prefetch != USUAL_PREFETCH:
        return f"a prefetch of {spec.config.prefetch}: no weights are fetched ahead"
    return wrong_winograd_config(spec, target)
