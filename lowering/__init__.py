"""From one level to the next, for all backends; each pass is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def _lazy(module: str, class_name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        return getattr(import_module(f"glow.lowering.{module}"), class_name)

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "eliminate-empty-tensors": _lazy(
        "eliminate_empty_tensors", "EliminateEmptyTensorsPass"
    ),
    "glow-to-instr": _lazy("glow_to_instr", "GlowToInstrPass"),
    "lower-nodes": _lazy("lower_nodes.lower_nodes", "LowerNodesPass"),
    "lower-quantized": _lazy("lower_quantized.lower_quantized", "LowerQuantizedPass"),
    "verify-lowered": _lazy("verify_lowered", "VerifyLoweredPass"),
}
"""Pass name to factory."""
