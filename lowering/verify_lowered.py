"""The contract of the lowered level: no node is left that the backend wants lowered.

The level has `glow` nodes and the backend's own, loops over them, and scalar code in their
regions.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from glow.backends.backend import backends_in, get_backend
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, node_name
from glow.lowering.lower_nodes.legality import NONE, legality_of
from glow.lowering.lower_nodes.lower_nodes import LOWERINGS
from glow.passes.graph.verify_graph import check_dialects
from glow.passes.rewriting.contract import GRAPH_DIALECTS
from glow.passes.rewriting.operations import all_operations


@dataclass(frozen=True)
class VerifyLoweredPass(ModulePass):
    """Verify the contract of the lowered level for a backend."""

    name = "verify-lowered"

    backend: str = "cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        legality = legality_of(self.backend)
        own = () if self.backend == NONE else get_backend(self.backend).dialects()
        check_dialects(op, "lowered", (*GRAPH_DIALECTS, *own))
        for child in all_operations(op):
            if not isinstance(child, NodeOp) or type(child) not in LOWERINGS:
                continue
            if not legality.is_legal(child):
                raise GlowError(
                    f"{child.name} must be lowered for backend '{self.backend}'",
                    node=node_name(child),
                    hint="run lower-nodes first",
                )
        op.verify()
        for backend in backends_in(op):
            backend.verify(op)
