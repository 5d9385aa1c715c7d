"""Passes on the graph of `glow` nodes: the level stays, the network gets smaller.

One file, one pass, one name; nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass


def _lazy(module: str, class_name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        return getattr(import_module(f"glow.passes.graph.{module}"), class_name)

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "commute-pools": _lazy("commute_pools", "CommutePoolsPass"),
    "convert-gemm": _lazy("convert_gemm", "ConvertGemmPass"),
    "convert-placeholders": _lazy("convert_placeholders", "ConvertPlaceholdersPass"),
    "eliminate-transposes": _lazy("eliminate_transposes", "EliminateTransposesPass"),
    "fold-batch-norm": _lazy("fold_batch_norm", "FoldBatchNormPass"),
    "fold-channel-shuffle": _lazy("fold_channel_shuffle", "FoldChannelShufflePass"),
    "fold-constants": _lazy("fold_constants", "FoldConstantsPass"),
    "fold-dilation": _lazy("fold_dilation", "FoldDilationPass"),
    "fold-pads": _lazy("fold_pads", "FoldPadsPass"),
    "fold-scale": _lazy("fold_scale", "FoldScalePass"),
    "fold-transposes": _lazy("fold_transposes", "FoldTransposesPass"),
    "free-unused-weights": _lazy("free_unused_weights", "FreeUnusedWeightsPass"),
    "fuse-activation": _lazy("fuse_activation", "FuseActivationPass"),
    "hoist-pool": _lazy("hoist_pool", "HoistPoolPass"),
    "merge-products": _lazy("merge_products", "MergeProductsPass"),
    "merge-weights": _lazy("merge_weights", "MergeWeightsPass"),
    "optimize-graph": _lazy("optimize_graph", "OptimizeGraphPass"),
    "reassociate": _lazy("reassociate", "ReassociatePass"),
    "recognize-activations": _lazy("recognize_activations", "RecognizeActivationsPass"),
    "recognize-attention": _lazy("recognize_attention", "RecognizeAttentionPass"),
    "recognize-gelu": _lazy("recognize_gelu", "RecognizeGeluPass"),
    "recognize-normalizations": _lazy(
        "recognize_normalizations", "RecognizeNormalizationsPass"
    ),
    "recompute": _lazy("recompute", "RecomputePass"),
    "shrink-convolutions": _lazy("shrink_convolutions", "ShrinkConvolutionsPass"),
    "sink-reshapes": _lazy("sink_reshapes", "SinkReshapesPass"),
    "verify-graph": _lazy("verify_graph", "VerifyGraphPass"),
}
"""Pass name to factory."""
