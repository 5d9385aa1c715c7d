"""What of a network is quantized and how: the one decision, before anything is changed.

`insert-casts` turns a plan into casts, `prepare-qat` into fake quantization, so that a network
is trained for exactly the roundings that it will have.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.node import NodeOp
from glow.dialects.quant import Quantization
from glow.dialects.weights import constant_value
from glow.passes.graph.fuse_activation import fuse_activation
from glow.passes.quantization.adjustment.accumulators import (
    fit_accumulators,
    product_weights,
)
from glow.passes.quantization.adjustment.equalize_layers import equalize_layers
from glow.passes.quantization.adjustment.smooth_quant import smooth_channels
from glow.passes.quantization.integer.affine import is_affine
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profiling.instrument_profile import (
    functions_of,
    value_names,
)
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.profiling.ranges import (
    Ranges,
    listed,
    synthetic_profile,
)
from glow.passes.quantization.profiling.schema import Schema
from glow.passes.quantization.selection import (
    activations,
    check_keep,
    is_computed_product,
    is_constant,
    is_kept,
    quantized_values,
    select_nodes,
    shared_scales,
)
from glow.passes.rewriting.node_builder import rewrite_nodes
from glow.passes.rewriting.operations import all_operations

BYTES = "int8"


@dataclass(frozen=True)
class QuantizationPlan:
    """What of a function is quantized, and how."""

    nodes: Mapping[Operation, None]
    """What reads integers, in program order: nodes that compute on them, and a return."""
    activations: Mapping[SSAValue, Quantization]
    """The computed values that those nodes read as integers."""
    constants: Mapping[Operation, Mapping[int, Quantization]]
    """For each of the nodes, the operands that are constants stored as integers."""
    ranges: Ranges


def is_transformer(module: ModuleOp) -> bool:
    """Whether rows of activations have outliers that one scale cannot serve."""
    return any(isinstance(op, glow.LayerNormOp) for op in all_operations(module))


def quantizes_per_row(module: ModuleOp, options: QuantizationOptions) -> bool:
    """Whether linear layers quantize their rows while the network runs."""
    return options.activations == "per-row" or (
        options.activations == "auto" and is_transformer(module)
    )


def even_out_channels(
    function: FuncOp, profile: Profile, options: QuantizationOptions
) -> tuple[Mapping[SSAValue, str], Profile]:
    """Equalize layers and smooth channels if that is asked for; names and profile then."""
    names, block = value_names(function), function.body.block
    if not options.equalization:
        return names, profile
    keep = profile.keep
    profile = equalize_layers(block, names, profile) or profile
    if not quantizes_per_row(_module_of(function), options):
        names, profile = smooth_channels(block, names, profile, options.keep)
    profile.keep = keep
    return names, profile


def choose_nodes(
    function: FuncOp, options: QuantizationOptions
) -> dict[Operation, None]:
    """The nodes to quantize; in transformers only products, whose results stay float.

    A linear layer's outliers would coarsen what a GELU reads. Products of two activations
    are added where that is asked for.
    """
    block, module = function.body.block, _module_of(function)
    chosen = select_nodes(block, options.keep)
    if is_transformer(module):
        others = [op for op in chosen if not isinstance(op, tuple(PRODUCTS))]
        for op in others:
            del chosen[op]
    if options.attention == "float" or quantizes_per_row(module, options):
        return chosen
    wanted = {op for op in block.ops if is_computed_product(op)}
    return {
        op: None
        for op in block.ops
        if op in chosen or (op in wanted and not is_kept(op, options.keep))
    }


def prepare_network(
    module: ModuleOp, profile: Profile | None, options: QuantizationOptions
) -> QuantizationOptions:
    """Fuse bounds, which plans expect; returns the options with the names that a profile keeps.

    Raises GlowError for names that nothing has, and for several functions without a profile.
    """
    if profile is not None:
        options = replace(options, keep=(*options.keep, *profile.keep))
    check_keep(module, options.keep)
    fuse_bounds(module)
    if profile is None and len(functions_of(module)) > 1:
        raise GlowError(
            "several functions need a profile", hint="give --quantize=profile=..."
        )
    return options


def plan_quantization(
    function: FuncOp, profile: Profile | None, options: QuantizationOptions
) -> QuantizationPlan | None:
    """What of a function to quantize, by a profile; None where that is nothing.

    Channels are evened out before. Raises GlowError where the profile is another network's.
    """
    chosen = readers_of(function, options)
    values = quantized_values(chosen, fused=options.fidelity == "fused")
    if not values:
        return None
    if profile is None:
        profile = synthetic_profile(_module_of(function), options.calibration)
    Ranges(profile, value_names(function), options.calibration).require(values)
    names, profile = even_out_channels(function, profile, options)
    chosen = readers_of(function, options)
    ranges = Ranges(profile, names, options.calibration)
    return QuantizationPlan(
        chosen,
        activation_parameters(chosen, ranges, options),
        {op: constant_parameters(op, options) for op in chosen if is_node(op)},
        ranges,
    )


def readers_of(function: FuncOp, options: QuantizationOptions) -> dict[Operation, None]:
    """The nodes to quantize; and the return, where integers leave and such nodes made them."""
    chosen = choose_nodes(function, options)
    last = function.body.block.last_op
    assert last is not None
    made = [value.owner in chosen for value in activations(last)]
    if options.interface == "integer" and made and all(made):
        chosen[last] = None
    return chosen


def is_node(op: Operation) -> bool:
    """Whether something that reads integers computes."""
    return isinstance(op, NodeOp)


def _module_of(function: FuncOp) -> ModuleOp:
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    return module


def fuse_bounds(module: ModuleOp) -> None:
    """Let products absorb ReLU and clip, so that ranges are those behind them."""
    rewrite_nodes(module, dict.fromkeys((glow.ReluOp, glow.ClipOp), fuse_activation))


def activation_parameters(
    chosen: Collection[Operation], ranges: Ranges, options: QuantizationOptions
) -> dict[SSAValue, Quantization]:
    """The quantization of each value that quantized nodes read."""
    values = quantized_values(chosen, fused=options.fidelity == "fused")
    groups: dict[SSAValue, list[SSAValue]] = {}
    for value, representative in shared_scales(chosen, values).items():
        groups.setdefault(representative, []).append(value)
    parameters: dict[SSAValue, Quantization] = {}
    for members in groups.values():
        precision = ranges.precision_of(members, options.precision)
        if any(map(is_multiplied, members)):
            precision = BYTES
        limits = ranges.range_of(members, precision)
        data = Schema(options.schema, precision).parameters(*limits)
        data = fit_accumulators(data, chosen, members, options)
        parameters.update(dict.fromkeys(members, data))
    warn_constant(parameters, ranges)
    return parameters


def is_multiplied(value: SSAValue) -> bool:
    """Whether a product of two computed values reads it: its sums hold bytes only."""
    return any(is_computed_product(use.operation) for use in value.uses)


def warn_constant(values: Collection[SSAValue], ranges: Ranges) -> None:
    """Say which values were 0 throughout: no scale can be derived for them."""
    seen = {ranges.name_of(v): ranges.find(v) for v in values}
    zeros = [name for name, p in seen.items() if p and p.low == p.high == 0]
    if zeros:
        warnings.warn(
            f"always 0 in the calibration data, quantized with scale 1: {listed(zeros)}",
            stacklevel=2,
        )


def constant_parameters(
    op: Operation, options: QuantizationOptions
) -> dict[int, Quantization]:
    """How the constants are quantized that a node reads: the weights of a product, or what a
    sum or the like reads, each by its own range.
    """
    assert isinstance(op, NodeOp)
    if isinstance(op, tuple(PRODUCTS)):
        return {} if is_computed_product(op) else {1: product_weights(op, options)[1]}
    if is_affine(op):
        return {}
    schema = Schema(options.schema, options.precision)
    return {
        index: schema.parameters(float(numbers.min()), float(numbers.max()))
        for index, numbers in _constant_floats(op)
    }


def _constant_floats(op: NodeOp) -> Iterator[tuple[int, np.ndarray]]:
    for index, value in enumerate(op.inputs):
        if is_constant(value) and (array := constant_value(value)) is not None:
            numbers = np.asarray(array)
            if numbers.dtype.kind == "f":
                yield index, numbers
