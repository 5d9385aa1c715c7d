"""The interpreter as a backend: the reference that the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import Backend, CompiledFunction
from glow.dialects.glow import BroadcastOp, ConstantOp, SplatOp
from glow.dialects.node import NodeOp, node_name
from glow.dialects.weight_table import Array
from glow.interpreter import run
from glow.passes.graph.fold_constants import bytes_of
from glow.runtime.memory import check_memory

VIEWS = (ConstantOp, SplatOp, BroadcastOp)
"""Nodes whose results take no memory of their own."""


class InterpretedFunction:
    """Runs a module's graph with NumPy."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for the given inputs."""
        return run(self._module, inputs)


class InterpreterBackend(Backend):
    """Executes the graph as it is."""

    name = "interpreter"

    def should_lower(self, op: NodeOp) -> bool:
        """Nothing needs lowering."""
        return False

    def lowered_passes(
        self, target: str, numerics: str, weight_growth: float
    ) -> Sequence[str]:
        """Nodes of their own for what it runs in one step."""
        return ("recognize-attention",)

    def compile(
        self, module: ModuleOp, target: str, threads: int | None
    ) -> CompiledFunction:
        """The module, run node by node."""
        for op in module.walk():
            if isinstance(op, NodeOp) and not isinstance(op, VIEWS):
                size = sum(map(bytes_of, op.results))
                check_memory({f"the results of node '{node_name(op)}'": size})
        return InterpretedFunction(module)
