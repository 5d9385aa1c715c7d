"""The CPU backend: blocked layouts, fused kernels, native code through LLVM."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.backend import Backend, CompiledFunction
from glow.dialects.node import NodeOp


class CpuBackend(Backend):
    """Compiles for this machine, or ahead of time for another."""

    name = "cpu"

    def should_lower(self, op: NodeOp) -> bool:
        """What the kernels do not cover."""
        from glow.lowering.lower_nodes.keeps import cpu_keeps

        return not cpu_keeps(op)

    def prefers_f32(self, op: Operation, target: str, numerics: str) -> bool:
        """Products without dot products of pairs, and those with few multiplications."""
        from glow.backends.cpu.passes.half_kernels import prefers_f32
        from glow.lowering.target.target import Target

        return prefers_f32(op, Target.from_string(target), numerics)

    def lowered_passes(
        self, target: str, numerics: str, weight_growth: float
    ) -> Sequence[str]:
        """Node lowering, then layouts, packed weights, fused pools and epilogues.

        Transpositions behind an epilogue are absorbed after it is made.
        """
        return (
            "eliminate-empty-tensors",
            "lower-quantized{keep-products=true}",
            f"widen-elements{{target={target}}}",
            "recognize-attention",
            "lower-nodes{backend=cpu}",
            "fold-constants",
            f"store-half{{target={target}}}",
            f"split-batch{{target={target}}}",
            f"assign-layout{{target={target} numerics={numerics} "
            f"weight_growth={weight_growth:f}}}",
            "cancel-packs",
            "canonicalize",
            "cse",
            "absorb-transposes",
            "fuse-pool",
            "fuse-epilogue",
            "absorb-transposes",
            "dce",
            "free-unused-weights",
            "verify-lowered{backend=cpu}",
        )

    def instr_passes(self, target: str) -> Sequence[str]:
        """Buffers, then fewer copies, stacked loops, shared buffers, one arena."""
        return (
            "glow-to-instr",
            "eliminate-copies",
            "schedule-for-memory",
            "stack-data-parallel",
            "share-buffers",
            "eliminate-dead-stores",
            "plan-memory",
            "verify-instr",
        )

    def compile(
        self, module: ModuleOp, target: str, threads: int | None
    ) -> CompiledFunction:
        """Native code of the module's main function."""
        from glow.backends.cpu.native_function import build_native_function
        from glow.lowering.target.target import runnable_target

        return build_native_function(module, runnable_target(target), threads)
