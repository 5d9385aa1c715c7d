"""The kernels of a program as OpenCL C.

Texts are kept on disk by what they are made from, as objects of the CPU are; what a driver makes
of them, the driver keeps.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from glow.backends.cpu.program.program import KernelRequest, Program
from glow.backends.opencl.kernel_source import KernelSource, stored_source
from glow.lowering.loop_builder.kernel import is_kernel
from glow.lowering.opencl_c.emit import ENTRY, program_text
from glow.lowering.target.target import Target
from glow.runtime.caches.object_cache import ObjectCache, cache_key


def kernel_source(
    request: KernelRequest, version: str, target: Target, cache: ObjectCache
) -> KernelSource:
    """The text of a kernel, from the cache where it is known."""
    content = f"opencl-c {version}{request.name} {request.content}"
    key = cache_key(content, target)
    if (entry := cache.load(key)) is not None:
        return stored_source(entry[0])
    kernel = request.build(request.name, target)
    text, entry = program_text([kernel.function], target), request.name + ENTRY
    source = KernelSource(text, entry, kernel.work_items)
    cache.store(key, [source.stored()])
    return source


def kernel_sources(program: Program, target: Target) -> Mapping[str, KernelSource]:
    """The texts of a program's kernels by name."""
    cache = ObjectCache()
    return {
        name: kernel_source(request, program.version, target, cache)
        for name, request in program.requests().items()
    }


def module_text(module: ModuleOp, target: Target) -> str:
    """The kernels of a program of loops: all but `main`, which the host is."""
    functions = (op for op in module.ops if isinstance(op, FuncOp))
    return program_text(list(filter(is_kernel, functions)), target)
