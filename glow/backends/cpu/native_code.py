"""From a program to objects: cached kernels are loaded, the others built and compiled.

A kernel's key is its request (operation, shapes, layouts, epilogue), so networks share
kernels and a known network compiles nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func

from glow.lowering.instr_to_loops.instr_to_loops import build_main, declaration
from glow.lowering.instr_to_loops.kernel import Kernel
from glow.lowering.instr_to_loops.main_function import barrier_declaration
from glow.lowering.instr_to_loops.program import Program
from glow.lowering.llvm_emit import emit_functions
from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
from glow.lowering.loops_to_llvm.verify_loops import verify_function
from glow.lowering.target import Target
from glow.runtime.native_code import compile_objects
from glow.runtime.object_cache import ObjectCache, cache_key

MAIN = "main"


def object_keys(program: Program, target: Target) -> dict[str, str]:
    """The cache keys of a program's kernels and of its main function, by name."""
    keys = {
        name: cache_key(f"{name} {request.spec!r}", target)
        for name, request in program.requests().items()
    }
    keys[MAIN] = cache_key(program.text(), target)
    return keys


def build_objects(
    program: Program, target: Target, cache: ObjectCache
) -> dict[str, bytes]:
    """The object of each kernel and of `main`, by name."""
    keys = object_keys(program, target)
    objects: dict[str, bytes] = {}
    for name, key in keys.items():
        entry = cache.load(key)
        if entry is not None:
            objects[name] = entry[0]
    texts = missing_texts(program, target, [n for n in keys if n not in objects])
    for name, built in zip(
        texts, compile_objects(list(texts.values()), target), strict=True
    ):
        objects[name] = built
        cache.store(keys[name], [built])
    return objects


def missing_texts(
    program: Program, target: Target, missing: Iterable[str]
) -> dict[str, str]:
    """The LLVM IR of the named functions of a program.

    `main` needs the argument types of all kernels, so all are built when it is missing.
    """
    names = set(missing)
    kernels: dict[str, Kernel] = {
        name: request.build(name, target)
        for name, request in program.requests().items()
        if name in names or MAIN in names
    }
    texts = {
        name: function_text([kernel.function], target)
        for name, kernel in kernels.items()
        if name in names
    }
    if MAIN in names:
        texts[MAIN] = function_text(main_with_declarations(program, kernels), target)
    return texts


def main_with_declarations(
    program: Program, kernels: Mapping[str, Kernel]
) -> list[func.FuncOp]:
    """`main` and the declarations of what it calls."""
    main = build_main(program, kernels)
    main.sym_name = type(main.sym_name)(MAIN)
    externals = [declaration(kernel.function) for kernel in kernels.values()]
    return [barrier_declaration(), *externals, main]


def function_text(functions: list[func.FuncOp], target: Target) -> str:
    """The LLVM IR text of loops-level functions, whose vocabulary is checked here."""
    for function in functions:
        if function.body.blocks:
            function.sym_visibility = None
            verify_function(function)
    return emit_functions(lower_functions(functions, target), target)
