"""Register tiles: how many pixels times how many channel blocks one loop body computes.

A tile of `pixels` x `blocks` accumulators does that many multiply-adds per step and loads
`pixels` inputs and `blocks` weight vectors. The model below counts cycles of the target's core:
it asks for as many independent accumulators as hide the latency of FMAs, for tiles that divide
the line, and for weights that stay in the L2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

from xdsl.ir import Attribute

from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_integer

NORM = 6
"""A step takes the sixth root of the sum of the sixth powers of its limits: one limit alone, and
an eighth more than either where two are equal. Fitted to register tiles on a Zen 3, a Zen 4 and a
Xeon of the class of Sapphire Rapids: by records what is chosen takes 3.5, 1.5 and 2.8 % longer
than the best, by the largest limit 3.4, 1.5 and 4.0 %."""

LOOP_EXITS = 1
"""Mispredicted ends of the loops of a tile, which are those of long ones: over its channels."""

SECOND_PART_PENALTY = 1.04
"""A second part doubles the code, which a gain of a few percent does not justify."""

MAX_BLOCKS = 6

FEW_REGISTERS = 16
"""So many leave tiles of twelve sums or so."""


def has_small_tiles(element: Attribute, target: Target) -> bool:
    """Whether a step is few multiply-adds of floats, on a core with caches and stack to spare.

    The loop around it is a sixth of its instructions then. Other cores with few registers are small
    ones, or WebAssembly: nothing was measured there.
    """
    few = target.is_x86 and target.num_vector_registers <= FEW_REGISTERS
    return few and not target.prefers_small_loops and not is_integer(element)


def covering_size(run: int, most: int, cycles: Callable[[int], float]) -> int:
    """The tile size up to `most` that covers a run in the fewest cycles, the largest of equals."""
    sizes = reversed(range(1, min(run, most) + 1))
    return min(sizes, key=lambda size: -(-run // size) * cycles(size), default=1)


@dataclass(frozen=True)
class TileModel:
    """Costs tiles of a kernel that does `steps` multiply-adds per accumulator.

    `vector_bytes` is the size of an accumulator, which may take several registers.
    """

    steps: int
    vector_bytes: int
    target: Target
    step_loads: float = 0
    """What a step does beside its pixels and weights, in loads."""
    pixel_bytes: float = 0
    """What a step takes of each pixel from the second cache."""
    cuts_last: bool = False
    """Whether the last tile of a run has what is left of it, and does not overlap another."""
    near_weights: bool = False
    """Whether steps are cut into chunks where the second cache has no room for all weights, which
    follow each other in a chunk as the hardware expects."""

    products: int = 0
    """The registers of products that another instruction adds to the sums."""

    @property
    def _registers(self) -> int:
        """The registers of one accumulator."""
        return max(1, self.vector_bytes // self.target.vector_bytes)

    def max_pixels(self, blocks: int) -> int:
        """The most pixels that leave registers for the weights, one input and its products."""
        registers = self.target.num_vector_registers - self.products
        available = registers // self._registers
        return max(1, (available - blocks - 1) // blocks)

    def cycles(self, pixels: int, blocks: int) -> float:
        """The cycles of one tile."""
        core, vectors = self.target.core, blocks * self._registers
        step = self.step_cycles(pixels, blocks)
        stores = core.move_cycles * pixels * vectors  # the bias in, the result out
        return self.steps * step + LOOP_EXITS * core.mispredict_cycles + stores

    def step_cycles(self, pixels: int, blocks: int) -> float:
        """The cycles of one step of a tile."""
        core, vectors = self.target.core, blocks * self._registers
        limits = (
            pixels * vectors / core.fma_per_cycle,
            core.load_cycles(pixels, vectors + self.step_loads),
            core.fma_latency,
            self._fill_cycles(pixels, blocks),
        )
        return sum(limit**NORM for limit in limits) ** (1 / NORM)

    def _fill_cycles(self, pixels: int, blocks: int) -> float:
        """The cycles per step that weights and pixels take to arrive from their caches."""
        step_bytes = blocks * self.vector_bytes
        weights = self.steps * step_bytes
        core = self.target.core
        if weights > core.l2_bytes * 3 // 4 and not self.near_weights:
            return step_bytes / core.far_bytes_per_cycle
        most, sustained = core.l2_bytes_per_cycle, core.sustained_l2_bytes_per_cycle
        rate = most if self.near_weights else sustained
        leaves = weights > core.l1_bytes // 2
        return (pixels * self.pixel_bytes + leaves * step_bytes) / rate

    def pixels(self, run: int, blocks: int) -> int:
        """The tile size that covers a run of pixels in the fewest cycles."""
        sizes = reversed(range(1, min(run, self.max_pixels(blocks)) + 1))
        cycles = partial(self.cover_cycles, run, blocks=blocks)
        return min(sizes, key=cycles, default=1)

    def cover_cycles(self, run: int, pixels: int, blocks: int) -> float:
        """The cycles of a run of pixels covered by tiles of that size."""
        whole, rest = divmod(run, pixels)
        last = rest if self.cuts_last else pixels
        return whole * self.cycles(pixels, blocks) + (
            self.cycles(last, blocks) if rest else 0
        )

    def run_cycles(self, run: int, blocks: int) -> float:
        """The cycles of a run of pixels covered by the best tiles."""
        if not run:
            return 0
        return self.cover_cycles(run, self.pixels(run, blocks), blocks)


@dataclass(frozen=True)
class ChannelPart:
    """Consecutive channel blocks computed by tiles of the same number of blocks."""

    first: int
    tiles: int
    blocks: int


def channel_parts(total: int, blocks: int) -> tuple[ChannelPart, ...]:
    """The parts that cover `total` channel blocks: full tiles, then one smaller tile."""
    tiles, rest = divmod(total, blocks)
    parts = [ChannelPart(0, tiles, blocks)] if tiles else []
    if rest:
        parts.append(ChannelPart(tiles * blocks, 1, rest))
    return tuple(parts)


def choose_blocks(
    model: TileModel, channel_blocks: int, runs: Sequence[tuple[int, int]]
) -> int:
    """The number of blocks per tile that computes the plane in the fewest cycles.

    `runs` are the (count, length) of the plane's runs of pixels.
    """
    run_cycles = cache(model.run_cycles)  # Tiles of many sizes have parts alike.

    def plane_cycles(blocks: int) -> float:
        parts = channel_parts(channel_blocks, blocks)
        cycles = sum(
            part.tiles * count * run_cycles(length, part.blocks)
            for part in parts
            for count, length in runs
        )
        return cycles * SECOND_PART_PENALTY ** (len(parts) - 1)

    return min(range(1, min(MAX_BLOCKS, channel_blocks) + 1), key=plane_cycles)
