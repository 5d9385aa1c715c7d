"""The packed weights of a blocked convolution.

They are [groups][channel tile][input block][kernel row][kernel column][input lane][blocks]
[lanes], one such array per `ChannelPart`: a tile reads them front to back. 16-bit weights are
multiplied in pairs of input lanes: ... [input lane / 2][blocks][lanes][2].
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glow.backends.cpu.kernels.convolution.conv2d_config import conv_tiling
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.lowering.target.target import Target


def pack_conv_weights(
    weights: NDArray[Any],
    spec: Conv2dSpec,
    target: Target,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The weights [OC, IC / groups, KH, KW] in the order that the kernel reads them, 1-D.

    Written into `out` if that is given.
    """
    kernel, groups, lanes = spec.window.kernel, spec.groups, spec.lanes
    packed = np.empty(spec.packed_weights, weights.dtype) if out is None else out
    padded = _padded_weights(weights, spec)
    start = 0
    for part in conv_tiling(spec, target).parts:
        first, count = part.first * lanes, part.tiles * part.blocks * lanes
        pairs = spec.input_lanes // spec.step_lanes, spec.step_lanes
        split = padded[:, first : first + count].reshape(
            groups, part.tiles, part.blocks, lanes, -1, *pairs, *kernel
        )
        ordered = split.transpose(0, 1, 4, 7, 8, 5, 2, 3, 6)
        stop = start + ordered.size
        packed[start:stop].reshape(ordered.shape)[...] = ordered
        start = stop
    return packed


def _padded_weights(weights: NDArray[Any], spec: Conv2dSpec) -> NDArray[Any]:
    """[groups, outputs, inputs, KH, KW] with whole blocks of channels."""
    split = weights.reshape(spec.groups, -1, *weights.shape[1:])
    outputs = spec.output_blocks * spec.lanes
    inputs = spec.input_blocks * spec.input_lanes
    if split.shape[1:3] == (outputs, inputs):
        return split
    padded = np.zeros(
        (spec.groups, outputs, inputs, *spec.window.kernel), weights.dtype
    )
    padded[:, : split.shape[1], : split.shape[2]] = split
    return padded
