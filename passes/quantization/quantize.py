"""Profile-guided quantization: the whole of it on one screen.

A network that has casts already (from quantization-aware training) keeps its scales.
Any other is given casts from a profile, or from seeded synthetic inputs, and then both
go the same way: casts cancel or move, and nodes between them become integer nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.quantized import any_quantized
from glow.interpreter.quantized import REQUANTIZE
from glow.passes.graph.fold_pads import FoldPadsPass
from glow.passes.graph.free_unused_weights import FreeUnusedWeightsPass
from glow.passes.quantization.block_weights import quantize_block_weights
from glow.passes.quantization.dynamic import per_row_quantize
from glow.passes.quantization.embeddings import quantize_embeddings
from glow.passes.quantization.insert_casts import insert_casts
from glow.passes.quantization.integer.absorb_relus import absorb_relus
from glow.passes.quantization.integer.convert_quantized_gemm import (
    convert_quantized_gemm,
)
from glow.passes.quantization.integer.fold_casts import fold_casts
from glow.passes.quantization.integer.fold_computed_weights import (
    fold_computed_weights,
)
from glow.passes.quantization.integer.fold_rescale import fold_rescale
from glow.passes.quantization.integer.fold_storage_casts import fold_storage_casts
from glow.passes.quantization.integer.form_dynamic_products import form_dynamic_products
from glow.passes.quantization.integer.form_integer_nodes import form_integer_nodes
from glow.passes.quantization.integer.fuse_sums import fuse_sums
from glow.passes.quantization.integer.integer_interface import integer_interface
from glow.passes.quantization.integer.merge_lookup_tables import (
    merge_lookup_tables,
)
from glow.passes.quantization.integer.simplify_bounds import simplify_bounds
from glow.passes.quantization.options import OF_BLOCKS, QuantizationOptions
from glow.passes.quantization.plan import (
    plan_quantization,
    prepare_network,
    quantizes_per_row,
)
from glow.passes.quantization.profiling.instrument_profile import functions_of
from glow.passes.quantization.profiling.profile import Profile
from glow.passes.quantization.selection import (
    check_keep,
    is_kept,
    is_linear_layer,
)
from glow.passes.rewriting.contract import MEANING
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.volume_convolution import volumes_as_planes


def is_quantized_module(module: ModuleOp) -> bool:
    """Whether a program has quantized elements, or integer products, already."""
    return any(
        isinstance(op, glow.DynamicQuantizeOp)
        or any_quantized([result.type for result in op.results])
        for op in all_operations(module)
    )


def quantize_linear_layers(module: ModuleOp, options: QuantizationOptions) -> None:
    """Make linear layers quantize their rows, where that is chosen."""
    if not quantizes_per_row(module, options):
        return
    for op in all_operations(module):
        if is_linear_layer(op) and not is_kept(op, options.keep):
            per_row_quantize(op, per_channel=options.per_channel)


def add_casts(
    module: ModuleOp, profile: Profile | None, options: QuantizationOptions
) -> None:
    """Cast what is planned; where weights alone are quantized, nothing is."""
    if options.activations in OF_BLOCKS:
        check_keep(module, options.keep)
        quantize_block_weights(module, options)
        quantize_embeddings(module, options)
        return
    volumes_as_planes(module)
    options = prepare_network(module, profile, options)
    quantize_linear_layers(module, options)
    quantize_embeddings(module, options)
    for function in functions_of(module):
        plan = plan_quantization(function, profile, options)
        if plan is not None:
            insert_casts(function, plan, options)


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
    fold_computed_weights(module)
    fold_casts(module)
    form_integer_nodes(module)
    if has_ranges:
        absorb_relus(module)
        FoldPadsPass().apply(
            Context(), module
        )  # Casts were between padding and windows.
    else:
        simplify_bounds(module)
        fold_rescale(module)
    merge_lookup_tables(module)
    if options.interface == "integer":
        integer_interface(module)
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
    weights: str = "int8"
    requantize: str = "auto"
    bias: str = "int32"
    bias_correction: bool = True
    equalization: bool = True
    fidelity: str = "strict"
    embeddings: str = "float"
    attention: str = "float"
    interface: str = "float"
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
