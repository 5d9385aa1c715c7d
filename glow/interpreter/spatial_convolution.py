"""Convolution over [N, C, D, H, W] arrays, and transposed convolutions.

Sums accumulate in float64 and are rounded once, after the bias.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects.glow import Conv3dOp, ConvTranspose2dOp, ConvTranspose3dOp
from glow.dialects.glow.spatial_convolution import transposed_shape, volume_shape
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
    channels = volume.shape[1] // group
    padded = padded.reshape(batch, group, channels, *padded.shape[2:])
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


def run_conv_transpose(
    op: GlowOp, image: Array, weights: Array, bias: Array | None = None
) -> Array:
    """`glow.conv_transpose2d` and 3d: each tap adds to a grid of the output."""
    attributes = op.attributes_view()
    group, pads = attributes.int("group"), attributes.ints("pads")
    strides, dilations = attributes.ints("strides"), attributes.ints("dilations")
    batch, outputs, sizes = image.shape[0], weights.shape[1] * group, image.shape[2:]
    extents = transposed_shape(sizes, weights.shape[2:], attributes)
    fronts, backs = pads[: len(sizes)], pads[len(sizes) :]
    channels = image.shape[1] // group
    pixels = exact(image).reshape(batch, group, channels, *sizes)
    taps = exact(weights).reshape(group, channels, *weights.shape[1:])
    room = map(sum, zip(extents, fronts, backs, strict=True))
    total = np.zeros((batch, group, outputs // group, *room), pixels.dtype)
    for tap in np.ndindex(*weights.shape[2:]):
        begins = [k * dilation for k, dilation in zip(tap, dilations, strict=True)]
        places = tuple(
            slice(begin, begin + size * stride, stride)
            for begin, size, stride in zip(begins, sizes, strides, strict=True)
        )
        grid = total[..., *places]
        added = np.einsum("ngc...,gco->ngo...", pixels, taps[..., *tap])
        grid += added[..., *map(slice, grid.shape[3:])]
    kept = tuple(
        slice(front, front + extent)
        for front, extent in zip(fronts, extents, strict=True)
    )
    return with_bias(total[..., *kept].reshape(batch, outputs, *extents), bias)


def with_bias(total: Array, bias: Array | None) -> Array:
    """Sums [N, O, ...] plus one number for each output channel."""
    if bias is None:
        return total
    return total + exact(bias).reshape(-1, *[1] * (total.ndim - 2))


NODES: dict[type[Operation], Function] = {
    Conv3dOp: run_conv3d,
    ConvTranspose2dOp: run_conv_transpose,
    ConvTranspose3dOp: run_conv_transpose,
}
