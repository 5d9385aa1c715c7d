"""What other packages build kernels of: a backend that derives from `CpuBackend` adds rows.

A selector maps an instruction to kernels, each a specification with its builder:

    def dense_relu(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
        spec = BatchMatmulSpec.dense((), rows, columns, depth, has_bias=True)
        return invoke("dense_relu", spec, build_batch_matmul, [op.outs[0], *op.ins])

`examples/backend` is such a backend. Of the other modules of this folder nothing is promised.
"""

from glow.backends.cpu.kernels.elementwise.kernel import (
    ElementwiseSpec,
    build_elementwise,
)
from glow.backends.cpu.kernels.matmul.batch_matmul import build_batch_matmul
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.reduction.structured import (
    Affine,
    Dimension,
    Operand,
    StructuredSpec,
    Window,
    build_structured,
)
from glow.backends.cpu.program.kernel_table import Selectors
from glow.backends.cpu.program.program import Invocation, KernelSelector, Repetition
from glow.backends.cpu.selection import SELECTORS as CPU_SELECTORS
from glow.backends.cpu.selection.common import invoke, reporting
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.target.target import Target

__all__ = [
    "CPU_SELECTORS", "Affine", "BatchMatmulSpec", "Dimension", "ElementwiseSpec",
    "Invocation", "Kernel", "KernelSelector", "LoopBuilder", "Operand",
    "RegionEpilogue", "Repetition", "ScalarRegion", "Selectors", "StructuredSpec",
    "Target", "Window", "build_batch_matmul", "build_elementwise", "build_structured",
    "invoke", "reporting",
]  # fmt: skip
