"""Passes on the graph of `glow` nodes: the level stays, the network gets smaller.

One file, one pass, one name; nothing is imported before it is used.
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_pass, lazy_passes

PASSES = lazy_passes(
    "glow.passes.graph",
    "commute_pools",
    "convert_constants_to_variables",
    "convert_gemm",
    "convert_placeholders",
    "eliminate_transposes",
    "fold_batch_norm",
    "fold_channel_shuffle",
    "fold_constants",
    "fold_dilation",
    "fold_pads",
    "fold_scale",
    "fold_transposes",
    "free_unused_weights",
    "fuse_activation",
    "hoist_pool",
    "merge_branches",
    "merge_products",
    "merge_weights",
    "narrow_gathers",
    "optimize_graph",
    "reassociate",
    "recognize_activations",
    "recognize_attention",
    "recognize_gelu",
    "recognize_local_response_norm",
    "recognize_normalizations",
    "recognize_recurrence",
    "recompute",
    "shrink_convolutions",
    "sink_reshapes",
    "sink_upsampling",
    "training_mode",
    "verify_graph",
) | {
    "differentiate": lazy_pass(
        "glow.passes.graph.differentiate.differentiate", "DifferentiatePass"
    )
}
"""Pass name to factory."""
