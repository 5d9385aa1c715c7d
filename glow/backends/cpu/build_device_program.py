"""From a planned program and its kernels to what a function of a device is made of."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.func import FuncOp

from glow.backends.cpu.native_function import (
    gather_constants,
    native_arguments,
    native_variables,
)
from glow.backends.cpu.program.device_program import DeviceCode, objects_of
from glow.backends.cpu.program.program import Program
from glow.backends.cpu.program.step_table import entries_of
from glow.runtime.native_code import workers
from glow.runtime.native_program import NativeProgram
from glow.signature import input_count


def build_device_program(
    function: FuncOp, program: Program, kernels: Mapping[str, bytes], target: str
) -> NativeProgram:
    """The program of a planned function, whose constants it takes; variables are zeros.

    `kernels` are those of the backend by name, for a `target`.
    """
    arguments, count = native_arguments(function, program), input_count(function)
    variables = native_variables(function, program)
    with workers() as pool:
        constants = gather_constants(program, pool)
    return NativeProgram(
        objects_of(DeviceCode(entries_of(program.steps), kernels)),
        constants,
        program.sizes["mutables"],
        program.sizes["activations"],
        arguments[:count],
        arguments[count:],
        is_small=False,
        target=target,
        reports=tuple(program.reports),
        variables=variables,
        table_offset=program.table_offset,
    )
