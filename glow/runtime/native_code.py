"""From LLVM IR text to native code: objects, assembly and linked libraries.

No LLVM pass runs: the kernel builders vectorise and the lowering hoists, so code
generation at level 2 is all that is left (measured: equal speed, a fifth of the time).

llvmlite takes one global lock around every call, which makes threads useless; code
generation itself is safe where each module has a context and a target machine of its
own. So the emit function is called below that lock, in a pool of threads, and
through the lock where llvmlite no longer has the private attribute.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import itertools
import weakref
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from llvmlite.binding import ffi

from glow.dialects.errors import GlowError
from glow.lowering.target.llvm_library import PAGES, llvm
from glow.lowering.target.target import Target
from glow.runtime.heap import trim
from glow.runtime.seldom import Seldom
from glow.runtime.threads.cores import available_cores

CODE_GENERATION_LEVEL = 2
FAST_GENERATION_LEVEL = 0
"""For code that runs once a call: a tenth of the time."""

WORKERS = 2
"""Threads that generate code: more would wait for the one that builds kernels."""


@cache
def initialize_native() -> None:
    """Registers this machine with LLVM: the code for all machines takes 10 MB."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def initialize_all() -> None:
    """Registers all machines with LLVM."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def llvm_target(triple: str) -> llvm.Target:
    """Returns what LLVM knows about the machines of a triple."""
    initialize_native()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError:
        initialize_all()
        return llvm.Target.from_triple(triple)


def target_machine(
    target: Target, level: int = CODE_GENERATION_LEVEL
) -> llvm.TargetMachine:
    """Returns a new target machine; they must not be shared between threads."""
    return llvm_target(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic",
        codemodel="default",
        abiname=target.abi,
    )


class Machines:
    """Target machines that nobody works with: a new one costs as much as a small kernel.

    Each belongs to one thread at a time.
    """

    def __init__(self) -> None:
        self._idle: defaultdict[tuple[Target, int], list[llvm.TargetMachine]]
        self._idle = defaultdict(list)

    @contextlib.contextmanager
    def taken(self, target: Target, level: int) -> Generator[llvm.TargetMachine]:
        """A target machine for the time of a block."""
        idle = self._idle[target, level]
        try:
            machine = idle.pop()
        except IndexError:
            machine = target_machine(target, level)
        yield machine
        idle.append(machine)

    def clear(self) -> None:
        """Let go of those that are idle: each takes half a megabyte."""
        self._idle.clear()


_machines = Machines()


def parse(text: str, target: Target, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """Returns the verified module in a context of its own.

    Raises GlowError for text that LLVM rejects, which is a defect of ours.
    """
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(text, context=context)
        # Garbage in a cycle, as an error's frames are, ends in any order: the context after it.
        weakref.finalize(module, id, context).atexit = False
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise GlowError(f"LLVM rejects the generated code: {error}") from error
    return module


def compile_object(
    text: str, target: Target, level: int = CODE_GENERATION_LEVEL
) -> bytes:
    """Returns the relocatable object of LLVM IR text."""
    with _machines.taken(target, level) as machine:
        return emit_object(parse(text, target, machine), machine)


def workers() -> ThreadPoolExecutor:
    """Returns a pool of threads that compile objects; it starts them when needed."""
    return ThreadPoolExecutor(min(WORKERS, available_cores()), "glow-compile")


def release_llvm() -> None:
    """Lets go of LLVM's pages, which come back with the next code that is generated."""
    PAGES.release()


def _give_back() -> None:
    _machines.clear()
    release_llvm()
    trim()


give_back = Seldom(_give_back, 1.0)
"""Gives the system what a compilation leaves in memory, within a second. To let go of
LLVM's pages and read them again takes a third of the time that a small network takes."""


def assembly(text: str, target: Target) -> str:
    """Returns the assembly text of LLVM IR text."""
    with _machines.taken(target, CODE_GENERATION_LEVEL) as machine:
        return machine.emit_assembly(parse(text, target, machine))


def emit_object(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> bytes:
    """Returns a module's object, generated outside llvmlite's global lock."""
    emit = unlocked_emit()
    if emit is None:
        return machine.emit_object(module)
    with ffi.OutputString() as error:
        buffer = emit(machine, module, 1, error)
        if not buffer:
            raise GlowError(f"LLVM cannot generate code: {error}")
    start = ffi.lib.LLVMPY_GetBufferStart(buffer)
    try:
        return ctypes.string_at(start, ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@cache
def unlocked_emit() -> Callable[..., int] | None:
    """Returns llvmlite's emit function without its lock, None where it is not found."""
    return getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)


# Linking -----------------------------------------------------------------------------

_library_numbers = itertools.count()


@cache
def linker() -> llvm.LLJIT:
    """Returns the process-wide linker of native code."""
    initialize_native()
    for name in ("m", "gcc_s"):
        path = ctypes.util.find_library(name)
        if path:
            with contextlib.suppress(RuntimeError):
                llvm.load_library_permanently(path)
    return llvm.create_lljit_compiler(suppress_errors=True)


class LinkedLibrary:
    """What LLVM's linker made of objects; lives as long as this object does."""

    def __init__(
        self,
        objects: Sequence[bytes],
        symbols: Sequence[str],
        imports: Mapping[str, int],
    ):
        builder = llvm.JITLibraryBuilder().add_current_process()
        for image in objects:
            builder.add_object_img(image)
        for name in symbols:
            builder.export_symbol(name)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        name = f"glow{next(_library_numbers)}"
        try:
            self._tracker = builder.link(linker(), name)
        except RuntimeError as error:
            raise GlowError(f"native code cannot be linked: {error}") from error

    def address(self, name: str) -> int:
        """Returns the address of an exported function."""
        return self._tracker[name]
