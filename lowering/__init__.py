"""From one level to the next; every lowering is a pass, imported when it is used."""

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
    "absorb-transposes": _lazy("absorb_transposes", "AbsorbTransposesPass"),
    "assign-layout": _lazy("assign_layout.assign_layout", "AssignLayoutPass"),
    "cancel-packs": _lazy("cancel_packs", "CancelPacksPass"),
    "eliminate-empty-tensors": _lazy(
        "eliminate_empty_tensors", "EliminateEmptyTensorsPass"
    ),
    "fuse-epilogue": _lazy("fuse_epilogue", "FuseEpiloguePass"),
    "fuse-pool": _lazy("fuse_pool", "FusePoolPass"),
    "glow-to-instr": _lazy("glow_to_instr", "GlowToInstrPass"),
    "instr-to-loops": _lazy("instr_to_loops.instr_to_loops", "InstrToLoopsPass"),
    "lower-nodes": _lazy("lower_nodes.lower_nodes", "LowerNodesPass"),
    "lower-quantized": _lazy("lower_quantized.lower_quantized", "LowerQuantizedPass"),
    "record-kernels": _lazy("instr_to_loops.kernel_log", "RecordKernelsPass"),
    "split-batch": _lazy("split_batch", "SplitBatchPass"),
    "store-half": _lazy("store_half", "StoreHalfPass"),
    "verify-lowered": _lazy("verify_lowered", "VerifyLoweredPass"),
    "widen-elements": _lazy("widen_elements", "WidenElementsPass"),
}
"""Pass name to factory."""
