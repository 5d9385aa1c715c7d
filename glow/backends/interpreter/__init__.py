"""The interpreter as a backend: the reference that the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from glow.backends.backend import Backend, CompiledFunction
from glow.dialects.node import NodeOp
from glow.dialects.weight_table import Array
from glow.interpreter import run


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

    def lowered_passes(self, target: str, numerics: str) -> Sequence[str]:
        """Nodes of their own for what it runs in one step."""
        return ("recognize-attention",)

    def compile(
        self, module: ModuleOp, target: str, threads: int | None
    ) -> CompiledFunction:
        """The module, run node by node."""
        return InterpretedFunction(module)
