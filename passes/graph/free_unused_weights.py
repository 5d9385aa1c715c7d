"""Drops the weight table's entries that no constant refers to any more.

Passes that compute new weights leave the old entries behind, because another constant
may share them; only a look at the whole module can tell. Run it last, so that a model
holds its weights once.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.weights import free_unused_weights
from glow.passes.rewriting.contract import NODES, GraphPass
from glow.passes.rewriting.node_builder import erase_dead_nodes


class FreeUnusedWeightsPass(GraphPass):
    """Erase dead nodes and the weights that they alone used."""

    name = "free-unused-weights"
    requires = ensures = (NODES,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        erase_dead_nodes(op)
        free_unused_weights(op)
