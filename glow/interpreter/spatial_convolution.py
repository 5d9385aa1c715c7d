"""Convolution over [N, C, D, H, W] arrays, and transposed convolution over a plane.

Sums accumulate in float64 and are rounded once, after the bias.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import Conv3dOp, ConvTranspose2dOp
from glow.dialects.glow.spatial_convolution import transposed_size, volume_shape
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact
from glow.interpreter.scalar_functions import Function


def run_conv3d(
    op: GlowOp, volume: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.conv3d`: one tap of the kernel after the other."""
    attributes = op.attributes_view()
    group, pads = attributes.int("group"), attributes.ints("pads")
    strides, dilations = attributes.ints("strides"), attributes.ints("dilations")
    widths = [(0, 0), (0, 0), *zip(pads[:3], pads[3:], strict=True)]
    padded = np.pad(exact(volume), widths)
    batch, outputs = volume.shape[0], weights.shape[0]
    extents = volume_shape(volume.shape[2:], weights.shape[2:], attributes)
    padded = padded.reshape(batch, group, -1, *padded.shape[2:])
    taps = exact(weights).reshape(group, outputs // group, *weights.shape[1:])
    total = np.zeros((batch, group, outputs // group, *extents), padded.dtype)
    for tap in np.ndindex(*weights.shape[2:]):
        window = tuple(
            slice(k * dilation, k * dilation + (extent - 1) * stride + 1, stride)
            for k, dilation, extent, stride in zip(
                tap, dilations, extents, strides, strict=True
            )
        )
        total += np.einsum(
            "ngcdhw,goc->ngodhw", padded[:, :, :, *window], taps[..., *tap]
        )
    return with_bias(total.reshape(batch, outputs, *extents), bias)


def run_conv_transpose2d(
    op: GlowOp, image: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.conv_transpose2d`: each tap of the kernel adds to a grid of the output."""
    attributes = op.attributes_view()
    group, pads = attributes.int("group"), attributes.ints("pads")
    strides, dilations = attributes.ints("strides"), attributes.ints("dilations")
    batch, outputs, plane = image.shape[0], weights.shape[1] * group, image.shape[2:]
    extents = [
        transposed_size(plane[axis], weights.shape[2 + axis], attributes, axis)
        for axis in (0, 1)
    ]
    pixels = exact(image).reshape(batch, group, -1, *plane)
    taps = exact(weights).reshape(group, -1, *weights.shape[1:])
    room = [extents[axis] + pads[axis] + pads[axis + 2] for axis in (0, 1)]
    total = np.zeros((batch, group, outputs // group, *room), pixels.dtype)
    for tap in np.ndindex(*weights.shape[2:]):
        begin = [tap[axis] * dilations[axis] for axis in (0, 1)]
        rows, columns = (
            slice(begin[axis], begin[axis] + plane[axis] * strides[axis], strides[axis])
            for axis in (0, 1)
        )
        grid = total[..., rows, columns]
        added = np.einsum("ngchw,gco->ngohw", pixels, taps[..., *tap])
        grid += added[..., : grid.shape[-2], : grid.shape[-1]]
    end = [pads[axis] + extents[axis] for axis in (0, 1)]
    total = total[..., pads[0] : end[0], pads[1] : end[1]]
    return with_bias(total.reshape(batch, outputs, *extents), bias)


def with_bias(total: Array, bias: Array | None) -> Array:
    """Sums [N, O, ...] plus one number for each output channel."""
    if bias is None:
        return total
    return total + exact(bias).reshape(-1, *[1] * (total.ndim - 2))


NODES: dict[type[Operation], Function] = {
    Conv3dOp: run_conv3d,
    ConvTranspose2dOp: run_conv_transpose2d,
}
