"""Kernels of convolutions with computed weights against NumPy and the packing of constants."""

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import (
    LANES,
    SAME,
    TARGET,
    Array,
    assert_close,
    random,
    run,
    to_blocks,
    to_plain,
)

from glow.backends.cpu.dialect.config import ConvConfig, Panels
from glow.backends.cpu.dialect.weights import TurnedTaps
from glow.backends.cpu.kernels.convolution.conv2d import Conv2dSpec, pack_conv_weights
from glow.backends.cpu.kernels.convolution.conv2d_gradient import (
    Conv2dGradientSpec,
    build_conv2d_gradient,
    choose_gradient_tile,
)
from glow.backends.cpu.kernels.convolution.pack_weights import (
    PackWeightsSpec,
    build_pack_weights,
    build_unpack_weights,
)
from glow.backends.cpu.program.program import KernelRequest
from glow.backends.cpu.reference.weights import pack_panels
from glow.backends.cpu.report.choices import choice_of
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target

PACKINGS = {
    "whole blocks": PackWeightsSpec(1, 32, 16, (3, 3), 2, LANES, LANES),
    "rests": PackWeightsSpec(1, 3 * LANES + 5, LANES + 3, (1, 4), 2, LANES, LANES),
    "few channels": PackWeightsSpec(1, 5, 3, (3, 3), 1, LANES, LANES),
    "groups": PackWeightsSpec(2, 3 * LANES, LANES, (1, 1), 2, LANES, LANES),
    "plain image": PackWeightsSpec(1, LANES + 1, 3, (5, 5), 2, LANES, 1),
}


def plain_weights(spec: PackWeightsSpec) -> Array:
    return random(spec.groups * spec.outputs, spec.inputs, *spec.kernel)


@pytest.mark.parametrize("name", PACKINGS)
def test_pack_and_unpack_weights(name: str) -> None:
    spec = PACKINGS[name]
    weights = plain_weights(spec)
    expected = pack_panels(
        weights, spec.groups, spec.input_lanes, Panels(spec.blocks, LANES)
    )
    kernel = build_pack_weights("kernel", spec, TARGET)
    packed = run(kernel, (spec.packed_size,), weights.ravel())
    np.testing.assert_array_equal(packed, expected)
    kernel = build_unpack_weights("kernel", spec, TARGET)
    plain = run(kernel, (spec.plain_size,), packed)
    np.testing.assert_array_equal(plain.reshape(weights.shape), weights)


@pytest.mark.parametrize("groups", [1, 2])
def test_pack_turned_weights(groups: int) -> None:
    """The weights of the input's gradient: taps reversed, inputs and outputs exchanged."""
    outputs, inputs = 2 * LANES, 3 * LANES
    weights = random(groups * inputs, outputs, 2, 3)
    split = weights.reshape(groups, inputs, outputs, 2, 3)
    turned = split.swapaxes(1, 2)[..., ::-1, ::-1].reshape(-1, inputs, 2, 3)
    taps = (TurnedTaps.of(2, 1, 0), TurnedTaps.of(3, 1, 0))
    spec = PackWeightsSpec(groups, outputs, inputs, (2, 3), 1, LANES, LANES, taps)
    kernel = build_pack_weights("kernel", spec, TARGET)
    packed = run(kernel, (spec.packed_size,), weights.ravel())
    expected = pack_panels(turned, groups, LANES, Panels(1, LANES))
    np.testing.assert_array_equal(packed, expected)


@pytest.mark.parametrize("channels", [(LANES, 3 * LANES), (LANES + 3, 2 * LANES + 1)])
def test_constants_are_packed_alike(channels: tuple[int, int]) -> None:
    inputs, outputs = channels
    weights = random(outputs, inputs, 3, 3)
    config = ConvConfig(2, (3, 3))
    window = Window((8, 8), (3, 3))
    spec = Conv2dSpec(1, inputs, outputs, window, lanes=LANES, config=config)
    np.testing.assert_array_equal(
        pack_panels(weights, 1, LANES, Panels(2, LANES)),
        pack_conv_weights(weights, spec, TARGET),
    )


GRADIENTS = {
    "same": Conv2dGradientSpec(2, 32, 32, Window((6, 6), (3, 3), pads=SAME)),
    "uneven": Conv2dGradientSpec(
        3, 20, 50, Window((6, 5), (3, 2), (2, 1), (1, 2), (0, 1, 2, 1))
    ),
    "1x1": Conv2dGradientSpec(2, 20, 3 * LANES, Window((6, 5), (1, 1))),
    "1x1 strided": Conv2dGradientSpec(2, 20, 17, Window((6, 5), (1, 1), (2, 2))),
    "cropped": Conv2dGradientSpec(
        2, 16, 16, Window((8, 8), (3, 3), (2, 2), output_size=(3, 3))
    ),
    "groups": Conv2dGradientSpec(2, 32, 64, Window((3, 4), (3, 3), pads=SAME), 2),
    "one image at a time": Conv2dGradientSpec(
        3, 16, 32, Window((24, 24), (3, 3), pads=SAME)
    ),
    "plain": Conv2dGradientSpec(2, 3, 32, Window((9, 9), (3, 3)), plain_input=True),
    "depthwise": Conv2dGradientSpec(3, 20, 20, Window((7, 6), (3, 3), pads=SAME), 20),
    "depthwise, many images": Conv2dGradientSpec(
        9, 9 * LANES, 9 * LANES, Window((12, 12), (5, 3), (2, 2)), 9 * LANES
    ),
    "plain rows": Conv2dGradientSpec(
        2, 2, 32, Window((13, 13), (7, 7), (2, 2)), plain_input=True
    ),
}


def weight_gradient(spec: Conv2dGradientSpec, x: Array, gradient: Array) -> Array:
    window = spec.window
    top, left, bottom, right = window.pads
    x = np.pad(x.astype(float), ((0, 0), (0, 0), (top, bottom), (left, right)))
    height, width = window.output
    sums = []
    for i, j in np.ndindex(*window.kernel):
        met = x[:, :, i * window.dilations[0] :, j * window.dilations[1] :]
        met = met[:, :, :: window.strides[0], :: window.strides[1]]
        split = met[:, :, :height, :width].reshape(
            len(x), spec.groups, -1, height, width
        )
        over = gradient.reshape(len(x), spec.groups, -1, height, width)
        products = np.einsum("ngchw,ngohw->goc", split, over.astype(float))
        sums.append(products.reshape(spec.out_channels, -1))
    plain = np.stack(sums, 2)
    return plain.reshape(*plain.shape[:2], *window.kernel)


@pytest.mark.parametrize("name", GRADIENTS)
def test_weight_gradient(name: str) -> None:
    """Also computed in parts, which must not change a bit."""
    spec = replace(GRADIENTS[name], lanes=LANES)
    x = random(spec.batch, spec.in_channels, *spec.window.input)
    gradient = random(spec.batch, spec.out_channels, *spec.window.output)[::-1]
    kernel = build_conv2d_gradient("kernel", spec, TARGET)
    source = x if spec.plain_input else to_blocks(x)
    actual = run(kernel, (spec.packed_size,), source, to_blocks(gradient))
    expected = weight_gradient(spec, x, gradient)
    if spec.is_depthwise:
        blocks = actual.reshape(1, -1, *spec.window.kernel, LANES)
        plain = to_plain(blocks, spec.groups).reshape(expected.shape)
        assert_close(plain, expected)
        return
    packed = pack_panels(expected, spec.groups, spec.input_lanes, Panels(1, LANES))
    # Lanes that hold no channel may hold anything.
    there = pack_panels(
        np.ones_like(expected), spec.groups, spec.input_lanes, Panels(1, LANES)
    )
    assert_close(actual[there > 0], packed[there > 0])


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 7])
def test_gradient_tiles_fit_the_registers(blocks: int) -> None:
    for name in ("avx2", "avx512"):
        target = Target.from_string(name)
        lanes = target.lanes(32)
        spec = Conv2dGradientSpec(
            1, 64, blocks * lanes, Window((8, 8), (3, 3)), lanes=lanes
        )
        tile = choose_gradient_tile(spec, target)
        assert tile.accumulators < target.num_vector_registers
        assert blocks % tile.blocks == 0


def test_gradients_tell_their_tile() -> None:
    spec = replace(GRADIENTS["same"], lanes=LANES)
    request = KernelRequest(
        "conv2d_gradient",
        ("conv2d_gradient", spec),
        lambda name, target: build_conv2d_gradient(name, spec, target),
    )
    choice = choice_of(request, TARGET)
    assert choice.algorithm == "gradient of weights, direct sums"
    assert "channels x" in choice.tile
