"""When a Winograd convolution of bytes is faster than direct sums: cycles of both, from shapes.

Both multiply 16-bit words in pairs, so that register tiles of both cost the same for a pair, and
there are 4 (m = 4) or 2.25 times (m = 2) fewer; with VNNI, direct sums are of four bytes for the
price of such a pair. On top of that come the transforms, and weights that are 8 or 3.6 times as
large.
"""

from __future__ import annotations

from math import prod

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

LEAST_OUTPUTS = 64
"""The output channels for which inputs are transformed where VNNI makes direct sums fast."""


def is_profitable(
    spec: Int8WinogradSpec,
    target: Target,
    dilated: Window | None = None,
    moves: float = 0,
) -> bool:
    """Whether the convolution is faster this way than directly.

    It may have a dilation, of whose phases the images of `spec` are; to move pixels to these and
    back takes `moves` cycles.
    """
    if not spec.supported() or not spec.reads_weights_well(target):
        return False
    if target.byte_dot == "vnni" and spec.out_channels < LEAST_OUTPUTS:
        return False
    cycles = int8_winograd_cycles(spec, target) + moves
    return cycles < GAIN * direct_cycles(spec, target, dilated)


def int8_winograd_cycles(spec: Int8WinogradSpec, target: Target) -> float:
    """The estimated cycles of all phases, in blocks that threads share."""
    return shared_cycles(int8_winograd_tiling(spec, target), target)


def direct_cycles(
    spec: Int8WinogradSpec, target: Target, dilated: Window | None = None
) -> float:
    """The estimated cycles of direct sums; of those of the dilated window, if one is given."""
    taps = (spec.kernel, spec.kernel)
    window = dilated or Window(spec.plane, taps, pads=spec.pads)
    batch, groups = spec.batch // prod(window.dilations), spec.groups
    wide = target.is_x86 and target.byte_dot != "vnni"
    direct = Int8Conv2dSpec(
        batch // groups,
        groups * spec.in_channels,
        groups * spec.out_channels,
        window,
        groups=groups,
        lanes=spec.lanes,
        block_lanes=spec.lanes,
        step=input_step(spec.lanes, target, wide=wide),
        wide_input=wide,
    )
    tiling, model = conv_tiling(direct, target), direct.model(target)
    planes = sum(
        part.tiles * count * model.run_cycles(length, part.blocks)
        for part in tiling.parts
        for count, length in tiling.runs
    )
    instructions = 1 if target.byte_dot == "vnni" else direct.step // PAIR
    return instructions * TAP_LOOPS * batch * planes * taps_inside(spec)
