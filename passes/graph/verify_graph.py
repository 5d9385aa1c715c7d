"""The contract of the graph level: typed `glow` nodes in functions, nothing else.

Passes rely on it instead of checking; pipelines run it where the level begins.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from glow.dialects.errors import GlowError
from glow.dialects.node import node_name
from glow.passes.rewriting.contract import GRAPH_DIALECTS, GraphPass
from glow.passes.rewriting.operations import all_operations


def check_dialects(module: ModuleOp, level: str, dialects: tuple[str, ...]) -> None:
    """Raise GlowError for the first operation of another dialect."""
    for op in all_operations(module):
        dialect = op.name.partition(".")[0]
        if dialect not in dialects:
            raise GlowError(
                f"{op.name} does not belong to the {level} level, which has "
                f"operations of {', '.join(dialects)}",
                node=node_name(op),
            )


class VerifyGraphPass(GraphPass):
    """Verify the contract of the graph level."""

    name = "verify-graph"
    requires = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        check_dialects(op, "graph", GRAPH_DIALECTS)
        op.verify()
