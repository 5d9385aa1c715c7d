"""From a planned module to kernels on a device, or to their text."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.build_device_program import build_device_program
from glow.backends.cpu.native_function import fill_variables, let_go
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.opencl.drivers import drivers_devices
from glow.backends.opencl.opencl_function import OpenClFunction, check_device_memory
from glow.backends.opencl.sources import kernel_sources
from glow.dialects.weights import weights_of
from glow.lowering.target.target import Target
from glow.signature import main_function


def build_function(
    module: ModuleOp, target: Target, table: KernelTable, number: int
) -> OpenClFunction:
    """The main function of a planned instr module on a device; takes its weights.

    `number` is the device's. Raises GlowError where it has not enough memory.
    """
    function = main_function(module)
    program = build_program(function, target, table)
    check_device_memory(drivers_devices()[number], program.sizes.values())
    weights_of(module).clear()
    let_go(program)
    sources = kernel_sources(program, target)
    kernels = {name: source.stored() for name, source in sources.items()}
    native = build_device_program(function, program, kernels, target.cpu)
    built = OpenClFunction(number, f"{table.backend}:{number}", native)
    fill_variables(program, built.variables)
    return built
