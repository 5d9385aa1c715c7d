"""The backend: what it adds to the CPU's, and what it replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.backend import DialectFactory, PassFactory, ReferenceFunction
from glow.backends.cpu import CpuBackend
from glow.backends.pipeline import Pipeline
from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.options import CompileOptions
from glow_npu.dialect import DenseReluOp, Npu, run_dense_relu
from glow_npu.form_dense_relu import FormDenseReluPass

if TYPE_CHECKING:
    from glow.backends.cpu.extension import Selectors


class NpuBackend(CpuBackend):
    """Has a dense layer with ReLU in one step, and no softmax."""

    name = "npu"

    def dialects(self) -> Mapping[str, DialectFactory]:
        """Its own nodes beside the CPU's."""
        return {**super().dialects(), "npu": lambda: Npu}

    def passes(self) -> Mapping[str, PassFactory]:
        """The pass that makes its node beside the CPU's passes."""
        return {**super().passes(), FormDenseReluPass.name: lambda: FormDenseReluPass}

    def reference_functions(
        self, module: ModuleOp
    ) -> Mapping[type[Operation], ReferenceFunction]:
        """What its node computes, for the interpreter."""
        return {**super().reference_functions(module), DenseReluOp: run_dense_relu}

    def is_legal(self, op: NodeOp) -> bool:
        """What is legal for the CPU, but for softmax."""
        return not isinstance(op, glow.SoftmaxOp) and super().is_legal(op)

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """The CPU's, after its node is made."""
        pipeline = super().pipeline(options)
        return pipeline.change("lowered", lambda passes: [FormDenseReluPass(), *passes])

    def selectors(self) -> Selectors:
        """The CPU's kernels, one row added and one replaced; imported when code is made."""
        from glow_npu.kernels import SELECTORS

        return {**super().selectors(), **SELECTORS}
