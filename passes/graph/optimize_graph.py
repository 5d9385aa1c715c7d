"""The rewrites that the default pipeline runs together, in one walk until nothing changes.

Each theme is a pass of its own, for reading and testing; here their tables are joined, so
that a network is walked once for many of them and what one finds helps the others:

    recognize-activations, -gelu, -normalizations,
    recognize-local-response-norm                      decomposed functions, then
    fold-dilation, fold-pads, shrink-convolutions      windows
    sink-reshapes, fold-transposes, commute-pools      movement out of the way
    reassociate                                        constants into weights
    narrow-gathers                                     what nobody reads
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from glow.passes.graph.commute_pools import CommutePoolsPass
from glow.passes.graph.fold_dilation import FoldDilationPass
from glow.passes.graph.fold_pads import FoldPadsPass
from glow.passes.graph.fold_transposes import FoldTransposesPass
from glow.passes.graph.narrow_gathers import NarrowGathersPass
from glow.passes.graph.reassociate import ReassociatePass
from glow.passes.graph.recognize_activations import RecognizeActivationsPass
from glow.passes.graph.recognize_gelu import RecognizeGeluPass
from glow.passes.graph.recognize_local_response_norm import (
    RecognizeLocalResponseNormPass,
)
from glow.passes.graph.recognize_normalizations import RecognizeNormalizationsPass
from glow.passes.graph.shrink_convolutions import ShrinkConvolutionsPass
from glow.passes.graph.sink_reshapes import SinkReshapesPass
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.patterns import RewritePass, combined, rewrite_until_stable

PHASES: tuple[tuple[type[RewritePass], ...], ...] = (
    (
        RecognizeActivationsPass, RecognizeGeluPass, RecognizeNormalizationsPass,
        RecognizeLocalResponseNormPass,
    ),
    (
        FoldDilationPass, FoldPadsPass, ShrinkConvolutionsPass, SinkReshapesPass,
        FoldTransposesPass, CommutePoolsPass, ReassociatePass, NarrowGathersPass,
    ),
)  # fmt: skip
"""Functions are recognised first: the others take their constants away."""


class OptimizeGraphPass(RewritePass):
    """Run the rewrites of several themes together."""

    name = "optimize-graph"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for themes in PHASES:
            rewrite_until_stable(op, combined(*(theme.rewrites for theme in themes)))
