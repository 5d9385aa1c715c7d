"""The passes that every network's graph goes through first, whatever the backend.

Networks that are quantized leave out `OF_FLOATS` until that is done: a function that a product
absorbs is computed in floats, one that stands alone becomes a table, each part of a convolution
that is upsampled for itself would be rounded, and each branch has a range of its own.
"""

from __future__ import annotations

from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

from glow.passes.graph.convert_gemm import ConvertGemmPass
from glow.passes.graph.eliminate_transposes import EliminateTransposesPass
from glow.passes.graph.fold_batch_norm import FoldBatchNormPass
from glow.passes.graph.fold_channel_shuffle import FoldChannelShufflePass
from glow.passes.graph.fold_constants import FoldConstantsPass
from glow.passes.graph.fold_scale import FoldScalePass
from glow.passes.graph.free_unused_weights import FreeUnusedWeightsPass
from glow.passes.graph.fuse_activation import FuseActivationPass
from glow.passes.graph.hoist_pool import HoistPoolPass
from glow.passes.graph.merge_branches import MergeBranchesPass
from glow.passes.graph.merge_weights import MergeWeightsPass
from glow.passes.graph.optimize_graph import OptimizeGraphPass
from glow.passes.graph.recognize_local_response_norm import (
    RecognizeLocalResponseNormPass,
)
from glow.passes.graph.recognize_recurrence import RecognizeRecurrencePass
from glow.passes.graph.sink_upsampling import SinkUpsamplingPass
from glow.passes.graph.verify_graph import VerifyGraphPass

OF_FLOATS = (MergeBranchesPass, SinkUpsamplingPass, FuseActivationPass)
"""The passes for what is computed in floats."""


def graph_passes(numerics: str = "default") -> list[ModulePass]:
    """The passes in order; `numerics` says how exact results must be."""
    return [
        CanonicalizePass(),
        RecognizeRecurrencePass(),
        MergeWeightsPass(),
        FoldConstantsPass(),
        ConvertGemmPass(),
        # Before transposes move into its formula, which has some around the sum of channels.
        RecognizeLocalResponseNormPass(),
        EliminateTransposesPass(),
        OptimizeGraphPass(),
        FoldBatchNormPass(),
        MergeBranchesPass(),
        EliminateTransposesPass(),
        FoldScalePass(),
        HoistPoolPass(),
        FoldConstantsPass(),
        CanonicalizePass(),
        SinkUpsamplingPass(),
        FuseActivationPass(),
        FoldChannelShufflePass(numerics),
        MergeWeightsPass(),
        FreeUnusedWeightsPass(),
        VerifyGraphPass(),
    ]
