"""Kernels of `gpu` and `nvgpu` as LLVM IR for NVPTX.

    gpu.func @f(%x: memref<4xf32>) kernel -> ptx_kernel void @f(ptr addrspace(1) %b0, i64 %o0)

What the loops level has is lowered as for CPUs, by its table; one table more lowers the rest to
intrinsics. A fragment vector<4x2xf16> is four registers <2 x half>, an index 32 bits, a vector as
aligned as it is long. Shared memory that a kernel may not declare is places in what its launch
gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from xdsl.dialects import llvm as xllvm
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    VectorType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.dialects.llvm import LLVMFunctionType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cuda.kernel_lowering import (
    DYNAMIC,
    GLOBAL,
    SHARED,
    KernelLowering,
)
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.tiles.tensor_core_tile import U8
from glow.backends.cuda.warpgroup_to_llvm import RULES as WARPGROUP_RULES
from glow.dialects import arith
from glow.dialects.errors import GlowError
from glow.dialects.gpu import gpu, nvgpu
from glow.lowering.llvm_ir.function import VOID, Function
from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loop_builder.ir_types import memref_of
from glow.lowering.loops_to_llvm.conversions import conversion, with_element
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_function_body
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Memory,
    Rule,
    entry,
)
from glow.lowering.loops_to_llvm.layout import (
    POINTER,
    byte_strides,
    element_bytes,
    element_of,
)
from glow.lowering.loops_to_llvm.rules import RULES as LOOP_RULES
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_memref


def place(low: FunctionLowering, op: gpu.PlaceOp, *, register: str) -> None:
    """The number of a thread or of a block."""
    name = f"llvm.nvvm.read.ptx.sreg.{register}.{op.dimension.data}"
    low.set_registers(op.result, [low.builder.intrinsic(name, (), i32)])


def barrier(low: FunctionLowering, op: gpu.BarrierOp) -> None:
    low.load_pending()
    number = low.builder.number(0, i32)
    low.builder.intrinsic_call("llvm.nvvm.barrier.cta.sync.aligned.all", [number])


def function_return(low: FunctionLowering, op: gpu.ReturnOp) -> None:
    low.load_pending()
    low.builder.emit_no_result(xllvm.ReturnOp, ())


FULL_WARP = -1
SHUFFLES = {
    "xor": ("bfly", 31),
    "down": ("down", 31),
    "idx": ("idx", 31),
    "up": ("up", 0),
}
"""PTX's name of a shuffle, and its operand c for whole warps."""


def shuffle(low: FunctionLowering, op: gpu.ShuffleOp) -> None:
    mode, clamp = SHUFFLES[str(op.mode.data)]
    letter = "f32" if op.value.type == f32 else "i32"
    numbers = [low.builder.number(number, i32) for number in (FULL_WARP, clamp)]
    operands = (numbers[0], low.scalar(op.value), low.scalar(op.offset), numbers[1])
    result = low.builder.intrinsic(
        f"llvm.nvvm.shfl.sync.{mode}.{letter}", operands, op.value.type
    )
    low.set_registers(op.shuffled, [result])
    low.set_registers(op.valid, [low.builder.number(1, i1)])


def get_global(low: FunctionLowering, op: memref.GetGlobalOp) -> None:
    """Shared memory."""
    assert isinstance(low, KernelLowering)
    pointer = low.shared_pointer(op.name_.string_value())
    low.memories[op.memref] = Memory(pointer, byte_strides(op.memref.type))


def bytes_of(op: nvgpu.AsyncCopyOp) -> int:
    """Returns the bytes of an element that is copied."""
    return element_bytes(memref_of(op.src).element_type)


def begin_copy(low: FunctionLowering, op: nvgpu.AsyncCopyOp) -> None:
    assert isinstance(low, KernelLowering)
    low.load_pending()
    size = op.dst_elements.value.data * bytes_of(op)
    target = low.cast(low.address(low.memories[op.dst], op.dst_indices), SHARED)
    source = low.cast(low.address(low.memories[op.src], op.src_indices), GLOBAL)
    cache = "ca" if op.bypass_l1 is None else "cg"
    name = f"llvm.nvvm.cp.async.{cache}.shared.global.{size}"
    operands = [target, source]
    if op.src_elements is not None:
        form = low.index(op.src_elements)
        bytes_ = form.times(bytes_of(op))
        operands.append(low.materialize(bytes_))
        name += ".s"
    low.builder.intrinsic_call(name, operands)
    low.set_registers(op.token, ())


def create_group(low: FunctionLowering, op: nvgpu.CreateGroupOp) -> None:
    low.load_pending()
    low.builder.intrinsic_call("llvm.nvvm.cp.async.commit.group", ())
    low.set_registers(op.group, ())


def wait(low: FunctionLowering, op: nvgpu.WaitOp) -> None:
    low.load_pending()
    pending = 0 if op.num_groups is None else op.num_groups.value.data
    number = low.builder.number(pending, i32)
    low.builder.intrinsic_call("llvm.nvvm.cp.async.wait.group", [number])


def load_matrix(low: FunctionLowering, op: nvgpu.LdMatrixOp) -> None:
    assert isinstance(low, KernelLowering)
    address = low.cast(low.address(low.memories[op.src], op.indices), SHARED)
    suffix = ".trans" if op.transpose.value.data else ""
    shape = f"m8n8.x{op.num_tiles.value.data}{suffix}"
    name = f"llvm.nvvm.ldmatrix.sync.aligned.{shape}.b16.p3"
    words = low.parts(name, [address], i32, op.num_tiles.value.data)
    types = low.layout(op.res).types
    pairs = zip(words, types, strict=True)
    low.set_registers(
        op.res, [low.builder.emit(xllvm.BitcastOp, (word,), t) for word, t in pairs]
    )


PAIRS: Mapping[Attribute, str] = {f16: "ff2f16x2", bf16: "ff2bf16x2"}
"""LLVM's names of roundings of two f32 at once."""


def truncate_float(low: FunctionLowering, op: arith.TruncFOp) -> None:
    """To f16 and bf16 two lanes at once, which PTX takes with the upper one first."""
    builder, element = low.builder, low.layout(op.result).element
    registers = low.registers(op.input)
    if any(register.type != VectorType(f32, [2]) for register in registers):
        conversion(xllvm.FPTruncOp)(low, op)
        return
    rounded: list[SSAValue] = []
    for register in registers:
        lanes = [builder.extract(register, lane) for lane in (1, 0)]
        name = f"llvm.nvvm.{PAIRS[element]}.rn"
        type_ = with_element(register.type, element)
        rounded.append(builder.intrinsic(name, lanes, type_))
    low.set_registers(op.result, rounded)


PRODUCTS: Mapping[tuple[Attribute, Attribute], tuple[str, Attribute]] = {
    (f16, f16): ("m16n8k16.row.col.f32.f32", VectorType(f16, [2])),
    (bf16, bf16): ("m16n8k16.row.col.bf16", i32),
    (f32, f32): ("m16n8k8.row.col.tf32", i32),
    (i8, i8): ("m16n8k32.row.col.s8", i32),
    (i8, U8): ("m16n8k32.row.col.s8.u8", i32),
    (U8, i8): ("m16n8k32.row.col.u8.s8", i32),
    (U8, U8): ("m16n8k32.row.col.u8", i32),
}
"""LLVM's name of a product of fragments by the elements of both, and the type of a register of a
factor.
"""


def multiply_matrices(low: FunctionLowering, op: nvgpu.MmaSyncOp) -> None:
    assert isinstance(low, KernelLowering)
    builder = low.builder
    name, register = PRODUCTS[element_of(op.a.type), element_of(op.b.type)]
    words = [word for x in (op.a, op.b) for word in low.words_of(x, register)]
    rows, sums = low.registers(op.c), low.sums_of(op.c)
    element = element_of(op.c.type)
    results = low.parts(f"llvm.nvvm.mma.{name}", [*words, *sums], element, 4)
    totals: list[SSAValue] = []
    for number, row in enumerate(rows):
        total = builder.insert(results[2 * number], builder.poison(row.type), 0)
        totals.append(builder.insert(results[2 * number + 1], total, 1))
    low.set_registers(op.res, totals)
    low.words[op.res, builder.block] = results


LARGEST = 2_000_000_000
"""Bytes of a buffer: positions behind the end, of tiles with tails, have 31 bits, too."""
TENSOR_MAP = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant"'

RULES: Mapping[type[Operation], Rule] = {
    **LOOP_RULES,
    **dict(
        [
            entry(arith.TruncFOp, truncate_float),
            entry(gpu.ThreadIdOp, partial(place, register="tid")),
            entry(gpu.BlockIdOp, partial(place, register="ctaid")),
            entry(gpu.BarrierOp, barrier),
            entry(gpu.ShuffleOp, shuffle),
            entry(gpu.ReturnOp, function_return),
            entry(memref.GetGlobalOp, get_global),
            entry(nvgpu.AsyncCopyOp, begin_copy),
            entry(nvgpu.CreateGroupOp, create_group),
            entry(nvgpu.WaitOp, wait),
            entry(nvgpu.LdMatrixOp, load_matrix),
            entry(nvgpu.MmaSyncOp, multiply_matrices),
        ]
    ),
    **WARPGROUP_RULES,
}


def lower_kernel(kernel: GpuKernel, target: Target) -> Function:
    """Returns a kernel as a function of pointers, whose indices have 32 bits.

    Raises GlowError for buffers that these do not reach through.
    """
    function = kernel.function
    for type_ in filter(is_memref, function.function_type.inputs):
        size = type_.element_count() * element_bytes(type_.element_type)
        if size > LARGEST:
            raise GlowError(
                f"kernel '{function.sym_name.data}' has a buffer of {size} bytes, and indices "
                f"reach through {LARGEST}"
            )
    low = KernelLowering(kernel, RULES, target)
    lower_function_body(low, function.body.block)
    inputs = [POINTER] * len(function.body.block.args)
    name, type_ = f"{function.sym_name.data}_body", LLVMFunctionType(inputs, VOID)
    return Function(name, type_, low.blocks, "internal")


def shared_text(kernel: GpuKernel) -> str:
    """The shared memory that a kernel declares."""
    if kernel.dynamic_bytes:
        return ""
    return "".join(
        f"@{buffer.name} = internal addrspace(3) global [{buffer.size} x i8] "
        f"poison, align {buffer.alignment}\n"
        for buffer in kernel.shared
    )


def entry_text(kernel: GpuKernel) -> str:
    """The entry of a kernel: a buffer is an address and an offset, a tensor map 128 bytes.

    One block may have all registers of a multiprocessor: `ptxas` spills some to fit more blocks.
    The body is inlined, also a long one: products of warpgroups do not run beside a call.
    """
    name = kernel.function.sym_name.data
    parameters: list[str] = []
    places, arguments = "", list[str]()
    for k, type_ in enumerate(kernel.function.function_type.inputs):
        if is_memref(type_):
            parameters.append(f"ptr addrspace(1) noalias align 16 %b{k}, i64 %o{k}")
            places += (
                f"  %p{k} = getelementptr i8, ptr addrspace(1) %b{k}, i64 %o{k}\n"
                f"  %g{k} = addrspacecast ptr addrspace(1) %p{k} to ptr\n"
            )
        else:
            parameters.append(f"{TENSOR_MAP} %g{k}")
        arguments.append(f"ptr %g{k}")
    size = kernel.function.known_block_size
    assert size is not None
    threads = ",".join(str(extent) for extent in size.iter_values())
    return (
        f"define ptx_kernel void @{name}({', '.join(parameters)}) "
        f'"nvvm.maxntid"="{threads}" "nvvm.minctasm"="1" {{\n{places}'
        f"  call void @{name}_body({', '.join(arguments)}) alwaysinline\n"
        "  ret void\n}\n"
    )


def kernels_llvm(kernels: Sequence[GpuKernel], target: Target) -> str:
    """The LLVM IR of kernels with their shared memory and entries."""
    functions = [lower_kernel(kernel, target) for kernel in kernels]
    text = emit_functions(functions, target)
    head = "".join(map(shared_text, kernels))
    dynamic = [kernel for kernel in kernels if kernel.dynamic_bytes]
    if dynamic:
        alignment = max(b.alignment for kernel in dynamic for b in kernel.shared)
        head += (
            f"@{DYNAMIC} = external addrspace(3) global [0 x i8], align {alignment}\n"
        )
    return "\n".join([head, text, *map(entry_text, kernels)])
