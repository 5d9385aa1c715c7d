"""From a planned module to kernels on an NVIDIA GPU."""

from __future__ import annotations

from functools import partial

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
from glow.backends.cuda.cuda_function import (
    CudaFunction,
    check_device_memory,
    load_kernel,
)
from glow.backends.cuda.driver import CudaDevice, open_driver
from glow.backends.cuda.ptx import kernel_assemblies
from glow.dialects.errors import GlowError
from glow.dialects.weights import weights_of
from glow.lowering.target.target import Target
from glow.runtime.native_code import workers
from glow.signature import input_count, main_function


def open_device(number: int, gpu: str) -> CudaDevice:
    """A device for code of a GPU; raises GlowError where that is newer."""
    driver = open_driver()
    facts = driver.facts(number)
    if int(gpu.removeprefix("sm_")) > int(facts.gpu.removeprefix("sm_")):
        raise GlowError(
            f"device '{facts.name}' is {facts.gpu}, which does not run code for {gpu}",
            hint=f"--target={facts.gpu}",
        )
    return CudaDevice(driver, facts)


def build_function(
    module: ModuleOp, target: Target, table: KernelTable, number: int
) -> CudaFunction:
    """The main function of a planned instr module on a device; takes its weights.

    `number` is the device's. Raises GlowError where it has not enough memory.
    """
    device = open_device(number, target.cpu)
    function = main_function(module)
    program = build_program(function, target, table)
    check_device_memory(device, program.sizes)
    weights_of(module).clear()
    let_go(program)
    entries = kernel_assemblies(program, target, partial(load_kernel, device))
    arguments = native_arguments(function, program)
    with workers() as pool:
        constants = gather_constants(program, pool)
    variables = native_variables(function, program)
    built = CudaFunction(device, program, entries, constants, arguments, variables)
    built.input_count = input_count(function)
    fill_variables(program, built.variables)
    return built
