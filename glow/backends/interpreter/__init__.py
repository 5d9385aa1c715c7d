"""The interpreter as a backend: the reference that the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, CompiledFunction

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.dialects.node import NodeOp


class InterpreterBackend(Backend):
    """Executes the graph as it is."""

    name = "interpreter"

    def keeps(self, op: NodeOp) -> bool:
        """Everything: it runs every node as it is."""
        return True

    def lowered_passes(
        self, target: str, numerics: str, weight_growth: float
    ) -> Sequence[str]:
        """Nodes of their own for what it runs in one step."""
        return ("recognize-attention",)

    def compile(
        self, module: ModuleOp, target: str, threads: int | None
    ) -> CompiledFunction:
        """The module, run node by node."""
        from glow.backends.interpreter.interpreted_function import InterpretedFunction

        return InterpretedFunction(module)
