"""A module's graph, run with NumPy."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from glow.dialects.glow import BroadcastOp, ConstantOp, SplatOp
from glow.dialects.node import NodeOp, node_name
from glow.dialects.weight_table import Array
from glow.interpreter import run
from glow.passes.graph.fold_constants import bytes_of
from glow.runtime.memory import check_memory

VIEWS = (ConstantOp, SplatOp, BroadcastOp)
"""Nodes whose results take no memory of their own."""


class InterpretedFunction:
    """Runs a module node by node; raises GlowError where its values exceed the memory."""

    def __init__(self, module: ModuleOp) -> None:
        for op in module.walk():
            if isinstance(op, NodeOp) and not isinstance(op, VIEWS):
                size = sum(map(bytes_of, op.results))
                check_memory({f"the results of node '{node_name(op)}'": size})
        self._module = module

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for the given inputs."""
        return run(self._module, inputs)
