"""Tiles of rows that take in border columns: their geometry, and convolutions with them."""

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import (
    LANES,
    TARGET,
    assert_close,
    convolution,
    random,
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
from glow.backends.cpu.tiling.row_tiles import (
    MOST_BORDER_TILES,
    border_tiles,
    inside_taps,
    takes_whole_rows,
)
from glow.lowering.loop_builder.window import Window

WIDE = TARGET.with_core(vector_bytes=64, vector_registers=32)
SAME = (1, 1, 1, 1)


def random_window(rng: np.random.Generator) -> Window:
    width, kernel = int(rng.integers(1, 60)), int(rng.integers(1, 8))
    stride, dilation = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    left, right = map(int, rng.integers(0, kernel * dilation, 2))
    return Window(
        (1, width), (1, kernel), (1, stride), (1, dilation), (0, left, 0, right)
    )


def taps_of(window: Window, column: int) -> set[int]:
    """The kernel columns that an output column has inside the image."""
    origin = column * window.strides[1] - window.pads[1]
    step, width = window.dilations[1], window.input[1]
    return {k for k in range(window.kernel[1]) if 0 <= origin + k * step < width}


def test_border_tiles_have_the_taps_inside() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        window = random_window(rng)
        if window.output[1] < 1:
            continue
        pixels = int(rng.integers(1, window.output[1] + 1))
        first = int(rng.integers(0, window.output[1] - pixels + 1))
        found: list[set[int]] = [set() for _ in range(pixels)]
        order: list[int] = []
        for (low, high), inside in inside_taps(window, first, pixels):
            assert isinstance(low, int)
            assert isinstance(high, int)
            order += range(low, high)
            for pixel in inside:
                found[pixel] |= set(range(low, high))
        assert order == sorted(set(order))
        assert found == [taps_of(window, first + pixel) for pixel in range(pixels)]


def test_tiles_cover_rows_and_inner_ones_reach_no_border() -> None:
    rng = np.random.default_rng(1)
    counts = [0, 0, 0]
    for _ in range(3000):
        window = random_window(rng)
        width = window.output[1]
        if width < 1:
            continue
        pixels = int(rng.integers(1, width + 1))
        tiles, (low, high) = -(-width // pixels), window.interior(1)
        borders = border_tiles(window, pixels)
        counts[min(len(borders), 3) - 1] += bool(borders)
        numbers = [border.number for border in borders]
        assert numbers == sorted(set(numbers))
        inner = set(range(tiles)) - set(numbers)
        starts = [min(n * pixels, high - pixels) for n in inner]
        assert all(low <= start for start in starts)
        spans = [(start, pixels) for start in starts] + [b[1:] for b in borders]
        covered = [column for first, n in spans for column in range(first, first + n)]
        assert set(covered) == set(range(width))
        if len(borders) > 2:
            assert len(covered) == width
        assert takes_whole_rows(window, pixels) == (len(borders) <= MOST_BORDER_TILES)
    assert min(counts) > 100


SHAPES = {
    "one tile": Conv2dSpec(2, 20, 40, Window((4, 14), (3, 3), pads=SAME)),
    "two tiles": Conv2dSpec(1, 16, 32, Window((3, 28), (3, 3), pads=SAME)),
    "tiles that overlap": Conv2dSpec(1, 17, 16, Window((3, 47), (3, 3), pads=SAME)),
    "one column more": Conv2dSpec(1, 16, 32, Window((2, 43), (3, 3), pads=SAME)),
    "uneven parts": Conv2dSpec(1, 8, 88, Window((3, 30), (3, 3), pads=SAME)),
    "5x5": Conv2dSpec(2, 16, 32, Window((5, 45), (5, 5), pads=(2, 2, 2, 2))),
    "left only": Conv2dSpec(
        1, 16, 32, Window((5, 60), (3, 3), (2, 2), pads=(1, 1, 0, 0))
    ),
    "right only": Conv2dSpec(1, 16, 32, Window((5, 33), (2, 2), pads=(0, 0, 1, 1))),
    "dilated": Conv2dSpec(
        1, 16, 24, Window((6, 31), (3, 3), dilations=(2, 2), pads=(2, 2, 2, 2))
    ),
    "far dilation": Conv2dSpec(
        2, 24, 40, Window((31, 29), (3, 3), dilations=(9, 9), pads=(9, 9, 9, 9))
    ),
    "no inner pixel": Conv2dSpec(
        1, 17, 16, Window((5, 30), (2, 3), dilations=(3, 17), pads=(0, 17, 3, 17))
    ),
    "plain": Conv2dSpec(
        2, 3, 40, Window((9, 89), (7, 7), (2, 2), pads=(3, 3, 3, 3)), plain_input=True
    ),
    "groups": Conv2dSpec(
        1, 2 * LANES, 2 * LANES, Window((3, 29), (3, 3), pads=SAME), groups=2
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_conv2d(name: str) -> None:
    spec = replace(SHAPES[name], lanes=LANES)
    assert conv_tiling(spec, TARGET).config.whole_rows
    x = random(spec.batch, spec.in_channels, *spec.window.input)
    w = random(spec.out_channels, spec.group_inputs, *spec.window.kernel)
    packed = pack_conv_weights(w, spec, TARGET)
    kernel = build_conv2d("kernel", spec, TARGET)
    source = x if spec.plain_input else to_blocks(x)
    output = run(kernel, spec.output_type.get_shape(), source, packed)
    expected = convolution(x, w, spec.window, spec.groups)
    assert_close(to_plain(output, spec.out_channels), expected)


@pytest.mark.parametrize("width", [7, 14, 28, 56, 112, 224])
def test_tiles_divide_rows(width: int) -> None:
    spec = Conv2dSpec(1, 64, 64, Window((width, width), (3, 3), pads=SAME))
    tiling = conv_tiling(spec, WIDE)
    assert tiling.config.whole_rows
    assert all(width % pixels == 0 for pixels in tiling.config.pixels)
