"""Instructions to kernels of a GPU: one module or function a distinct kernel.

Comes in: functions on memrefs after `plan-memory`. Goes out: upstream dialects only. A kernel for
many threads is a `gpu.module`, one of the CPU's a `func.func` whose items threads share:

    gpu.module @contraction_1f_module { gpu.func @contraction_1f(...) kernel { ... } }
    func.func @gather_2e(%0: memref<...>, ..., %lo: index, %hi: index) { ... }

Which run on which bytes in which order is the host's, and stays behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.program import KernelRequest
from glow.backends.cuda.kernel_table import thread_table
from glow.backends.cuda.selection.common import ThreadRequest
from glow.dialects.weight_table import WeightsAttr
from glow.lowering.target.program_target import settle_plain_target
from glow.lowering.target.target import Target
from glow.passes.instr.verify_instr import VerifyInstrPass


def built(request: KernelRequest, target: Target) -> Operation:
    """The operation that holds a kernel."""
    if isinstance(request, ThreadRequest):
        return request.build_threads(request.name, target).module
    return request.build(request.name, target).function


@dataclass(frozen=True)
class InstrToThreadsPass(ModulePass):
    """Replace instr functions by the kernels that they call.

    Option `target` names the GPU, `backend` the one whose kernels serve instructions, `numerics`
    says how f32 is multiplied.
    """

    name = "instr-to-threads"
    target: str = "sm_80"
    backend: str = "cuda"
    numerics: str = "default"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower each function of the module."""
        target = settle_plain_target(op, self.target)
        VerifyInstrPass().apply(ctx, op)
        table = thread_table(self.backend, self.numerics)
        requests: dict[str, KernelRequest] = {}
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                requests |= build_program(function, target, table).requests()
                function.detach()
                function.erase(safe_erase=False)
        op.body.block.add_ops([built(each, target) for each in requests.values()])
        op.attributes.pop(WeightsAttr.name, None)
