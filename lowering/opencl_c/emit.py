"""A kernel of the loops level as OpenCL C: its function, and an entry for a device.

    func.func @relu_1f(%x: memref<64xf32>, %y: memref<64xf32>, %lo: index, %hi: index)

becomes

    static void relu_1f(__global float *x, __global float *y, long lo, long hi) { ... }

    __kernel void relu_1f_entry(__global uchar *b0, long o0, ..., long items) {
      long part = get_global_id(0), parts = get_global_size(0);
      relu_1f((__global float *)(b0 + o0), ..., part * items / parts, (part + 1) * items / parts);
    }

With as many parts as items, part i is item i. A buffer is an offset into a memory space.
Multiply-adds are those that the kernel says.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import DiagnosticException

from glow.lowering.opencl_c.function_printer import FunctionPrinter
from glow.lowering.opencl_c.helpers import helper_texts
from glow.lowering.opencl_c.rules import RULES
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_memref

ENTRY = "_entry"
"""Behind the name of a kernel: what a device starts."""

BOUNDS = ("part * items / parts", "(part + 1) * items / parts")
"""The work items of one of the parts that the device runs."""

HEAD = """\
#pragma OPENCL FP_CONTRACT OFF
"""


def is_alone(function: func.FuncOp, number: int) -> bool:
    """Whether nothing else names the memory of an argument."""
    attributes = function.arg_attrs
    if attributes is None:
        return False
    return "llvm.noalias" in attributes.data[number].data


def program_text(kernels: Sequence[func.FuncOp], target: Target) -> str:
    """The OpenCL C of kernels, and of the functions that they call.

    Raises DiagnosticException with the kernel's name for what has no rule.
    """
    helpers: dict[tuple[str, int], None] = {}
    texts = [kernel_text(kernel, target, helpers) for kernel in kernels]
    return "\n".join([HEAD, *helper_texts(helpers), *texts])


def kernel_text(
    function: func.FuncOp, target: Target, helpers: dict[tuple[str, int], None]
) -> str:
    """One kernel and its entry; adds to the functions that are called."""
    out = FunctionPrinter(RULES, target.fma_instruction, helpers)
    name = function.sym_name.data
    parameters: list[str] = []
    for number, argument in enumerate(function.body.block.args):
        parameters.append(parameter(out, function, number, argument))
    try:
        out.print_block(function.body.block)
    except DiagnosticException as error:
        raise DiagnosticException(f"{error} (in @{name})") from error
    body = "\n".join(out.lines)
    return (
        f"static void {name}({', '.join(parameters)}) {{\n{body}\n}}\n\n"
        f"{entry_text(out, function)}"
    )


def parameter(
    out: FunctionPrinter, function: func.FuncOp, number: int, argument: SSAValue
) -> str:
    """The declaration of an argument, which gets a name."""
    if isinstance(argument.type, IndexType):
        out.set_index(argument, argument.name_hint or out.new_name())
        return f"long {out.names[argument]}"
    if not is_memref(argument.type):
        raise DiagnosticException(f"opencl-c: {argument.type} is no kernel argument")
    hint = argument.name_hint
    name = f"p{number}" if hint is None or hint.isdigit() else f"p{number}_{hint}"
    out.bind_memory(argument, name)
    restrict = "restrict " if is_alone(function, number) else ""
    return f"{out.pointer_type(argument.type)}{restrict}{name}"


def entry_text(out: FunctionPrinter, function: func.FuncOp) -> str:
    """The function of which a device runs one instance a work item."""
    name = function.sym_name.data
    types = [a.type for a in function.body.block.args if is_memref(a.type)]
    parameters = [f"__global uchar *b{k}, long o{k}" for k in range(len(types))]
    arguments = [
        f"({out.pointer_type(type_)})(b{k} + o{k})" for k, type_ in enumerate(types)
    ]
    return (
        f"__kernel void {name}{ENTRY}({', '.join([*parameters, 'long items'])}) {{\n"
        "  long part = get_global_id(0), parts = get_global_size(0);\n"
        f"  {name}({', '.join([*arguments, *BOUNDS])});\n}}\n"
    )
