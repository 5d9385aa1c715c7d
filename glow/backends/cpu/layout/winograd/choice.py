"""Which convolutions are done with few multiplications, and by which tiles.

Windows with a dilation are dense first (`dense_windows.py`), which may take copies: these count.
"""

from __future__ import annotations

import operator
from dataclasses import replace

from glow.backends.cpu.kernels.winograd.cost import (
    GAIN,
    choose_winograd,
    direct_cycles,
    winograd_cycles,
)
from glow.backends.cpu.kernels.winograd.tiling import (
    choose_winograd_tiling,
    scratch_sizes,
)
from glow.backends.cpu.layout.conv_shape import (
    ConvShape,
    WinogradChoice,
    may_transform_bytes,
    multiplies_blocks,
    winograd_axes,
    winograd_spec,
)
from glow.backends.cpu.layout.winograd.dense_windows import (
    moved_vectors,
    without_dilation,
)
from glow.backends.cpu.tuning.choose import choose, choose_level
from glow.dialects.bounded_cache import bounded_cache
from glow.lowering.target.target import Target


@bounded_cache
def choose_winograd_tile(
    shape: ConvShape, target: Target, numerics: str = "default"
) -> WinogradChoice | None:
    """The fastest tile; None where a direct convolution is faster or the only way."""
    dense = without_dilation(shape)
    if (dense.strides, dense.dilations) != ((1, 1), (1, 1)):
        return None
    if not winograd_axes(dense.kernel):
        return None
    if shape.plain_input or not multiplies_blocks(shape, target.lanes(32)):
        return None
    spec = choose_winograd(
        winograd_spec(dense, 4, target.lanes(32)), target, accurate=numerics != "fast"
    )
    if spec is None or any(map(operator.lt, spec.plane, spec.tile_plane)):
        return None
    cycles, direct = winograd_cycles(spec, target), direct_cycles(spec, target)
    if moves := _move_cycles(shape, target):
        cycles += moves
        direct = direct_cycles(spec, target, shape.window)
        if cycles >= GAIN * direct:
            return None
    tiling = choose_winograd_tiling(spec, target)
    return WinogradChoice(
        spec.tile,
        scratch_sizes(tiling),
        spec.packed_weights,
        tiling.config,
        cycles,
        direct - cycles,
    )


def _move_cycles(shape: ConvShape, target: Target) -> float:
    """Those of moving pixels to the phases of a dilated window, and results back."""
    if not (moved := moved_vectors(shape, target.lanes(32))):
        return 0
    return moved * target.core.pass_cycles + 2 * target.core.barrier_cycles


def tuned_winograd_tile(
    shape: ConvShape, target: Target, numerics: str = "default"
) -> WinogradChoice | None:
    """The same, unless tuning found better blocks, or direct sums faster."""
    choice = choose_winograd_tile(shape, target, numerics)
    if choice is None or not choose_level("winograd", (shape,), choice.tile, target):
        return None
    spec = winograd_spec(without_dilation(shape), choice.tile, target.lanes(32))
    config = choose(spec, target)
    if config == choice.config:
        return choice
    tiling = choose_winograd_tiling(replace(spec, config=config), target)
    return replace(choice, config=config, scratch=scratch_sizes(tiling))


@bounded_cache
def choose_int8_winograd(
    shape: ConvShape, largest_sum: int, target: Target
) -> WinogradChoice | None:
    """The fastest tile by which sums up to that size are exact; None where a direct convolution
    is faster or the only way.
    """
    dense = without_dilation(shape)
    if not may_transform_bytes(dense, target):
        return None
    # Other targets have no use for these kernels.
    from glow.backends.cpu.kernels.int8_winograd import cost
    from glow.backends.cpu.kernels.int8_winograd import spec as kernel

    specs = [
        winograd_spec(dense, tile, target.lanes(32), kind=kernel.Int8WinogradSpec)
        for tile, form in kernel.FORMS.items()
        if largest_sum < form.limit
    ]
    dilated = None if dense is shape else shape.window
    moves = _move_cycles(shape, target)
    profitable = [
        spec for spec in specs if cost.is_profitable(spec, target, dilated, moves)
    ]
    if not profitable:
        return None
    cycles, spec = min(
        ((cost.int8_winograd_cycles(spec, target), spec) for spec in profitable),
        key=lambda pair: pair[0],
    )
    tiling = kernel.int8_winograd_tiling(spec, target)
    return WinogradChoice(
        spec.tile,
        kernel.scratch_sizes(tiling),
        spec.packed_weights,
        tiling.config,
        cycles + moves,
        cost.direct_cycles(spec, target, dilated) - cycles - moves,
    )


def tuned_int8_winograd(
    shape: ConvShape, largest_sum: int, target: Target
) -> WinogradChoice | None:
    """The same, unless tuning found better blocks, or direct sums faster."""
    choice = choose_int8_winograd(shape, largest_sum, target)
    if choice is None:
        return None
    if not choose_level("int8_winograd", (shape,), choice.tile, target):
        return None
    from glow.backends.cpu.kernels.int8_winograd import spec as kernel

    lanes, kind = target.lanes(32), kernel.Int8WinogradSpec
    spec = winograd_spec(without_dilation(shape), choice.tile, lanes, kind=kind)
    config = choose(spec, target)
    tiling = kernel.int8_winograd_tiling(replace(spec, config=config), target)
    return replace(choice, config=config, scratch=kernel.scratch_sizes(tiling))
