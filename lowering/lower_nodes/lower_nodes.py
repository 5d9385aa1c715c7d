"""Lowers high-level nodes to primitives, as far as the backend wants it.

Every node has at most one lowering, a function in a table by class; nodes that
are legal for the backend stay. New nodes are visited again, since a lowering may use others.

    %1 = glow.batch_norm %0, %s, %b, %m, %v : tensor<1x8x4x4xf32>
  becomes
    %2 = glow.mul %0, %scale : tensor<1x8x4x4xf32>
    %1 = glow.add %2, %shift : tensor<1x8x4x4xf32>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.lowering.lower_nodes import (
    attention,
    elementwise,
    fake_quantization,
    indexing,
    loss,
    movement,
    normalization,
    optimizers,
    products,
    recurrent,
    sampling,
    training,
    transposed_convolution,
)
from glow.lowering.lower_nodes.legality import Legality, legality_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.operations import all_operations
from glow.passes.rewriting.volume_convolution import conv3d

Lowering = Callable[[Operation], None]

LOWERINGS: dict[type[Operation], Lowering] = {
    **elementwise.LOWERINGS,
    **normalization.LOWERINGS,
    **products.LOWERINGS,
    glow.Conv3dOp: conv3d,
    **transposed_convolution.LOWERINGS,
    **movement.LOWERINGS,
    **recurrent.LOWERINGS,
    **attention.LOWERINGS,
    **indexing.LOWERINGS,
    **sampling.LOWERINGS,
    **loss.LOWERINGS,
    **optimizers.LOWERINGS,
    **training.LOWERINGS,
    **fake_quantization.LOWERINGS,
}
"""Node class to the function that replaces such a node."""


def is_erased(op: Operation) -> bool:
    """Whether a rewrite has taken the operation out of its block."""
    return op.parent is None


def should_lower(op: NodeOp, backend: Legality) -> bool:
    """Whether a backend wants a node as primitives, and those compute on its elements.

    Integer arithmetic has a rounding that the primitives of numbers lack; it is
    `lower-quantized` that takes it apart.
    """
    return not op.is_quantized and not backend.is_legal(op)


def lower_nodes(module: ModuleOp, backend: Legality) -> None:
    """Lower the nodes that the backend does not keep, until none is left."""
    pending = all_operations(module)
    while pending:
        lowered = False
        for op in pending:
            lowering = LOWERINGS.get(type(op))
            if lowering is None or op.parent is None:
                continue
            if isinstance(op, NodeOp) and should_lower(op, backend):
                lowering(op)
                lowered |= is_erased(op)
        pending = all_operations(module) if lowered else []


@dataclass(frozen=True)
class LowerNodesPass(ModulePass):
    """Lower high-level nodes; `backend` (cpu, interpreter, none) says which are legal."""

    name = "lower-nodes"
    preserves = VALUES

    backend: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        lower_nodes(op, legality_of(self.backend))
