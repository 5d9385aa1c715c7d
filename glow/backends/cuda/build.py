"""From a planned module to kernels on an NVIDIA GPU."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.build_device_program import build_device_program
from glow.backends.cpu.native_function import fill_variables, let_go
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cuda.cuda_function import (
    CudaFunction,
    Entry,
    check_device_memory,
    load_kernel,
    open_device,
)
from glow.backends.cuda.kernel_assembly import KernelAssembly
from glow.backends.cuda.ptx import kernel_assemblies
from glow.dialects.weights import weights_of
from glow.lowering.target.target import Target
from glow.signature import main_function


def build_function(
    module: ModuleOp, target: Target, table: KernelTable, number: int
) -> CudaFunction:
    """The main function of a planned instr module on a device; takes its weights.

    `number` is the device's. Raises GlowError where it has not enough memory.
    """
    device = open_device(number, target.cpu)
    function = main_function(module)
    program = build_program(function, target, table)
    check_device_memory(device, program.sizes.values())
    weights_of(module).clear()
    let_go(program)

    def load(name: str, kernel: KernelAssembly) -> Entry:
        return load_kernel(device, name, kernel)

    entries = kernel_assemblies(program, target, load)
    kernels = {name: entry.assembly.stored() for name, entry in entries.items()}
    native = build_device_program(function, program, kernels, target.cpu)
    built = CudaFunction(device, f"{table.backend}:{number}", native, entries)
    fill_variables(program, built.variables)
    return built
