"""Chunks of input channels and rows that go together: the same bits, and where they are chosen."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.kernels.conv_testing import (
    LANES,
    SAME,
    TARGET,
    AddScaleRelu,
    Array,
    conv_inputs,
    random,
    run,
    to_blocks,
)

from glow.backends.cpu.dialect.config import ConvConfig
from glow.backends.cpu.kernels.convolution.conv2d import (
    Conv2dSpec,
    build_conv2d,
    pack_channels,
    pack_conv_weights,
)
from glow.backends.cpu.kernels.convolution.conv2d_chunks import wrong_chunk
from glow.backends.cpu.kernels.convolution.conv2d_config import (
    choose_conv_config,
    wrong_conv_config,
)
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target

PADS_2 = (2, 2, 2, 2)

SPECS = {
    "3x3": Conv2dSpec(2, 4 * LANES, 2 * LANES, Window((7, 14), (3, 3), pads=SAME)),
    "a last tile of one": Conv2dSpec(
        1, 3 * LANES, LANES, Window((5, 9), (3, 3), pads=SAME)
    ),
    "one tile": Conv2dSpec(1, 3 * LANES, 20, Window((4, 3), (3, 3), pads=SAME)),
    "strides": Conv2dSpec(
        1, 4 * LANES, 3 * LANES, Window((9, 17), (3, 3), (2, 2), pads=SAME)
    ),
    "dilations": Conv2dSpec(
        1, 2 * LANES, LANES, Window((8, 14), (3, 3), (1, 1), (2, 2), PADS_2)
    ),
    "groups": Conv2dSpec(
        1, 6 * LANES, 4 * LANES, Window((5, 8), (3, 3), pads=SAME), groups=2
    ),
    "1x1": Conv2dSpec(2, 5 * LANES, 2 * LANES, Window((5, 5), (1, 1))),
    "1x1, strides": Conv2dSpec(1, 5 * LANES, LANES, Window((7, 11), (1, 1), (2, 2))),
    "no border": Conv2dSpec(1, 2 * LANES, LANES, Window((6, 11), (3, 3))),
}


def configured(spec: Conv2dSpec, config: ConvConfig) -> Conv2dSpec:
    changed = replace(spec, config=config)
    assert wrong_conv_config(changed, TARGET) is None
    return changed


def result(spec: Conv2dSpec) -> Array:
    """What the kernel computes of random numbers, with a bias and a residual."""
    x, w = conv_inputs(spec)
    residual = random(*spec.output_type.get_shape())
    channel = pack_channels(random(spec.out_channels), LANES)
    offset = np.full(1, 0.25, np.float32)
    operands = (channel, residual, channel, offset)
    kernel = build_conv2d("kernel", spec, TARGET)
    packed = pack_conv_weights(w, spec, TARGET)
    shape = spec.output_type.get_shape()
    return run(kernel, shape, to_blocks(x), packed, *operands)


@pytest.mark.parametrize("name", SPECS)
def test_sums_are_the_same_bits(name: str) -> None:
    spec = replace(SPECS[name], lanes=LANES, has_bias=True, epilogue=AddScaleRelu())
    height, width = spec.walked.output
    blocks = min(2, spec.output_blocks)
    pixels = (min(4, width),) * (2 if spec.output_blocks % blocks else 1)
    whole = ConvConfig(blocks, pixels, whole_rows=True)
    expected = result(configured(spec, whole))
    for chunk in {1, 2, spec.input_blocks - 1} - {spec.input_blocks}:
        for rows in {1, min(3, height), height}:
            config = replace(whole, chunk=chunk, rows=rows)
            np.testing.assert_array_equal(
                result(configured(spec, config)), expected, f"{config}"
            )
    parts = replace(whole, chunk=1, segments=min(2, -(-width // pixels[0])))
    np.testing.assert_array_equal(result(configured(spec, parts)), expected)
    together = replace(whole, rows=min(2, height))
    np.testing.assert_array_equal(result(configured(spec, together)), expected)


@pytest.mark.parametrize(
    ("channels", "side", "rows", "chunk"),
    [(64, 56, 1, 0), (256, 56, 7, 8), (512, 28, 10, 13), (512, 7, 7, 8)],
)
def test_a_core_with_sixteen_registers_cuts_many_channels(
    channels: int, side: int, rows: int, chunk: int
) -> None:
    window = Window((side, side), (3, 3), pads=SAME)
    narrow, wide = (Target.from_string(cpu) for cpu in ("znver3", "znver4"))
    config = choose_conv_config(
        Conv2dSpec(1, channels, channels, window, lanes=8), narrow
    )
    assert (config.rows, config.chunk, config.order) == (rows, chunk, "rows")
    config = choose_conv_config(Conv2dSpec(1, channels, channels, window), wide)
    assert (config.rows, config.chunk) == (1, 0)


@pytest.mark.parametrize("name", ["wasm-simd", "cortex-m55", "neon"])
def test_no_other_core_keeps_sums_on_its_stack(name: str) -> None:
    target = Target.from_string(name)
    window = Window((28, 28), (3, 3), pads=SAME)
    spec = Conv2dSpec(1, 256, 256, window, lanes=target.lanes(32))
    assert choose_conv_config(spec, target).chunk == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chunk": 4}, "a chunk of 4 blocks: .* not 4"),
        ({"rows": 8}, "8 rows that go together: there are 7"),
        ({"rows": 2, "segments": 2}, "2 segments of 2 rows: one of them must be 1"),
        ({"chunk": 1, "whole_rows": False}, "only tiles of whole rows of floats"),
    ],
)
def test_what_does_not_fit_is_said(change: dict[str, Any], message: str) -> None:
    config = replace(ConvConfig(2, (4,), whole_rows=True), **change)
    wrong = wrong_chunk(replace(SPECS["3x3"], lanes=LANES), config)
    assert wrong is not None
    assert re.search(message, wrong)


def test_a_tile_that_overlaps_would_be_added_up_twice() -> None:
    window = Window((9, 9), (5, 5), pads=PADS_2)
    spec = Conv2dSpec(1, 4 * LANES, LANES, window, lanes=LANES)
    config = ConvConfig(1, (8,), whole_rows=True, chunk=1)
    assert "overlaps another" in str(wrong_chunk(spec, config))


def test_sums_that_wait_have_bounds() -> None:
    window = Window((256, 256), (3, 3), pads=SAME)
    spec = Conv2dSpec(1, 4 * LANES, 2 * LANES, window, lanes=LANES)
    config = ConvConfig(2, (4,), whole_rows=True, chunk=1, rows=256)
    assert "131072 is the most" in str(wrong_chunk(spec, config))
