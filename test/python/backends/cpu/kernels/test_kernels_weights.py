"""Kernels of convolutions with computed weights against NumPy and the packing of constants."""

import numpy as np
import pytest
from conv_testing import LANES, TARGET, Array, random, run

from glow.backends.cpu.dialect.config import ConvConfig, Panels
from glow.backends.cpu.kernels.convolution.conv2d import Conv2dSpec, pack_conv_weights
from glow.backends.cpu.kernels.convolution.pack_weights import (
    PackWeightsSpec,
    build_pack_weights,
    build_unpack_weights,
)
from glow.backends.cpu.reference.weights import pack_panels
from glow.lowering.loop_builder.window import Window

PACKINGS = {
    "whole blocks": PackWeightsSpec(1, 32, 16, 9, 2, LANES, LANES),
    "rests": PackWeightsSpec(1, 3 * LANES + 5, LANES + 3, 4, 2, LANES, LANES),
    "few channels": PackWeightsSpec(1, 5, 3, 9, 1, LANES, LANES),
    "groups": PackWeightsSpec(2, 3 * LANES, LANES, 1, 2, LANES, LANES),
    "plain image": PackWeightsSpec(1, LANES + 1, 3, 25, 2, LANES, 1),
}


def plain_weights(spec: PackWeightsSpec) -> Array:
    height = 3 if spec.taps == 9 else 1
    rows = spec.groups * spec.outputs
    return random(rows, spec.inputs, height, spec.taps // height)


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
    spec = PackWeightsSpec(groups, outputs, inputs, 6, 1, LANES, LANES, turned=True)
    kernel = build_pack_weights("kernel", spec, TARGET)
    packed = run(kernel, (spec.packed_size,), weights.ravel())
    expected = pack_panels(turned, groups, LANES, Panels(1, LANES))
    np.testing.assert_array_equal(packed, expected)


@pytest.mark.parametrize("channels", [(LANES, 3 * LANES), (LANES + 3, 2 * LANES + 1)])
def test_constants_are_packed_alike(channels: tuple[int, int]) -> None:
    inputs, outputs = channels
    weights = random(outputs, inputs, 3, 3)
    config = ConvConfig(2, (3, 3))
    spec = Conv2dSpec(1, inputs, outputs, Window((8, 8), (3, 3)), config=config)
    np.testing.assert_array_equal(
        pack_panels(weights, 1, LANES, Panels(2, LANES)),
        pack_conv_weights(weights, spec, TARGET),
    )
