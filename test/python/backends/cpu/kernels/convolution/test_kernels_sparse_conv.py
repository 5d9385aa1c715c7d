"""Convolution by lists of input channels against NumPy, and the choice of these lists."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.conv_testing import (
    LANES,
    SAME,
    TARGET,
    AddScaleRelu,
    Array,
    assert_close,
    convolution,
    random,
    run,
    to_blocks,
    to_plain,
)

from glow.backends.cpu.kernels.convolution.conv2d import Conv2dSpec, pack_channels
from glow.backends.cpu.kernels.convolution.sparse_conv2d import build_sparse_conv2d
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import (
    ChannelLists,
    SparseConv2dSpec,
    choose_channel_lists,
)
from glow.lowering.loop_builder.epilogue import Epilogue
from glow.lowering.loop_builder.window import Window
from glow.passes.graph.fold_channel_shuffle import dense_weights


def run_sparse(
    window: Window,
    x: Array,
    w: Array,
    lists: ChannelLists,
    *more: Array,
    epilogue: Epilogue | None = None,
) -> Array:
    spec = SparseConv2dSpec(
        len(x),
        w.shape[1],
        len(w),
        window,
        lanes=LANES,
        has_bias=epilogue is not None,
        epilogue=epilogue,
        tile_blocks=lists.blocks,
        entries=lists.entries,
    )
    packed = lists.pack(w, LANES)
    assert packed.shape == (spec.packed_weights,)
    kernel = build_sparse_conv2d("kernel", spec, TARGET)
    buffers = (to_blocks(x), packed, *more, lists.table())
    return to_plain(run(kernel, spec.output_type.get_shape(), *buffers), len(w))


def lists_of(w: Array, blocks: int) -> ChannelLists:
    """The channels with weights, for tiles of that many blocks."""
    width, outputs = blocks * LANES, -(-len(w) // LANES)
    lists = [
        np.flatnonzero(w[first : first + width].any((0, 2, 3))).astype(np.int32)
        for first in range(0, len(w), width)
    ]
    return ChannelLists(outputs, blocks, lists)


CONVOLUTIONS = {
    "groups of 17": (1, 68, 68, 4, Window((5, 7), (1, 1))),
    "3x3, groups of 9, batch": (2, 36, 48, 4, Window((6, 5), (3, 3), pads=SAME)),
    "3x3 strided, dilated": (
        1,
        50,
        70,
        5,
        Window((9, 11), (3, 3), (2, 1), (1, 2), (1, 2, 0, 1)),
    ),
    "one pixel": (1, 40, 100, 10, Window((1, 1), (1, 1))),
}


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_sparse_conv2d(name: str, blocks: int) -> None:
    batch, inputs, outputs, groups, window = CONVOLUTIONS[name]
    w = random(outputs, inputs // groups, *window.kernel)
    x = random(batch, inputs, *window.input)
    dense = np.asarray(dense_weights(w, groups), np.float32)
    order = np.random.default_rng(1).permutation(inputs)
    for weights in (dense, dense[:, order]):
        actual = run_sparse(window, x, weights, lists_of(weights, blocks))
        assert_close(actual, convolution(x, weights, window, 1))


def test_sparse_conv2d_with_bias_and_epilogue() -> None:
    window = Window((4, 9), (1, 1))
    x, bias, scale = random(2, 40, 4, 9), *random(2, 48)
    w = np.asarray(dense_weights(random(48, 10, 1, 1), 4), np.float32)
    residual = random(2, 48, 4, 9)
    epilogue_operands = (
        to_blocks(residual),
        pack_channels(scale, LANES),
        np.array([0.5], np.float32),
    )
    more = (pack_channels(bias, LANES), *epilogue_operands)
    actual = run_sparse(window, x, w, lists_of(w, 1), *more, epilogue=AddScaleRelu())
    total = convolution(x, w, window, 1) + bias[:, None, None] + residual
    assert_close(actual, np.maximum(total * scale[:, None, None] + 0.5, 0.0))


def test_outputs_without_weights_are_the_bias() -> None:
    w = random(3 * LANES, 20, 1, 1)
    w[LANES : 2 * LANES] = 0.0
    window, x = Window((3, 3), (1, 1)), random(1, 20, 3, 3)
    actual = run_sparse(window, x, w, lists_of(w, 1))
    assert_close(actual, convolution(x, w, window, 1))


def test_lists_are_chosen_where_they_save_time() -> None:
    window = Window((14, 14), (1, 1))
    spec = Conv2dSpec(1, 272, 272, window, lanes=LANES)
    dense = random(272, 272, 1, 1)
    assert choose_channel_lists(dense, spec, TARGET) is None
    few = dense.copy()
    few[0, 0] = 0.0
    assert choose_channel_lists(few, spec, TARGET) is None
    grouped = np.asarray(dense_weights(random(272, 68, 1, 1), 4), np.float32)
    lists = choose_channel_lists(grouped, spec, TARGET)
    assert lists is not None
    reads = sum(len(channels) * lists.blocks for channels in lists.lists)
    assert reads < 272 * spec.output_blocks / 2
