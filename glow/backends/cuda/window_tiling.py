"""How many pixels a thread of a window has, or how many lanes a result, by arithmetic.

The time is that of the multiprocessor with most blocks: what its L1 sends, what its warps issue,
what one thread waits for (a loop of taps waits for each trip); and no less than what DRAM sends.
More pixels a thread read less, as pixels share columns of the window; lanes that share the taps
make threads where results are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import ceil, prod

from glow.backends.cuda.kernels.gpu_builder import WARP
from glow.backends.cuda.kernels.windows import (
    THREADS,
    WRITTEN_COLUMNS,
    WRITTEN_TAPS,
    WindowsSpec,
    WindowTile,
)
from glow.backends.cuda.tiling import EQUAL
from glow.lowering.target.gpu_machine import GpuMachine

PIXELS = (1, 2, 4)
LOAD_INSTRUCTIONS = 3
"""Of a load beside itself: its place, and whether it is there."""
EXCHANGE_INSTRUCTIONS = 2
"""Of a step of an exchange: the lanes' values change places, and two are one."""
THREAD_INSTRUCTIONS = 30
"""Of a thread beside its taps: which results it has, and where they go."""


def tiles(spec: WindowsSpec) -> Iterator[WindowTile]:
    """Those that there are for a window."""
    yield WindowTile()
    if spec.taps >= WARP // 2:
        yield WindowTile(1, WARP)
    for pixels in PIXELS[1:]:
        if pixels * spec.taps <= WRITTEN_TAPS and pixels <= spec.window.output[1]:
            yield WindowTile(pixels)


def loads_of(spec: WindowsSpec) -> int:
    """The loads of a thread: columns of the image, and weights."""
    rows, columns = spec.window.kernel
    if spec.tile.lanes > 1:
        taps = ceil(spec.taps / spec.tile.lanes)
        return taps * (1 + (spec.group if spec.kind == "multiply" else 0))
    step, stride = spec.window.dilations[1], spec.window.strides[1]
    read = {
        p * stride + c * step for p in range(spec.tile.pixels) for c in range(columns)
    }
    weights = spec.taps * spec.group if spec.kind == "multiply" else 0
    return rows * len(read) + weights


def trips_of(spec: WindowsSpec) -> int:
    """How often a thread waits for loads."""
    rows, columns = spec.window.kernel
    if spec.tile.lanes > 1:
        return ceil(spec.taps / spec.tile.lanes)
    if spec.taps * spec.tile.pixels <= WRITTEN_TAPS:
        return 1
    return rows if columns <= WRITTEN_COLUMNS else spec.taps


def seconds_of(spec: WindowsSpec, machine: GpuMachine) -> float:
    """The time of a kernel."""
    blocks = ceil(spec.grid[0] / machine.multiprocessors)
    warps, loads = blocks * THREADS // WARP, loads_of(spec)
    steps = ceil(spec.taps / spec.tile.lanes) * spec.tile.pixels * spec.group
    issued = loads * (1 + LOAD_INSTRUCTIONS) + steps * spec.width + THREAD_INSTRUCTIONS
    if spec.tile.lanes > 1:
        issued += EXCHANGE_INSTRUCTIONS * spec.width * (WARP - 1).bit_length()
    rounds = ceil(blocks * THREADS / machine.threads)
    cycles = max(
        warps * loads * spec.width * 4 * WARP / machine.shared_bytes_per_cycle,
        warps * issued / machine.issued_per_cycle,
        rounds * machine.memory_latency * (1 + trips_of(spec)),
    )
    moved = 4 * sum(prod(type_.get_shape()) for type_ in spec.buffers)
    return max(cycles / machine.clock_hz, moved / machine.dram_bytes_per_second)


@cache
def choose_tile(spec: WindowsSpec, machine: GpuMachine) -> WindowTile:
    """The fastest tile; of those as fast the one with fewest loads of all threads."""
    found = [replace(spec, tile=tile) for tile in tiles(spec)]
    costs = [(seconds_of(one, machine), one) for one in found]
    bound = EQUAL * min(seconds for seconds, _ in costs)
    fast = [one for seconds, one in costs if seconds <= bound]
    return min(fast, key=lambda one: one.grid[0] * loads_of(one)).tile
