"""The kernels of a program as PTX. In those of loops thread i runs f(buffers, i, i + 1):

    .visible .entry relu_1f_entry(.param .u64 b0, .param .u64 o0, ..., .param .u64 items)

A buffer is an address and an offset; threads behind the last item do nothing, so that blocks
may have any size. Kernels for many threads say how many there are, and take buffers alone.
LLVM's passes put the kernel into its entry and find out that memory is global.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from glow.backends.cpu.program.program import KernelRequest, Program
from glow.backends.cuda.code_generator import CodeGenerators
from glow.backends.cuda.driver import capability
from glow.backends.cuda.gpu_to_llvm import kernels_llvm
from glow.backends.cuda.kernel_assembly import KernelAssembly, stored_assembly
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.selection.common import ThreadRequest
from glow.backends.cuda.tensor_map import TensorMap
from glow.dialects.errors import GlowError
from glow.dialects.gpu import gpu
from glow.dialects.gpu.bulk_copies import TensorMapType
from glow.dialects.memref import PrefetchOp
from glow.lowering.llvm_text.emit import emit_functions
from glow.lowering.loop_builder.kernel import is_kernel
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_memref
from glow.runtime.caches.object_cache import ObjectCache, cache_key
from glow.runtime.native_code import workers

ENTRY = "_entry"
BLOCK = 32
"""The threads of a block of a kernel of loops: it has few items, which many multiprocessors
share."""

Used = TypeVar("Used")

REGISTERS = ("tid", "ctaid", "ntid")
DECLARATIONS = "".join(
    f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()\n" for name in REGISTERS
)

ITEM = """\
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %size
  %number = add i32 %first, %thread
  %item = zext i32 %number to i64
  %is_item = icmp ult i64 %item, %items
"""

KNOWN = frozenset(
    "llvm.abs llvm.ceil llvm.copysign llvm.ctlz llvm.ctpop llvm.cttz llvm.fabs llvm.floor "
    "llvm.fma llvm.maximum llvm.maxnum llvm.minimum llvm.minnum llvm.roundeven llvm.smax "
    "llvm.smin llvm.sqrt llvm.trunc llvm.umax llvm.umin".split()
)
"""Intrinsics that PTX has code for; LLVM ends the process at others."""


FIRST_ASYNC = 80
"""The first compute capability with `cp.async` and the products of fragments used here."""


def entry_text(function: FuncOp) -> str:
    """The LLVM IR of the entry of a kernel."""
    name = function.sym_name.data
    buffers = list(filter(is_memref, function.function_type.inputs))
    numbers = range(len(buffers))
    parameters = "".join(f"ptr %b{k}, i64 %o{k}, " for k in numbers)
    places = "".join(
        f"  %p{k} = getelementptr i8, ptr %b{k}, i64 %o{k}\n" for k in numbers
    )
    arguments = "".join(f"ptr %p{k}, " for k in numbers)
    return (
        f"define ptx_kernel void @{name}{ENTRY}({parameters}i64 %items) {{\n{ITEM}"
        f"  br i1 %is_item, label %work, label %end\nwork:\n{places}"
        f"  %behind = add i64 %item, 1\n"
        f"  call void @{name}({arguments}i64 %item, i64 %behind)\n"
        f"  br label %end\nend:\n  ret void\n}}\n"
    )


def unknown_functions(text: str) -> Iterator[str]:
    """What LLVM IR declares and PTX has no code for."""
    for name in re.findall(r"^declare .*? @([\w.]+)\(", text, re.MULTILINE):
        if re.sub(r"(\.v?\d*(bf|f|i)\d+)+$", "", name) not in KNOWN:
            yield name


def kernels_text(kernels: list[FuncOp], target: Target) -> str:
    """The LLVM IR of kernels and their entries, without hints to caches that GPUs have not.

    Raises GlowError for a function that is called and not there.
    """
    for kernel in kernels:
        for op in [op for op in kernel.walk() if isinstance(op, PrefetchOp)]:
            op.detach()
            op.erase()
    text = emit_functions(lower_functions(kernels, target), target)
    for name in unknown_functions(text):
        raise GlowError(f"PTX has no function '{name}', which a kernel calls")
    for kernel in kernels:
        name = kernel.sym_name.data
        text = text.replace(f"define void @{name}(", f"define internal void @{name}(")
    return "\n".join([DECLARATIONS, text, *map(entry_text, kernels)])


def assembly(
    text: str, target: Target, generators: CodeGenerators | None = None
) -> str:
    """The PTX of LLVM IR, by processes that there are or by one for this text."""
    if generators is not None:
        return generators.assembly(text, target)
    with closing(CodeGenerators()) as own:
        return own.assembly(text, target)


def module_ptx(module: ModuleOp, target: Target) -> str:
    """The kernels of a module as PTX of a GPU: those of loops, and those for many threads."""
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and is_kernel(op)]
    blocks = [GpuKernel.of(op) for op in module.ops if isinstance(op, gpu.ModuleOp)]
    texts = [kernels_text(kernels, target)] if kernels else []
    if blocks:
        check_threads(target)
        texts.append(kernels_llvm(blocks, target))
    return assembly(joined(texts), target)


def joined(texts: Sequence[str]) -> str:
    """Modules of LLVM IR as one: what several declare is declared once."""
    lines = dict.fromkeys(
        line for text in texts for line in text.splitlines() if is_header(line)
    )
    rest = (line for text in texts for line in text.splitlines() if not is_header(line))
    return "\n".join([*lines, *rest])


def is_header(line: str) -> bool:
    """Whether a line declares something, or says for which machine the module is."""
    return line.startswith(("declare ", "target ", "source_filename"))


def check_threads(target: Target) -> None:
    """Raise GlowError for a GPU without asynchronous copies, where LLVM ends the process."""
    if capability(target.cpu) < FIRST_ASYNC:
        raise GlowError(
            f"kernels for many threads need sm_{FIRST_ASYNC}, and the target is {target.cpu}"
        )


def gpu_kernels_ptx(kernels: Sequence[GpuKernel], target: Target) -> str:
    """Kernels for many threads as PTX of a GPU, an entry each; raises as `check_threads`."""
    check_threads(target)
    return assembly(kernels_llvm(kernels, target), target)


def maps_of(kernel: GpuKernel) -> tuple[TensorMap, ...]:
    """The tensor maps that a kernel takes, each of the buffer before it."""
    found: list[TensorMap] = []
    buffers: list[MemRefType[Attribute]] = []
    for type_ in kernel.function.function_type.inputs:
        if is_memref(type_):
            buffers.append(type_)
        elif isinstance(type_, TensorMapType):
            whole, tile = buffers[-1], type_.tensor.get_shape()
            element = str(whole.element_type)
            number = len(buffers) - 1
            found.append(TensorMap(number, element, whole.get_shape(), tile))
    return tuple(found)


@dataclass(frozen=True)
class KernelText:
    """A kernel as LLVM IR, and what else its assembly has."""

    text: str
    assembled: KernelAssembly
    """Without a text."""


def kernel_text(request: KernelRequest, target: Target) -> KernelText:
    """A kernel for many threads, which says how many there are, or of loops: a thread an item."""
    if isinstance(request, ThreadRequest):
        check_threads(target)
        blocks = request.build_threads(request.name, target)
        text = kernels_llvm([blocks], target)
        made = KernelAssembly("", request.name, blocks.grid, blocks.block)
        made = replace(made, dynamic_bytes=blocks.dynamic_bytes, maps=maps_of(blocks))
        return KernelText(text, made)
    kernel = request.build(request.name, target)
    grid, entry = (-(-kernel.work_items // BLOCK), 1, 1), request.name + ENTRY
    made = KernelAssembly("", entry, grid, (BLOCK, 1, 1), kernel.work_items)
    return KernelText(kernels_text([kernel.function], target), made)


def kernel_assemblies(
    program: Program, target: Target, use: Callable[[str, KernelAssembly], Used]
) -> dict[str, Used]:
    """What `use(name, assembly)` makes of a program's kernels, by name.

    Assemblies are from the cache on disk where they are known. LLVM works, and they are used,
    beside this thread, which builds the next kernel.
    """
    cache, found = ObjectCache(), dict[str, Future[Used]]()

    def assemble(key: str, name: str, kernel: KernelText) -> Used:
        text = assembly(kernel.text, target, generators)
        made = replace(kernel.assembled, text=text)
        cache.store(key, [made.stored()])
        return use(name, made)

    with closing(CodeGenerators()) as generators, workers() as pool:
        for name, request in program.requests().items():
            version = f"ptx {program.version}{name} {request.content}"
            key = cache_key(version, target)
            if (entry := cache.load(key)) is not None:
                found[name] = pool.submit(use, name, stored_assembly(entry[0]))
            else:
                kernel = kernel_text(request, target)
                found[name] = pool.submit(assemble, key, name, kernel)
        return {name: made.result() for name, made in found.items()}
