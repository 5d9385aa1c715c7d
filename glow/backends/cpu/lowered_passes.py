"""From an optimized graph to blocked layouts, packed weights and fused nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import (
    CommonSubexpressionElimination,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from glow.backends.cpu.layout.assign_layout import AssignLayoutPass
from glow.backends.cpu.passes.absorb_transposes import AbsorbTransposesPass
from glow.backends.cpu.passes.cancel_packs import CancelPacksPass
from glow.backends.cpu.passes.choose_configs import ChooseConfigsPass
from glow.backends.cpu.passes.fp16_storage import Fp16StoragePass
from glow.backends.cpu.passes.fuse_epilogue import FuseEpiloguePass
from glow.backends.cpu.passes.fuse_pool import FusePoolPass
from glow.backends.cpu.passes.fuse_rows import FuseRowsPass
from glow.backends.cpu.passes.phases_first import PhasesFirstPass
from glow.backends.cpu.passes.promote_types import PromoteTypesPass
from glow.backends.cpu.passes.repeat_constants import RepeatConstantsPass
from glow.backends.cpu.passes.split_batch import SplitBatchPass
from glow.backends.cpu.passes.split_channels import SplitChannelsPass
from glow.lowering.eliminate_empty_tensors import EliminateEmptyTensorsPass
from glow.lowering.lower_nodes.lower_nodes import LowerNodesPass
from glow.lowering.lower_quantized.lower_quantized import LowerQuantizedPass
from glow.lowering.verify_lowered import VerifyLoweredPass
from glow.passes.graph.fold_constants import FoldConstantsPass
from glow.passes.graph.free_unused_weights import FreeUnusedWeightsPass
from glow.passes.graph.recognize_attention import RecognizeAttentionPass

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from glow.options import CompileOptions


def lowered_passes(options: CompileOptions) -> list[ModulePass]:
    """Node lowering, then layouts, packed weights, fused pools and epilogues.

    Transpositions behind an epilogue are absorbed after it is made.
    """
    backend, target = options.backend, options.target
    return [
        EliminateEmptyTensorsPass(),
        PhasesFirstPass(),
        SplitChannelsPass(target),
        LowerQuantizedPass(backend),
        # Nodes of floats are lowered by what is constant, as their weights of bytes are then.
        FoldConstantsPass(),
        RecognizeAttentionPass(),
        PromoteTypesPass(target, backend, excess=options.numerics != "exact"),
        LowerNodesPass(backend),
        FoldConstantsPass(),
        Fp16StoragePass(target),
        SplitBatchPass(target),
        AssignLayoutPass(
            target,
            options.numerics,
            options.weight_growth,
            options.shares_constants,
            options.free_weight_bytes,
        ),
        CancelPacksPass(),
        CanonicalizePass(),
        CommonSubexpressionElimination(),
        RepeatConstantsPass(target),
        AbsorbTransposesPass(),
        FusePoolPass(),
        FuseEpiloguePass(),
        FuseRowsPass(),
        AbsorbTransposesPass(),
        ChooseConfigsPass(target),
        DeadCodeElimination(),
        FreeUnusedWeightsPass(),
        VerifyLoweredPass(backend),
    ]
