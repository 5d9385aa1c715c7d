"""The CPU backend's passes; each is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass


def _lazy(module: str, class_name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        return getattr(import_module(f"glow.backends.cpu.{module}"), class_name)

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "absorb-transposes": _lazy("passes.absorb_transposes", "AbsorbTransposesPass"),
    "assign-layout": _lazy("layout.assign_layout", "AssignLayoutPass"),
    "cancel-packs": _lazy("passes.cancel_packs", "CancelPacksPass"),
    "fuse-epilogue": _lazy("passes.fuse_epilogue", "FuseEpiloguePass"),
    "fuse-pool": _lazy("passes.fuse_pool", "FusePoolPass"),
    "instr-to-loops": _lazy("passes.instr_to_loops", "InstrToLoopsPass"),
    "record-kernels": _lazy("report.kernel_log", "RecordKernelsPass"),
    "split-batch": _lazy("passes.split_batch", "SplitBatchPass"),
    "fp16-storage": _lazy("passes.fp16_storage", "Fp16StoragePass"),
    "promote-types": _lazy("passes.promote_types", "PromoteTypesPass"),
}
"""Pass name to factory."""
