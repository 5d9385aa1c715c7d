"""The OpenCL backend: the CPU's kernels as OpenCL C, a work item a slice of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from glow.backends.backend import Backend, CompiledFunction
from glow.backends.cpu import CpuBackend
from glow.backends.device import Device

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from glow.backends.pipeline import Pipeline
    from glow.options import CompileOptions
    from glow.runtime.native_program import NativeProgram

OPENCL_C = "opencl-c"
SPIRV = "spirv"


def target_of(options: CompileOptions) -> str:
    """The target without matrix tiles, which are instructions of a processor."""
    from glow.lowering.target.target_names import without_matrix_tiles

    return without_matrix_tiles(options.target)


class OpenClBackend(CpuBackend):
    """Runs networks on the devices of OpenCL drivers.

    Layouts, fusion, kernels and the plan of the memory are the CPU's.
    """

    name = "opencl"

    # Kernels of this machine are not those of a device.
    subject = Backend.subject
    tuning_features = Backend.tuning_features

    def pipeline(self, options: CompileOptions) -> Pipeline:
        """The CPU's to loops, then the kernels as text, or as SPIR-V."""
        from glow.backends.pipeline import LOOPS, Phase, Pipeline

        pipeline = super().pipeline(replace(options, target=target_of(options)))
        phases = list(pipeline.phases)[: pipeline.names.index(LOOPS) + 1]
        text = Phase(OPENCL_C, "OpenCL C text of the kernels", is_export=True)
        binary = Phase(SPIRV, "SPIR-V 1.2 of the kernels", is_export=True)
        return Pipeline([*phases, text, binary], pipeline.compile_from)

    def compile(self, module: ModuleOp, options: CompileOptions) -> CompiledFunction:
        """The main function of a module on a device."""
        from glow.lowering.target.target import Target

        device = self.find_device(options.device)
        # Which imports pyopencl: behind the line that says that it is missing.
        from glow.backends.opencl.build import build_function

        target = Target.from_string(target_of(options))
        number = int(device.number)
        return build_function(module, target, self.kernel_table(), number)

    def export(
        self, module: ModuleOp, phase: str, options: CompileOptions
    ) -> str | bytes:
        """The kernels of a program of loops as OpenCL C or SPIR-V; needs no device."""
        from glow.backends.opencl.sources import module_text
        from glow.backends.opencl.spirv import module_spirv
        from glow.lowering.target.target import Target

        write = module_spirv if phase == SPIRV else module_text
        return write(module, Target.from_string(target_of(options)))

    def prepare(self) -> None:
        """Nothing: the driver compiles."""

    def load_program(
        self, program: NativeProgram, threads: int | None, device: str | None = None
    ) -> CompiledFunction:
        """Kernels on a device, whose driver compiles them; the compiler is not loaded."""
        found = self.find_device(device)
        from glow.backends.opencl.opencl_function import OpenClFunction

        return OpenClFunction(int(found.number), found.name, program)

    def devices(self) -> Sequence[Device]:
        """Those of all drivers, in their order."""
        from glow.backends.opencl.drivers import listed_devices

        return listed_devices(self.name)

    def why_no_device(self) -> str:
        """Neither a driver nor the library for them comes with Glow."""
        from glow.backends.opencl.drivers import what_is_missing

        return what_is_missing()
