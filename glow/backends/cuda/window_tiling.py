"""How many pixels a thread of a window has, or how many lanes a result, by arithmetic.

The time is that of the multiprocessor with most blocks: what its L1 sends, what its warps issue,
what one thread waits for (a loop of taps waits for each trip, and instructions for those before);
and no less than what DRAM sends.
More pixels a thread read less, as pixels share columns of the window; lanes that share the taps
make threads where results are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import ceil, prod

from glow.backends.cuda.kernels.gpu_builder import TILE_BYTES, WARP
from glow.backends.cuda.kernels.window_spec import (
    THREADS,
    WRITTEN_COLUMNS,
    WRITTEN_TAPS,
    WindowsSpec,
    WindowTile,
)
from glow.backends.cuda.tiling import EQUAL
from glow.lowering.loop_builder.ir_types import byte_width
from glow.lowering.target.gpu_machine import GpuMachine

PIXELS, CHANNELS = (1, 2, 4), (4, 8, 16)
MOST_SUMS = 16
"""Of a thread: what it loads for more of them, all taps at once, has no registers."""
LOAD_INSTRUCTIONS = 3
"""Of a load beside itself: its place, and whether it is there."""
EXCHANGE_INSTRUCTIONS = 2
"""Of a step of an exchange: the lanes' values change places, and two are one."""
EPILOGUE_INSTRUCTIONS = 8
"""Of a result: a scale, rounding and saturation."""
WARP_CYCLES = 2
"""From an instruction of a warp to its next one."""
THREAD_INSTRUCTIONS = 30
"""Of a thread beside its taps: which results it has, and where they go."""


def channels_of(spec: WindowsSpec) -> Sequence[int]:
    """The channels that a thread may have: those of at most 16 bytes."""
    most = TILE_BYTES // byte_width(spec.element)
    return [n for n in CHANNELS if n <= most and spec.lanes % n == 0] or CHANNELS[:1]


def tiles(spec: WindowsSpec) -> Iterator[WindowTile]:
    """Those that there are for a window."""
    for channels in channels_of(spec):
        yield WindowTile(channels=channels)
        if spec.taps >= WARP // 2:
            yield WindowTile(1, WARP, channels)
        for pixels in PIXELS[1:]:
            is_written = pixels * spec.taps <= WRITTEN_TAPS
            has_registers = pixels * channels <= MOST_SUMS
            if is_written and has_registers and pixels <= spec.window.output[1]:
                yield WindowTile(pixels, channels=channels)


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
    if spec.has_bytes:  # Each is made a word of.
        issued += loads * spec.width
    if spec.epilogue is not None:
        issued += EPILOGUE_INSTRUCTIONS * spec.width * spec.tile.pixels
    if spec.tile.lanes > 1:
        issued += EXCHANGE_INSTRUCTIONS * spec.width * (WARP - 1).bit_length()
    read = spec.width * byte_width(spec.element)
    rounds = ceil(blocks * THREADS / machine.threads)
    cycles = max(
        warps * loads * read * WARP / machine.shared_bytes_per_cycle,
        warps * issued / machine.issued_per_cycle,
        rounds * (machine.memory_latency * (1 + trips_of(spec)) + issued * WARP_CYCLES),
    )
    moved = sum(
        prod(type_.get_shape()) * byte_width(type_.element_type)
        for type_ in spec.buffers
    )
    return max(cycles / machine.clock_hz, moved / machine.dram_bytes_per_second)


@cache
def choose_tile(spec: WindowsSpec, machine: GpuMachine) -> WindowTile:
    """The fastest tile; of those as fast the one with fewest loads of all threads."""
    found = [replace(spec, tile=tile) for tile in tiles(spec)]
    costs = [(seconds_of(one, machine), one) for one in found]
    bound = EQUAL * min(seconds for seconds, _ in costs)
    fast = [one for seconds, one in costs if seconds <= bound]
    return min(fast, key=lambda one: one.grid[0] * loads_of(one)).tile
