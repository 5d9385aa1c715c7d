"""Weights of convolutions in the order in which kernels read them, and back."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import Panels
from glow.backends.cpu.dialect.config_attributes import panels_of
from glow.backends.cpu.dialect.weights import TurnedTaps, turned_taps
from glow.backends.cpu.reference.blocks import from_blocks, to_blocks
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact
from glow.interpreter.scalar_functions import Function


def _padded(values: Array, axis: int, multiple: int) -> Array:
    """Zeros behind an axis, up to a multiple."""
    pads = [(0, 0)] * values.ndim
    pads[axis] = (0, -values.shape[axis] % multiple)
    return np.pad(values, pads)


def pack_panels(weights: Array, group: int, input_lanes: int, panels: Panels) -> Array:
    """[O, C / group, kh, kw] in panels of output blocks, as one flat array."""
    outputs, inputs, height, width = weights.shape
    split = weights.reshape(group, outputs // group, inputs, height * width)
    split = _padded(_padded(split, 1, panels.lanes), 2, input_lanes)
    blocks = split.shape[1] // panels.lanes
    pieces: list[Array] = []
    whole = blocks - blocks % panels.blocks
    for first, count, size in (
        (0, whole, panels.blocks),
        (whole, blocks - whole, blocks - whole),
    ):
        if count:
            some = split[:, first * panels.lanes :][:, : count * panels.lanes]
            tiles = some.reshape(
                group, -1, size, panels.lanes, split.shape[2] // input_lanes,
                input_lanes, height * width,
            )  # fmt: skip
            pieces.append(tiles.transpose(0, 1, 4, 6, 5, 2, 3).ravel())
    return np.concatenate(pieces)


def _of_phase(weights: Array, axis: int, taps: TurnedTaps, phase: int) -> Array:
    """The taps of a phase in order along an axis; zeros where there are none."""
    order = taps.first + phase - taps.stride * np.arange(taps.count)
    there = (order >= 0) & (order < weights.shape[axis])
    shape = [1] * weights.ndim
    shape[axis] = -1
    taken = np.take(weights, np.where(there, order, 0), axis)
    return np.where(there.reshape(shape), taken, 0)


def run_pack_weights(op: GlowOp, weights: Array) -> Array:
    """`cpu.pack_weights`."""
    attributes = op.attributes_view()
    group, panels = attributes.int("group"), panels_of(attributes)
    assert panels is not None
    if attributes.has("turned"):
        inputs, outputs, *kernel = weights.shape
        split = weights.reshape(group, inputs // group, outputs, *kernel).swapaxes(1, 2)
        rows, columns = turned_taps(kernel, attributes)
        phases = [
            _of_phase(_of_phase(split, 3, rows, i), 4, columns, j)
            for i, j in np.ndindex(rows.phases, columns.phases)
        ]
        turned = np.stack(phases, 1)
        weights = turned.reshape(-1, inputs // group, *turned.shape[-2:])
    return pack_panels(weights, group, attributes.int("input_lanes"), panels)


def run_unpack_weights(op: GlowOp, packed: Array) -> Array:
    """`cpu.unpack_weights`."""
    attributes = op.attributes_view()
    shape, group = attributes.ints("shape"), attributes.int("group")
    panels = Panels(1, attributes.int("lanes"))
    positions = np.arange(1, np.prod(shape) + 1).reshape(shape)
    order = pack_panels(positions, group, attributes.int("input_lanes"), panels)
    plain = np.empty(positions.size, packed.dtype)
    plain[order[order > 0] - 1] = packed[order > 0]
    return plain.reshape(shape)


def run_conv2d_weight_gradient(op: GlowOp, image: Array, gradient: Array) -> Array:
    """`cpu.conv2d_weight_gradient`."""
    attributes = op.attributes_view()
    group, lanes = attributes.int("group"), gradient.shape[-1]
    inside = lanes if image.ndim == BLOCKED_RANK else 1
    if image.ndim == BLOCKED_RANK:
        image = from_blocks(image, attributes.int("input_channels"))
    gradient = from_blocks(gradient, attributes.int("output_channels"))
    top, left, bottom, right = attributes.ints("pads")
    padded = np.pad(exact(image), ((0, 0), (0, 0), (top, bottom), (left, right)))
    (height, width), kernel = gradient.shape[2:], attributes.ints("kernel")
    rows, columns = attributes.ints("strides")
    split = exact(gradient).reshape(len(image), group, -1, height, width)
    plain = np.zeros((group, split.shape[2], image.shape[1] // group, *kernel))
    for i, j in np.ndindex(*kernel):
        y, x = (
            n * d for n, d in zip((i, j), attributes.ints("dilations"), strict=True)
        )
        met = padded[:, :, y:, x:][
            :, :, : height * rows : rows, : width * columns : columns
        ]
        met = met.reshape(len(image), group, -1, height, width)
        plain[..., i, j] = np.einsum("ngchw,ngohw->goc", met, split)
    weights = plain.reshape(-1, *plain.shape[2:]).astype(gradient.dtype)
    if 1 < group == image.shape[1] == gradient.shape[1]:
        planes = weights.reshape(1, group, *kernel)
        return to_blocks(planes, lanes).ravel()
    return pack_panels(weights, group, inside, Panels(1, lanes))


BLOCKED_RANK = 5

WEIGHT_FUNCTIONS: dict[type[Operation], Function] = {
    cpu.PackWeightsOp: run_pack_weights,
    cpu.UnpackWeightsOp: run_unpack_weights,
    cpu.Conv2dWeightGradientOp: run_conv2d_weight_gradient,
}
