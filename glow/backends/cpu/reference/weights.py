"""Weights of convolutions in the order in which kernels read them, and back."""

from __future__ import annotations

import numpy as np

from glow.backends.cpu.dialect.config import Panels, panels_of
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array


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


def run_pack_weights(op: GlowOp, weights: Array) -> Array:
    """`cpu.pack_weights`."""
    attributes = op.attributes_view()
    group, panels = attributes.int("group"), panels_of(attributes)
    assert panels is not None
    if attributes.has("turned"):
        inputs, outputs, *kernel = weights.shape
        split = weights.reshape(group, inputs // group, outputs, *kernel)
        turned = split.swapaxes(1, 2)[..., ::-1, ::-1]
        weights = turned.reshape(group * outputs, inputs // group, *kernel)
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
