"""Equalizes the channels between two convolutions; the network's function stays.

A channel that is scaled by 1/s where it is made and by s where it is read changes nothing
in floats, since ReLU commutes with positive factors. One scale for a tensor serves channels
of like ranges much better, so s evens out the weights on both sides. Only chains whose
ranges really differ are touched: elsewhere it gains nothing.

Source: Nagel et al., Data-Free Quantization (2019), section 4.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import constant_value
from glow.passes.quantization.adjustment.parts import for_each_part
from glow.passes.quantization.profiling.instrument_profile import (
    functions_of,
    value_names,
)
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.profiling.schema import magnitudes
from glow.passes.quantization.profiling.value_profile import ValueProfile
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

DISPARITY = 4.0
"""The largest channel of a tensor over its median one, from which on it is worth it."""

SWEEPS = 8
SMALLEST_RANGE = 1e-5
FACTOR_LIMITS = (1e-4, 1e4)
HOMOGENEOUS = (None, "relu", "leaky_relu")
"""Activations that commute with positive factors."""


@dataclass
class Pair:
    """Two convolutions, of which only the second reads the first."""

    first: glow.Conv2dOp
    second: glow.Conv2dOp
    factors: Floats
    """What each channel between them has been divided by."""


def group_of(op: glow.Conv2dOp) -> int:
    """The number of groups of a convolution."""
    return op.attributes_view().int("group")


def has_constants(op: glow.Conv2dOp) -> bool:
    """Whether weights and bias are known."""
    constants = [op.weights] if op.bias is None else [op.weights, op.bias]
    return all(constant_value(value) is not None for value in constants)


def pair_of(op: Operation) -> Pair | None:
    """The pair whose second convolution an operation is, if it can be equalized."""
    if not isinstance(op, glow.Conv2dOp):
        return None
    first = op.input.owner
    if not isinstance(first, glow.Conv2dOp) or not op.input.has_one_use():
        return None
    activation = None if first.activation is None else first.activation.data
    channels = shape_of(first.weights)[0] if has_constants(first) else 0
    fits = group_of(op) in (1, channels) and has_constants(op)
    if channels == 0 or not fits or activation not in HOMOGENEOUS:
        return None
    factors: Floats = np.ones(channels)
    return Pair(first, op, factors)


def array_of(value: SSAValue) -> Array:
    """The numbers of a constant."""
    array = constant_value(value)
    assert array is not None
    return array


def peaks_of(weights: Array) -> Floats:
    """The largest weight of each kernel, [outputs, inputs]: what ranges are made of.

    Tap by tap, which takes a tenth of the time of a reduction over few numbers.
    """
    kernels = weights.reshape(*weights.shape[:2], -1)
    peaks = np.zeros(kernels.shape[:2])

    def find(part: slice) -> None:
        for tap in range(kernels.shape[2]):
            found = np.abs(kernels[part, :, tap])
            np.maximum(peaks[part], found, out=peaks[part])

    for_each_part(kernels, find)
    return peaks


def peaks_at_ends(first: glow.Conv2dOp, last: glow.Conv2dOp) -> tuple[Floats, Floats]:
    """The same of a chain's ends, [outputs, 1] and [1, inputs], by group [outputs, 1].

    Factors there go along one axis: the largest weight along the other one stays it.
    """
    made = magnitudes(array_of(first.weights), 0)[:, None]
    axis = 0 if group_of(last) == 1 else 1
    return made, peaks_of(array_of(last.weights)).max(axis=axis, keepdims=True)


def read_ranges(peaks: Floats, group: int) -> Floats:
    """The largest weight that reads each channel."""
    return peaks.max(axis=0 if group == 1 else 1)


def balance(pair: Pair, peaks: dict[glow.Conv2dOp, Floats]) -> None:
    """Even out the weights on both sides of a pair, of which the peaks are known."""
    made = peaks[pair.first].max(axis=1)
    read = read_ranges(peaks[pair.second], group_of(pair.second))
    alive = (made > SMALLEST_RANGE) & (read > SMALLEST_RANGE)
    ratio = np.sqrt(np.where(alive, made, 1.0) / np.where(alive, read, 1.0))
    factors = np.clip(ratio, *FACTOR_LIMITS)
    pair.factors = pair.factors * factors
    peaks[pair.first] /= factors[:, None]
    peaks[pair.second] *= _reading(pair, factors)


def _reading(pair: Pair, factors: Floats) -> Floats:
    """The factors along the channels that the second convolution of a pair reads."""
    return factors[None, :] if group_of(pair.second) == 1 else factors[:, None]


def disparity(pair: Pair, profile: ValueProfile | None) -> float:
    """How much the channels between two convolutions differ in range."""
    if profile is None or profile.channel_high is None or profile.channel_low is None:
        ranges = peaks_of(array_of(pair.first.weights)).max(axis=1)
    else:
        ranges = np.maximum(profile.channel_high, -profile.channel_low)
    ranges = ranges[ranges > SMALLEST_RANGE]
    return float(ranges.max() / middle_of(ranges)) if ranges.size else 1.0


def middle_of(numbers: Floats) -> float:
    """The median (NumPy's loads its masked arrays, which takes long)."""
    ordered = np.sort(numbers)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def chains_of(pairs: Collection[Pair]) -> list[list[Pair]]:
    """Pairs that share a convolution belong together, in program order."""
    chains: dict[Operation, list[Pair]] = {}
    for pair in pairs:
        chain = chains.pop(pair.first, [])
        chain.append(pair)
        chains[pair.second] = chain
    return list(chains.values())


def rewrite(pairs: list[Pair]) -> None:
    """Give the convolutions of a chain their new weights and biases."""
    made = {pair.first: pair for pair in pairs}
    read = {pair.second: pair for pair in pairs}
    for op in dict.fromkeys([*made, *read]):
        _replace(op, 1, rescaled_weights(op, read.get(op), made.get(op)))
    for pair in pairs:
        if pair.first.bias is not None:
            _replace(pair.first, 2, array_of(pair.first.bias) / pair.factors)


def rescaled_weights(op: glow.Conv2dOp, read: Pair | None, made: Pair | None) -> Array:
    """The weights for channels that pairs before and behind a convolution have rescaled.

    They are computed in float64 and rounded once.
    """
    weights = array_of(op.weights)
    result = np.empty_like(weights)
    factors = None if read is None else _reading(read, read.factors)[..., None, None]

    def rescale(part: slice) -> None:
        numbers = weights[part].astype(np.float64)
        if factors is not None:
            numbers *= factors[part] if len(factors) > 1 else factors
        if made is not None:
            numbers /= made.factors[part, None, None, None]
        result[part] = numbers

    for_each_part(weights, rescale)
    return result


def _replace(op: glow.Conv2dOp, index: int, array: Array) -> None:
    old = array_of(op.operands[index])
    name = f"{name_of(op.operands[index])}.equalized"
    op.operands[index] = NodeBuilder(op).constant(
        array.astype(old.dtype, copy=False), name
    )


def rescaled(profile: ValueProfile, factors: Floats) -> ValueProfile:
    """The profile of a value whose channels have been divided by factors.

    The histogram is lost: what calibrates on it falls back to the range.
    """
    low, high, mean = (
        None if numbers is None else numbers / factors
        for numbers in (profile.channel_low, profile.channel_high, profile.channel_mean)
    )
    assert low is not None
    assert high is not None
    result = ValueProfile(float(low.min()), float(high.max()))
    result.channel_low, result.channel_high, result.channel_mean = low, high, mean
    result.batches = profile.batches
    return result


def equalize_layers(
    block: Block, names: Mapping[SSAValue, str], profile: Profile | None
) -> Profile | None:
    """Equalize a function's chains; the profile that fits it then."""
    values = {} if profile is None else dict(profile.values)
    for chain in chains_of([p for op in block.ops if (p := pair_of(op)) is not None]):
        between = [names.get(pair.second.input, "") for pair in chain]
        known = [values.get(name) for name in between]
        lacking = [v for v in known if v is None or v.channel_low is None]
        if profile is not None and lacking:
            continue
        if max(map(disparity, chain, known)) < DISPARITY:
            continue
        equalize_chain(chain)
        for pair, name, value in zip(chain, between, known, strict=True):
            if value is not None:
                values[name] = rescaled(value, pair.factors)
    return None if profile is None else Profile(values, profile.batches)


def equalize_chain(chain: list[Pair]) -> None:
    """Balance the pairs of a chain in turn, since they share convolutions."""
    peaks = {
        pair.second: peaks_of(array_of(pair.second.weights)) for pair in chain[:-1]
    }
    first, last = chain[0].first, chain[-1].second
    peaks[first], peaks[last] = peaks_at_ends(first, last)
    for _ in range(SWEEPS):
        for pair in chain:
            balance(pair, peaks)
    rewrite(chain)


@dataclass(frozen=True)
class EqualizeLayersPass(ModulePass):
    """Even out the ranges of channels between convolutions (`profile` is optional)."""

    name = "equalize-layers"
    preserves = VALUES

    profile: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        profile = None if self.profile is None else Profile.load(self.profile)
        for function in functions_of(op):
            names = value_names(function)
            equalize_layers(function.body.block, names, profile)
