"""The kernels of a program as SPIR-V 1.2, for drivers of OpenCL that read it.

    kernel void relu_1f_entry(global uchar *b0, long o0, ..., long items)

Work item i runs f(buffers, i, i + 1). Buffers are in global memory, what a kernel keeps on its
stack is private: a pointer says which. LLVM ends the process where it has no SPIR-V for
something, so that it works in a process of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.llvm import LLVMFunctionType, LLVMPointerType
from xdsl.ir import Attribute

from glow.backends.opencl.contraction import WIDEST, contract
from glow.backends.opencl.spirv_halves import without_halves
from glow.dialects import arith, vector
from glow.dialects.errors import GlowError
from glow.dialects.memref import PrefetchOp
from glow.lowering.llvm_ir.function import VOID, Function
from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loop_builder.kernel import is_kernel
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_function_body
from glow.lowering.loops_to_llvm.function_lowering import FunctionLowering, entry
from glow.lowering.loops_to_llvm.layout import (
    RegisterLayout,
    boolean_like,
    layout_of,
)
from glow.lowering.loops_to_llvm.rules import RULES
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_memref, is_vector

TRIPLE = "spirv64v1.2-unknown-unknown"
GLOBAL = LLVMPointerType(IntAttr(1))
BUFFER = RegisterLayout((), 0, ((0, 0),), GLOBAL, 8, (GLOBAL,), (GLOBAL,))
SECONDS = 600

WORK_ITEM = "declare spir_func i64 @_Z13get_global_idj(i32)\n"

COMPILE = f"""
import sys
from llvmlite import binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple({TRIPLE!r}).create_target_machine(opt=2)
module = llvm.parse_assembly(sys.stdin.read(), context=llvm.create_context())
module.triple, module.data_layout = {TRIPLE!r}, str(machine.target_data)
module.verify()
options = llvm.create_pipeline_tuning_options(speed_level=0)
passes = llvm.create_pass_builder(machine, options)
passes.getModulePassManager().run(module, passes)
with open(1, "wb") as sink:
    sink.write(machine.emit_object(module))
"""
"""What the process does: LLVM puts the kernel into its entry, and all else is the driver's. More
of its passes make integers of 256 bits, which SPIR-V has not."""


def select(low: FunctionLowering, op: arith.SelectOp) -> None:
    """A condition for each lane: before version 1.4 SPIR-V picks no whole vectors."""
    conditions, types = low.registers(op.cond), low.layout(op.lhs).types
    if is_vector(op.lhs.type) and not is_vector(op.cond.type):
        (one,) = conditions
        wanted = map(boolean_like, types)
        repeated = {
            type_: low.builder.splat(one, type_) for type_ in dict.fromkeys(wanted)
        }
        conditions = [repeated[boolean_like(type_)] for type_ in types]
    operands = zip(conditions, low.flatten(op.lhs), low.flatten(op.rhs), strict=True)
    low.bind(op.result, [low.builder.select(*triple) for triple in operands])


OWN_RULES = [entry(vector.ContractOp, contract), entry(arith.SelectOp, select)]
DEVICE_RULES = {**RULES, **dict(OWN_RULES)}


class DeviceLowering(FunctionLowering):
    """Lowers a kernel whose buffers are in global memory."""

    def __init__(self, target: Target) -> None:
        """The target's vectors, but none of its instructions.

        SPIR-V has no `lrint`: floats are rounded to the nearest, then converted.
        """
        bare = replace(target, triple=TRIPLE, has_bf16=False, round_conversion=False)
        super().__init__(DEVICE_RULES, bare)

    def layout_of(self, type_: Attribute) -> RegisterLayout:
        """Returns the register layout of a type."""
        if is_memref(type_):
            return BUFFER
        return layout_of(type_, self.lanes, self.index_type, WIDEST)


def lower_kernel(kernel: FuncOp, target: Target) -> Function:
    """A kernel as an internal function, without hints to caches."""
    for op in [op for op in kernel.walk() if isinstance(op, PrefetchOp)]:
        op.detach()
        op.erase()
    low = DeviceLowering(target)
    lower_function_body(low, kernel.body.block)
    inputs = [low.layout_of(type_).types[0] for type_ in kernel.function_type.inputs]
    name, type_ = kernel.sym_name.data, LLVMFunctionType(inputs, VOID)
    return Function(name, type_, low.blocks, "internal")


def picked_lane(found: re.Match[str]) -> str:
    """The element of two vectors that a shuffle to one lane picks."""
    type_, width, element, first, second, lane = found.groups()
    vector, number = (first, second)[int(lane or 0) >= int(width)], int(lane or 0)
    if int(width) == 1:
        return f"bitcast {element} {vector} to {element}"
    return f"extractelement {type_} {vector}, i64 {number % int(width)}"


ONE = r"<1 x (\w+)>"
TWO_VECTORS = r"shufflevector (<(\d+) x (\w+)>) ([^,]+), <\d+ x \w+> ([^,]+), "
SINGLE_LANES: Sequence[tuple[str, str | Callable[[re.Match[str]], str]]] = (
    (rf"extractelement {ONE} ([^,]+), .*", r"bitcast \1 \2 to \1"),
    (rf"insertelement {ONE} [^,]+, \w+ ([^,]+), .*", r"bitcast \1 \2 to \1"),
    (TWO_VECTORS + r"<1 x i32> (?:<i32 (\d+)>|zeroinitializer)", picked_lane),
    (r"splat \(\w+ ([^)]+)\)", r"\1"),
    (ONE, r"\1"),
    (r"\.v1(bf|f|i)(\d)", r".\1\2"),
)
"""What is written instead of vectors of one lane, which SPIR-V has not: their elements."""
HAS_ONE = re.compile(r"<1 x |\.v1[bfi]")


def without_single_lanes(text: str) -> str:
    """LLVM IR with elements for vectors of one lane."""
    lines: list[str] = []
    for line in text.splitlines():
        if HAS_ONE.search(line):
            for pattern, written in SINGLE_LANES:
                line = re.sub(pattern, written, line)
        if not (line.startswith("declare") and line in lines):
            lines.append(line)
    return "\n".join(lines)


def entry_text(kernel: FuncOp) -> str:
    """The entry of a kernel."""
    name = kernel.sym_name.data
    numbers = range(sum(map(is_memref, kernel.function_type.inputs)))
    parameters = "".join(f"ptr addrspace(1) %b{k}, i64 %o{k}, " for k in numbers)
    places = "".join(
        f"  %p{k} = getelementptr i8, ptr addrspace(1) %b{k}, i64 %o{k}\n"
        for k in numbers
    )
    arguments = "".join(f"ptr addrspace(1) %p{k}, " for k in numbers)
    return (
        f"define spir_kernel void @{name}_entry({parameters}i64 %items) {{\n"
        "  %item = call spir_func i64 @_Z13get_global_idj(i32 0)\n"
        "  %is_item = icmp ult i64 %item, %items\n"
        f"  br i1 %is_item, label %work, label %end\nwork:\n{places}"
        "  %behind = add i64 %item, 1\n"
        f"  call void @{name}({arguments}i64 %item, i64 %behind)\n"
        "  br label %end\nend:\n  ret void\n}\n"
    )


def kernels_text(kernels: Sequence[FuncOp], target: Target) -> str:
    """The LLVM IR of kernels and their entries."""
    text = emit_functions([lower_kernel(each, target) for each in kernels], target)
    text = re.sub(
        r'nounwind "prefer-vector-width"="\d+"', "alwaysinline nounwind", text
    )
    text = without_halves(without_single_lanes(text))
    return "\n".join([WORK_ITEM, text, *map(entry_text, kernels)])


def compiled(text: str) -> bytes | None:
    """The SPIR-V of LLVM IR, None where LLVM has none for it."""
    command = [sys.executable, "-c", COMPILE]
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, check=False, timeout=SECONDS
    )
    return done.stdout if done.returncode == 0 else None


def module_spirv(module: ModuleOp, target: Target) -> bytes:
    """The kernels of a program of loops, all but `main`, as one module.

    Raises GlowError, which names them, for kernels that LLVM has no SPIR-V for.
    """
    functions = (op for op in module.ops if isinstance(op, FuncOp))
    kernels = list(filter(is_kernel, functions))
    found = compiled(kernels_text(kernels, target))
    if found is not None:
        return found
    wrong = [k for k in kernels if compiled(kernels_text([k], target)) is None]
    names = ", ".join(f"'{kernel.sym_name.data}'" for kernel in wrong)
    raise GlowError(f"LLVM has no SPIR-V for kernels {names}")
