"""When a Winograd convolution is faster than a direct one: cycles of both, from shapes.

Both are estimated with the register-tile model of `tiles.py`. On top of that come the
transforms, which move every patch and product through the L2. The weights, seven (m = 6),
four (m = 4), 1.8 (m = 2) or 1.4 (r = 5) times as many as a direct convolution reads, come from
memory once per inference, while others are multiplied: on planes of 7 x 7 they decide. Kernels
are the same for all numbers of threads, and chosen for all cores: each has its share of the work,
and reads as fast as it can while the others do.
"""

from dataclasses import replace
from math import prod

from glow.backends.cpu.kernels.convolution.conv2d_config import plane_cycles
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.winograd.spec import POINTS, WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import choose_winograd_tiling
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.core import Core
from glow.lowering.target.target import Target

TAP_LOOPS = 1.12
"""The time of a direct convolution over that of its multiply-adds, measured on planes of 6 to 14
pixels: loops over taps of which some lie in the padding."""

GAIN = 0.85
"""Winograd is chosen only below this share of the direct time: its scratch memory pushes others
out of the caches, and a few percent are not worth its rounding errors."""


def is_winograd_profitable(spec: WinogradSpec, target: Target) -> bool:
    """Whether the convolution is faster this way than directly."""
    if not spec.supported() or not spec.reads_weights_well(target):
        return False
    return winograd_cycles(spec, target) < GAIN * direct_cycles(spec, target)


def choose_winograd(
    spec: WinogradSpec, target: Target, *, accurate: bool = True
) -> WinogradSpec | None:
    """The spec with the fastest tile size, None if a direct convolution is faster.

    Tiles may be such that errors are larger than those of direct sums, unless `accurate`.
    """
    tiles = [patch - spec.kernel + 1 for patch in POINTS]
    candidates = [replace(spec, tile=tile) for tile in tiles]
    paying = [
        each
        for each in candidates
        if (each.is_accurate or not accurate) and is_winograd_profitable(each, target)
    ]
    return min(paying, key=lambda each: winograd_cycles(each, target), default=None)


def winograd_cycles(spec: WinogradSpec, target: Target) -> float:
    """The estimated cycles of all phases on one core."""
    tiling = choose_winograd_tiling(spec, target)
    weights = _weight_cycles(spec, spec.packed_weights, target.core)
    return max(tiling.cycles(), weights) + tiling.call_cycles


def direct_cycles(
    spec: WinogradSpec, target: Target, dilated: Window | None = None
) -> float:
    """The estimated cycles of the direct convolution on one core.

    It may have a dilation, of whose phases the images of `spec` are.
    """
    window, groups = dilated or _direct_window(spec), spec.groups
    batch = spec.batch // prod(window.dilations)
    direct = Conv2dSpec(
        batch // groups,
        groups * spec.in_channels,
        groups * spec.out_channels,
        window,
        groups=groups,
        lanes=spec.lanes,
        element=spec.element,
    )
    planes = plane_cycles(direct, target)
    cycles = TAP_LOOPS * batch * planes * taps_inside(spec)
    return max(cycles, _weight_cycles(spec, direct.packed_weights, target.core))


def _direct_window(spec: WinogradSpec) -> Window:
    """The window of the direct convolution.

    Columns are a row with a dilation, which skips as many taps as they do and is as fast as one
    without: that is counted, with as many outputs.
    """
    if spec.axes != (0,):
        return Window(spec.plane, spec.kernel_plane, pads=spec.pads)
    top, _, bottom, _ = spec.pads
    width = prod(spec.output_plane) + spec.kernel - 1 - top - bottom
    return Window((1, width), (1, spec.kernel), pads=(0, top, 0, bottom))


def taps_inside(spec: WinogradSpec) -> float:
    """The share of the taps that lie in the image; a direct convolution skips the others."""
    sizes = zip(spec.output_plane, spec.kernel_plane, strict=True)
    height, width = (kernel * size for size, kernel in sizes)
    top, left, bottom, right = spec.pads
    return (1 - (top + bottom) / height) * (1 - (left + right) / width)


def _weight_cycles(spec: WinogradSpec, elements: int, core: Core) -> float:
    element_bytes = types.bit_width(spec.element) // 8
    return elements * element_bytes / core.contended_memory_bytes_per_cycle
