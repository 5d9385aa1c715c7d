"""The interpreter as a backend: the reference that the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, CompiledFunction, Device

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.backends.pipeline import Pipeline
    from glow.dialects.node import NodeOp
    from glow.options import CompileOptions


class InterpreterBackend(Backend):
    """Executes the graph as it is."""

    name = "interpreter"

    def is_legal(self, op: NodeOp) -> bool:
        """Every node: it runs them as they are."""
        return True

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """Nodes of their own for what it runs in one step."""
        from glow.backends.pipeline import LOWERED, Passes, Phase, Pipeline, graph_phase

        def lowered() -> Passes:
            from glow.passes.graph.recognize_attention import RecognizeAttentionPass

            return [RecognizeAttentionPass()]

        return Pipeline(
            [graph_phase(options), Phase(LOWERED, "what it runs in one step", lowered)],
            compile_from=LOWERED,
        )

    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        """The module, run node by node."""
        from glow.backends.interpreter.interpreted_function import InterpretedFunction

        return InterpretedFunction(module)

    def devices(self) -> Sequence[Device]:
        """This machine, of which it uses one core."""
        from glow.backends.host_device import host_device

        return (host_device(self.name),)
