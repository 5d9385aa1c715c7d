"""`main` for one thread that tells of each kernel call, before and after it.

    func.call @debug_NAME_3(%output, %input, %weights, %before)
    func.call @conv2d_1c4569961681(%output, %input, %weights, %low, %high)
    func.call @debug_NAME_3(%output, %input, %weights, %after)

A function a call takes the buffers, and 0 before the kernel or 1 after it.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import SSAValue

from glow.backends.bundle_program import DebugCall
from glow.backends.cpu.program.main_function import INDEX
from glow.backends.cpu.program.program import KernelCall
from glow.backends.cpu.program.serial_main import SerialMainBuilder

BEFORE, AFTER = 0, 1


class DebugMainBuilder(SerialMainBuilder):
    """Builds the function; `told` and `declarations` are what it calls beside kernels."""

    told: list[DebugCall]
    declarations: list[func.FuncOp]

    def run(self) -> func.FuncOp:
        """The function `main` of the program."""
        self.told, self.declarations = [], []
        return super().run()

    def _call(self, call: KernelCall) -> None:
        types = self.kernels[call.kernel.name].function.function_type.inputs.data
        views = [
            self._view(binding, view_type)
            for binding, view_type in zip(call.bindings, types, strict=False)
        ]
        name = f"debug_{self.program.name}_{len(self.told)}"
        sizes = tuple(binding.size for binding in call.bindings)
        self.told.append(DebugCall(name, call.kernel.name, sizes, call.writes))
        operands = [*(view.type for view in views), INDEX]
        self.declarations.append(func.FuncOp.external(name, operands, []))
        self._tell(name, views, BEFORE)
        super()._call(call)
        self._tell(name, views, AFTER)

    def _tell(self, name: str, views: list[SSAValue], stage: int) -> None:
        operands = [*views, self._constant(stage)]
        self.builder.insert(func.CallOp(name, operands, []))
