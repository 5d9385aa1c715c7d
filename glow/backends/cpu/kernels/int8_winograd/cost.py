"""When a Winograd convolution of bytes is faster than direct sums: cycles of both, from shapes.

Both multiply 16-bit words in pairs, so that register tiles of both cost the same for a pair, and
there are 4 (m = 4) or 2.25 times (m = 2) fewer. On top of that come the transforms, and weights
that are 8 or 3.6 times as large.
"""

from __future__ import annotations

from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import (
    Int8Conv2dSpec,
    input_step,
)
from glow.backends.cpu.kernels.int8_winograd.spec import (
    PAIR,
    Int8WinogradSpec,
    int8_winograd_tiling,
    shared_cycles,
)
from glow.backends.cpu.kernels.winograd.cost import GAIN, TAP_LOOPS, taps_inside
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target


def is_profitable(spec: Int8WinogradSpec, target: Target) -> bool:
    """Whether the convolution is faster this way than directly."""
    if not spec.supported():
        return False
    return int8_winograd_cycles(spec, target) < GAIN * direct_cycles(spec, target)


def int8_winograd_cycles(spec: Int8WinogradSpec, target: Target) -> float:
    """The estimated cycles of all phases, in blocks that threads share."""
    return shared_cycles(int8_winograd_tiling(spec, target), target)


def direct_cycles(spec: Int8WinogradSpec, target: Target) -> float:
    """The estimated cycles of direct sums."""
    taps = (spec.kernel, spec.kernel)
    direct = Int8Conv2dSpec(
        spec.batch,
        spec.in_channels,
        spec.out_channels,
        Window(spec.plane, taps, pads=spec.pads),
        lanes=spec.lanes,
        block_lanes=spec.lanes,
        step=input_step(spec.lanes, target, wide=target.is_x86),
        wide_input=target.is_x86,
    )
    tiling, model = conv_tiling(direct, target), direct.model(target)
    planes = sum(
        part.tiles * count * model.run_cycles(length, part.blocks)
        for part in tiling.parts
        for count, length in tiling.runs
    )
    pairs = direct.step // PAIR
    return pairs * TAP_LOOPS * spec.batch * planes * taps_inside(spec)
