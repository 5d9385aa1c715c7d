"""From a program to objects: cached kernels are loaded, the others built and compiled.

A kernel's key is its request (operation, shapes, layouts, epilogue), so networks share
kernels and a known network compiles nothing at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor, Future
from dataclasses import replace

from xdsl.dialects import func

from glow.backends.cpu.passes.instr_to_loops import build_main, declaration
from glow.backends.cpu.program.externals import (
    TraceRegion,
    barrier_declaration,
    tick_declaration,
)
from glow.backends.cpu.program.program import Program
from glow.garbage_collection import collect_new, new_objects_only
from glow.lowering.append import let_go
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target
from glow.runtime.caches.object_cache import ObjectCache, cache_key
from glow.runtime.native_code import (
    CODE_GENERATION_LEVEL,
    FAST_GENERATION_LEVEL,
    compile_object,
    workers,
)

MAIN = "main"

OBJECTS_A_COLLECTION = 10_000
"""Kernels leave up to a megabyte each behind, in cycles; what was there before them, the
modules and the program, would take longer to visit than they all do."""


def object_keys(program: Program, target: Target) -> dict[str, str]:
    """The cache keys of a program's kernels and of its main function, by name."""
    keys = {
        name: cache_key(f"{program.version}{name} {request.content}", target)
        for name, request in program.requests().items()
    }
    keys[MAIN] = cache_key(program.text(), target)
    return keys


class ObjectBuild:
    """The objects of a program, loaded from the cache or compiled by a pool.

    While the pool compiles the first kernels, the constructor builds the next ones;
    `finish` waits for the rest and stores what is new.
    """

    def __init__(
        self, program: Program, target: Target, cache: ObjectCache, pool: Executor
    ) -> None:
        self._cache = cache
        self._keys = object_keys(program, target)
        self._loaded = {
            name: entry[0]
            for name, key in self._keys.items()
            if (entry := cache.load(key)) is not None
        }
        missing = self._keys.keys() - self._loaded.keys()
        self._compiled: dict[str, Future[bytes]] = {}
        self._first_of: dict[str, str] = {}
        """The kernel that is compiled for those whose code is the same."""
        firsts: dict[bytes, str] = {}
        with new_objects_only():
            for name, text in missing_texts(program, target, missing):
                first = firsts.setdefault(nameless_digest(name, text), name)
                self._first_of[name] = first
                if first == name:
                    self._compiled[name] = pool.submit(
                        compile_object, text, target, generation_level(name)
                    )

    def finish(self) -> dict[str, bytes]:
        """The object of each kernel and of `main`, by name, in the program's order."""
        built = {
            name: renamed(self._compiled[first].result(), first, name)
            for name, first in self._first_of.items()
        }
        self._cache.store_all({self._keys[name]: [built[name]] for name in built})
        objects = self._loaded | built
        return {name: objects[name] for name in self._keys}


def nameless_digest(name: str, text: str) -> bytes:
    """What functions have in common whose texts differ in the name alone, of equal length.

    Kernels of planes do: how many there are is known to those who call them.
    """
    content = f"{len(name)} {text.replace(name, '')}"
    return hashlib.sha256(content.encode()).digest()


def renamed(code: bytes, old: str, new: str) -> bytes:
    """An object whose function has another name of the same length, in its table of strings."""
    return code.replace(old.encode(), new.encode())


def generation_level(name: str) -> int:
    """How much is done for a function's code: `main` only calls kernels."""
    return FAST_GENERATION_LEVEL if name == MAIN else CODE_GENERATION_LEVEL


def build_objects(
    program: Program, target: Target, cache: ObjectCache
) -> dict[str, bytes]:
    """The object of each kernel and of `main`, by name."""
    with workers() as pool:
        return ObjectBuild(program, target, cache, pool).finish()


def missing_texts(
    program: Program, target: Target, missing: AbstractSet[str]
) -> Iterator[tuple[str, str]]:
    """The names and the LLVM IR of the named functions of a program.

    `main` needs the argument types of all kernels, so all are built when it is missing;
    their bodies are let go.
    """
    kernels: dict[str, Kernel] = {}
    for name, request in program.requests().items():
        if not (name in missing or MAIN in missing):
            continue
        kernel = request.build(name, target)
        kernels[name] = replace(kernel, function=declaration(kernel.function))
        if name in missing:
            yield name, function_text([kernel.function], target)
        let_go(kernel.function)
        del kernel
        collect_new(OBJECTS_A_COLLECTION)
    if MAIN in missing:
        yield (
            MAIN,
            function_text(main_with_declarations(program, kernels, target), target),
        )


def main_with_declarations(
    program: Program,
    kernels: Mapping[str, Kernel],
    target: Target,
    trace: TraceRegion | None = None,
) -> list[func.FuncOp]:
    """`main` and the declarations of what it calls."""
    main = build_main(program, kernels, target, trace)
    main.sym_name = type(main.sym_name)(MAIN)
    externals = [declaration(kernel.function) for kernel in kernels.values()]
    clock = [] if trace is None else [tick_declaration(trace)]
    return [barrier_declaration(), *clock, *externals, main]


def function_text(functions: list[func.FuncOp], target: Target) -> str:
    """The LLVM IR text of loops-level functions, whose vocabulary is checked here.

    The code generator is imported here: a known network needs none.
    """
    from glow.lowering.llvm_text.emit import emit_functions
    from glow.lowering.loops_to_llvm.convert_loops_to_llvm import lower_functions
    from glow.lowering.loops_to_llvm.verify_loops import verify_function

    for function in functions:
        if function.body.blocks:
            function.sym_visibility = None
            verify_function(function)
    lowered = lower_functions(functions, target)
    text = emit_functions(lowered, target)
    for function in lowered:
        function.clear()
    return text
