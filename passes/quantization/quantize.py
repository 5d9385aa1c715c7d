"""Profile-guided quantization: the whole of it on one screen.

A network that has casts already (from quantization-aware training) keeps its scales.
Any other is given casts from a profile, or from seeded synthetic inputs, and then both
go the same way: casts cancel or move, and nodes between them become integer nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.quantized import any_quantized
from glow.interpreter.quantized import REQUANTIZE
from glow.passes.graph.free_unused_weights import FreeUnusedWeightsPass
from glow.passes.graph.fuse_activation import fuse_activation
from glow.passes.quantization.adjustment.equalize_layers import equalize_layers
from glow.passes.quantization.adjustment.smooth_quant import smooth_channels
from glow.passes.quantization.dynamic import per_row_quantize
from glow.passes.quantization.embeddings import quantize_embeddings
from glow.passes.quantization.insert_casts import insert_casts
from glow.passes.quantization.integer.convert_quantized_gemm import (
    convert_quantized_gemm,
)
from glow.passes.quantization.integer.fold_casts import fold_casts
from glow.passes.quantization.integer.fold_rescale import fold_rescale
from glow.passes.quantization.integer.fold_storage_casts import fold_storage_casts
from glow.passes.quantization.integer.form_dynamic_products import form_dynamic_products
from glow.passes.quantization.integer.form_integer_nodes import form_integer_nodes
from glow.passes.quantization.integer.fuse_sums import fuse_sums
from glow.passes.quantization.integer.simplify_bounds import simplify_bounds
from glow.passes.quantization.options import QuantizationOptions
from glow.passes.quantization.profiling.instrument_profile import (
    functions_of,
    value_names,
)
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.profiling.ranges import (
    Ranges,
    synthetic_profile,
    warn_synthetic,
)
from glow.passes.quantization.selection import (
    check_keep,
    is_computed_product,
    is_kept,
    is_linear_layer,
    quantized_values,
    select_nodes,
)
from glow.passes.rewriting.contract import MEANING
from glow.passes.rewriting.node_builder import rewrite_nodes


def is_quantized_module(module: ModuleOp) -> bool:
    """Whether a program has quantized elements, or integer products, already."""
    return any(
        isinstance(op, glow.DynamicQuantizeOp)
        or any_quantized([result.type for result in op.results])
        for op in module.walk()
    )


def is_transformer(module: ModuleOp) -> bool:
    """Whether rows of activations have outliers that one scale cannot serve."""
    return any(isinstance(op, glow.LayerNormOp) for op in module.walk())


def quantizes_per_row(module: ModuleOp, options: QuantizationOptions) -> bool:
    """Whether linear layers quantize their rows while the network runs."""
    return options.activations == "per-row" or (
        options.activations == "auto" and is_transformer(module)
    )


def quantize_linear_layers(module: ModuleOp, options: QuantizationOptions) -> None:
    """Make linear layers quantize their rows, where that is chosen."""
    if not quantizes_per_row(module, options):
        return
    for op in list(module.walk()):
        if is_linear_layer(op) and not is_kept(op, options.keep):
            per_row_quantize(op, per_channel=options.per_channel)


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


def quantize_function(
    function: FuncOp, profile: Profile | None, options: QuantizationOptions
) -> None:
    """Cast what a function computes on, by a profile."""
    chosen = choose_nodes(function, options)
    values = quantized_values(chosen, fused=options.fidelity == "fused")
    if not values:
        return
    if profile is None:
        warn_synthetic()
        profile = synthetic_profile(_module_of(function))
    Ranges(profile, value_names(function), options.calibration).require(values)
    names, profile = even_out_channels(function, profile, options)
    chosen = choose_nodes(function, options)
    ranges = Ranges(profile, names, options.calibration)
    insert_casts(function, chosen, ranges, options)


def _module_of(function: FuncOp) -> ModuleOp:
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    return module


def fuse_bounds(module: ModuleOp) -> None:
    """Let products absorb ReLU and clip, so that ranges are those behind them."""
    rewrite_nodes(module, dict.fromkeys((glow.ReluOp, glow.ClipOp), fuse_activation))


def add_casts(
    module: ModuleOp, profile: Profile | None, options: QuantizationOptions
) -> None:
    """Fuse bounds first; then cast."""
    if profile is not None:
        options = replace(options, keep=(*options.keep, *profile.keep))
    check_keep(module, options.keep)
    fuse_bounds(module)
    functions = functions_of(module)
    if profile is None and len(functions) > 1:
        raise GlowError(
            "several functions need a profile", hint="give --quantize=profile=..."
        )
    quantize_linear_layers(module, options)
    quantize_embeddings(module, options)
    for function in functions:
        quantize_function(function, profile, options)


def quantize_module(
    module: ModuleOp,
    profile: Profile | None = None,
    options: QuantizationOptions | None = None,
) -> None:
    """Quantize a graph in place; without a profile, by ranges that it has, or random inputs."""
    options = options or QuantizationOptions()
    has_ranges = profile is None and is_quantized_module(module)
    if not has_ranges:
        add_casts(module, profile, options)
    if options.requantize == "fixed":
        module.attributes[REQUANTIZE] = StringAttr("fixed")
    form_dynamic_products(module)
    fold_storage_casts(module)
    convert_quantized_gemm(module)
    if options.fidelity == "fused":
        fuse_sums(module)
    fold_casts(module)
    form_integer_nodes(module)
    if not has_ranges:
        simplify_bounds(module)
        fold_rescale(module)
    FreeUnusedWeightsPass().apply(Context(), module)


@dataclass(frozen=True)
class InsertCastsPass(ModulePass):
    """Choose what is quantized, and how; see `QuantizationOptions`."""

    name = "insert-casts"
    preserves = MEANING

    profile: str | None = None
    schema: str = "asymmetric"
    precision: str = "int8"
    per_channel: bool = True
    calibration: str = "minmax"
    activations: str = "auto"
    requantize: str = "float"
    bias: str = "int32"
    bias_correction: bool = True
    equalization: bool = True
    fidelity: str = "strict"
    embeddings: str = "float"
    attention: str = "float"
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.options()  # Raises GlowError for a choice that there is not.

    def options(self) -> QuantizationOptions:
        """The options without the profile."""
        names = [entry.name for entry in fields(QuantizationOptions)]
        return QuantizationOptions(**{name: getattr(self, name) for name in names})

    def read_profile(self) -> Profile | None:
        """The profile that is named, or None."""
        return None if self.profile is None else Profile.load(self.profile)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        add_casts(op, self.read_profile(), self.options())


@dataclass(frozen=True)
class QuantizePass(InsertCastsPass):
    """Quantize a network; see `QuantizationOptions`."""

    name = "quantize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        quantize_module(op, self.read_profile(), self.options())
