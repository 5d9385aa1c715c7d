"""From a planned module to kernels on a device, or to their text."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.native_function import (
    fill_variables,
    gather_constants,
    let_go,
    native_arguments,
    native_variables,
)
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.opencl.drivers import drivers_devices
from glow.backends.opencl.opencl_function import OpenClFunction, check_device_memory
from glow.backends.opencl.sources import kernel_sources
from glow.dialects.weights import weights_of
from glow.lowering.target.target import Target
from glow.runtime.native_code import workers
from glow.signature import input_count, main_function


def build_function(
    module: ModuleOp, target: Target, table: KernelTable, number: int
) -> OpenClFunction:
    """The main function of a planned instr module on a device; takes its weights.

    `number` is the device's. Raises GlowError where it has not enough memory.
    """
    device = drivers_devices()[number]
    function = main_function(module)
    program = build_program(function, target, table)
    check_device_memory(device, program.sizes)
    weights_of(module).clear()
    let_go(program)
    sources = kernel_sources(program, target)
    arguments = native_arguments(function, program)
    with workers() as pool:
        constants = gather_constants(program, pool)
    variables = native_variables(function, program)
    built = OpenClFunction(device, program, sources, constants, arguments, variables)
    built.input_count = input_count(function)
    built.device = f"{table.backend}:{number}"
    fill_variables(program, built.variables)
    return built
