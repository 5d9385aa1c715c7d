"""Moves outliers of a linear layer's input channels into its weights.

One scale for all of x is too coarse where few channels have most of the range. With
`s = max(1, sqrt(largest of the channel / median of those))` the layer computes
`(x / s) (s W)`: the same product, whose left operand has even ranges, and whose weights have
a scale for each column anyway. The division joins the cast, so it costs nothing.

    %1 = glow.matmul %x, %w
  becomes
    %0 = glow.mul %x, %reciprocals
    %1 = glow.matmul %0, %weights

Source: Xiao et al., SmoothQuant (2023), without the weights' ranges in s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import Array
from glow.dialects.weights import constant_value
from glow.passes.quantization.adjustment.equalize_layers import middle_of, rescaled
from glow.passes.quantization.adjustment.parts import for_each_part
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.selection import is_kept, is_linear_layer
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

Floats = npt.NDArray[np.float64]

DISPARITY = 3.0
"""The largest channel over the median one, from which on channels are smoothed."""

EXPONENT = 0.5
SUFFIX = ".smoothed"


def factors_of(largest: Floats) -> Floats | None:
    """What each channel is divided by, or None where ranges are alike."""
    alive = largest[largest > 0]
    median = middle_of(alive) if alive.size else 0.0
    if median == 0 or largest.max() < DISPARITY * median:
        return None
    return np.maximum(1.0, (largest / median) ** EXPONENT)


def layers_by_input(
    block: Block, keep: Sequence[str]
) -> dict[SSAValue, list[Operation]]:
    """The linear layers that read each value."""
    found: dict[SSAValue, list[Operation]] = {}
    for op in block.ops:
        if is_linear_layer(op) and not is_kept(op, keep):
            found.setdefault(op.operands[0], []).append(op)
    return found


def smooth(value: SSAValue, layers: Sequence[Operation], factors: Floats) -> SSAValue:
    """Divide a value for its layers, and multiply their weights; the divided value."""
    builder = NodeBuilder(layers[0])
    reciprocals = (1.0 / factors).astype(np.float32)
    divided = builder.node(
        glow.MulOp,
        value,
        builder.constant(reciprocals, f"{name_of(value)}.reciprocals"),
    )
    for op in layers:
        assert isinstance(op, NodeOp)
        weights = constant_value(op.operands[1])
        assert weights is not None
        scaled = _scaled(weights, factors)
        name = f"{name_of(op.operands[1])}{SUFFIX}"
        op.operands[0] = divided
        op.operands[1] = NodeBuilder(op).constant(scaled, name)
    return divided


def _scaled(weights: Array, factors: Floats) -> Array:
    """Weights times the factor of each row, rounded once."""
    result = np.empty_like(weights)

    def scale(part: slice) -> None:
        result[part] = weights[part].astype(np.float64) * factors[part, None]

    for_each_part(weights, scale)
    return result


def smooth_channels(
    block: Block, names: Mapping[SSAValue, str], profile: Profile, keep: Sequence[str]
) -> tuple[dict[SSAValue, str], Profile]:
    """Smooth where ranges differ much; names and profile with the new values."""
    values, new_names = dict(profile.values), dict(names)
    for value, layers in layers_by_input(block, keep).items():
        seen = values.get(names.get(value, ""))
        if seen is None or seen.channel_low is None or seen.channel_high is None:
            continue
        factors = factors_of(np.maximum(seen.channel_high, -seen.channel_low))
        if factors is None:
            continue
        name = f"{names[value]}{SUFFIX}"
        divided = smooth(value, layers, factors)
        divided.name_hint = name if SSAValue.is_valid_name(name) else None
        values[name] = rescaled(seen, factors)
        new_names[divided] = name
    return new_names, Profile(values, profile.batches)
