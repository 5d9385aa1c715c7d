"""In which order direct convolutions visit channels and lines, and what they fetch ahead."""

from dataclasses import replace

import pytest
from support.kernels.conv_testing import (
    LANES,
    SAME,
    TARGET,
    assert_close,
    conv_inputs,
    convolution,
    run,
    to_blocks,
    to_plain,
)

from glow.backends.cpu.kernels.convolution.conv2d import (
    Conv2dSpec,
    build_conv2d,
    conv_tiling,
    pack_conv_weights,
)
from glow.backends.cpu.kernels.convolution.conv2d_config import choose_conv_config
from glow.backends.cpu.kernels.convolution.conv2d_order import ConvOrder
from glow.backends.cpu.tiling.tiles import TileModel
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.cores import CORES
from glow.lowering.target.target import Target

FAR = replace(
    TARGET,
    core=replace(
        CORES["zen5"].with_vectors(TARGET.vector_bytes, 32),
        l1_bytes=1024,
        l2_bytes=4096,
        load_pipes=8,
        l2_bytes_per_cycle=4096,
        memory_bytes_per_cycle=0.01,
    ),
)
"""Caches so small that most weights are far, of a core with vectors as this machine has and 32
registers, which takes no longer where it asks for the next ones, and waits long for memory."""


class EachLineFetches(Conv2dSpec):
    """A convolution each line of which fetches a share of the next weights."""

    FETCHES_AT_STEPS = False


def check_far(spec: Conv2dSpec) -> None:
    """Compare a convolution with NumPy; `run` also cuts it into work items."""
    x, w = conv_inputs(spec)
    packed = pack_conv_weights(w, spec, FAR)
    kernel = build_conv2d("kernel", spec, FAR)
    output = run(kernel, spec.output_type.get_shape(), to_blocks(x), packed)
    expected = convolution(x, w, spec.window, 1)
    assert_close(to_plain(output, spec.out_channels), expected)


@pytest.mark.parametrize(
    "window",
    [
        Window((6, 7), (3, 3), pads=SAME),
        Window((6, 7), (1, 1), (2, 2)),
        Window((6, 7), (1, 1), (2, 1), pads=(1, 1, 2, 1)),
    ],
)
def test_conv2d_weights_far_from_cache_go_channels_outermost(window: Window) -> None:
    spec = Conv2dSpec(2, 24, 5 * LANES, window, lanes=LANES)
    check_far(spec)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("plane", "shared"),
    [((16, 12), "rows"), ((9, 12), "rows"), ((2, 3), "channels")],
)
def test_conv2d_shares_lines_of_far_weights_if_there_are_enough(
    plane: tuple[int, int], shared: str, batch: int
) -> None:
    """Every thread then reads all weights, else all of the input."""
    window = Window(plane, (3, 3), pads=SAME)
    spec = Conv2dSpec(batch, 24, 5 * LANES, window, lanes=LANES)
    tiling = conv_tiling(spec, FAR)
    order = ConvOrder(spec, tiling)
    assert order.channels_outermost
    tiles = sum(part.tiles for part in tiling.parts)
    config = choose_conv_config(
        EachLineFetches(batch, 24, 5 * LANES, window, lanes=LANES), FAR
    )
    by_channels = ConvOrder(spec, replace(tiling, config=config)).work_items
    assert by_channels % tiles == 0
    assert (order.work_items < by_channels) == (shared == "rows")
    assert order.work_items % 2 == 0 or shared == "channels"
    check_far(spec)


@pytest.mark.parametrize(("l2_bytes", "fetched"), [(2**22, False), (2**14, True)])
def test_conv2d_fetches_weights_that_are_far(l2_bytes: int, fetched: bool) -> None:
    spec = Conv2dSpec(1, 64, 64, Window((7, 7), (1, 1)), lanes=LANES)
    kernel = build_conv2d("kernel", spec, TARGET.with_core(l2_bytes=l2_bytes))
    names = {op.name for op in kernel.function.walk()}
    assert ("memref.prefetch" in names) == fetched


def prefetches(spec: Conv2dSpec, l2_bytes: int) -> int:
    """How many there are in the code of a kernel."""
    kernel = build_conv2d("kernel", spec, TARGET.with_core(l2_bytes=l2_bytes))
    return sum(op.name == "memref.prefetch" for op in kernel.function.walk())


@pytest.mark.parametrize(
    "window", [Window((7, 7), (1, 1)), Window((9, 9), (1, 1), (2, 2))]
)
def test_conv2d_fetches_pixels_and_results_that_are_far(window: Window) -> None:
    """All that passes by between two uses of a line is larger than the second cache."""
    spec = Conv2dSpec(1, 64, 64, window, lanes=LANES)
    tiling = conv_tiling(spec, TARGET)
    (part,), (pixels,) = tiling.parts, tiling.config.pixels
    far, near = (prefetches(spec, spec.touched_bytes + k) for k in (-1, 0))
    assert near == 0
    assert far >= pixels * (1 + part.blocks)


def test_conv2d_fetches_no_pixels_for_taps_that_share_them() -> None:
    spec = Conv2dSpec(1, 16, 8, Window((17, 17), (3, 3)), lanes=LANES)
    assert prefetches(spec, spec.touched_bytes - 1) == 0


@pytest.mark.parametrize(("l2_bytes", "fetched"), [(2**15, True), (2**17, False)])
def test_conv2d_fetches_far_pixels_past_near_weights(
    l2_bytes: int, fetched: bool
) -> None:
    """All channels of a line come first, which read its pixels from afar only once."""
    spec = Conv2dSpec(1, 32, 24, Window((20, 20), (1, 1)), lanes=LANES)
    target = TARGET.with_core(l2_bytes=l2_bytes)
    assert not ConvOrder(spec, conv_tiling(spec, target)).channels_outermost
    names = {op.name for op in build_conv2d("kernel", spec, target).function.walk()}
    assert ("memref.prefetch" in names) == fetched


def test_tiles_are_wide_where_weights_and_pixels_come_from_the_second_cache() -> None:
    """Four pixels of two blocks are as fast for 196 pixels, but the cache is slower."""
    target = TARGET.with_core(
        vector_bytes=32,
        vector_registers=16,
        fma_pipes=2,
        fma_pipe_bytes=32,
        load_pipes=2,
        load_pipe_bytes=32,
        fma_latency=3,
        l1_bytes=2**15,
        l2_bytes=2**19,
        l2_bytes_per_cycle=32,
    )
    near, far = (TileModel(512, 32, target, pixel_bytes=size) for size in (0, 4))
    assert 4 < near.step_cycles(4, 2) < 5 < far.step_cycles(4, 2)
    assert 6 < near.step_cycles(6, 2) < far.step_cycles(6, 2) < 7
    # Six leave a rest of four.
    assert near.pixels(196, 2) == far.pixels(196, 2) == 6


@pytest.mark.parametrize(
    ("cpu", "channels", "side", "order"),
    [
        ("znver3", 256, 56, "rows"),
        ("znver3", 512, 28, "rows"),
        ("znver3", 512, 7, "rows"),
        ("znver5", 256, 56, "shared_rows"),
    ],
)
def test_big_weights_pass_by_lines_where_asking_for_them_costs_more(
    cpu: str, channels: int, side: int, order: str
) -> None:
    """With 16 registers a step is too short for a load and a fill beside its own."""
    target = Target.from_string(cpu)
    window = Window((side, side), (3, 3), pads=SAME)
    spec = Conv2dSpec(1, channels, channels, window, lanes=target.lanes(32))
    assert choose_conv_config(spec, target).order == order
