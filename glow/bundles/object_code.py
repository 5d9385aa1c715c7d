"""One relocatable object of a bundle: entries outside, kernels and mains inside.

Every symbol that it defines begins with the bundle's name, so that any number of bundles links
into one program. It needs nothing but `memcpy`, `memset` and what the compiler's own runtime has
for the target (names that begin with two underscores).

LLVM's optimization passes run here, which the compiler in the process does without: a bundle is
compiled once. None of them changes a result, as no operation permits that.
"""

from __future__ import annotations

from collections.abc import Sequence

from glow.backends.bundle_program import BundleProgram
from glow.bundles.bundle import BundleSettings, entry_name
from glow.bundles.elf import ObjectSymbols
from glow.bundles.entry_code import (
    Machine,
    barrier_text,
    check_text,
    constants_text,
    entry_text,
    slice_text,
)
from glow.bundles.symbol_names import with_prefixed_symbols
from glow.dialects.errors import GlowError
from glow.lowering.target.llvm_library import llvm
from glow.lowering.target.target import Target
from glow.runtime.native_code import emit_object, llvm_target, parse

C_LIBRARY = ("memcpy", "memset")
"""What an object may call of the C library; compilers need these for any C program."""

SPEED_LEVEL, SIZE_LEVEL = 3, 2
"""LLVM's levels of optimization; for size with the attribute `minsize`."""


def bundle_object(
    program: BundleProgram, settings: BundleSettings, target: Target, checksum: int
) -> bytes:
    """The object of a bundle's program, whose constants have a checksum."""
    text = bundle_text(program, settings, target, checksum)
    machine = bundle_machine(target, settings)
    module = parse(text, target, machine)
    module.name = settings.name
    keep_inside(module, settings, entries(program, settings))
    optimize(module, machine, settings)
    code = emit_object(module, machine)
    check_undefined(code, target)
    return with_prefixed_symbols(code, settings.name)


def entries(program: BundleProgram, settings: BundleSettings) -> set[str]:
    """The global symbols that an object defines."""
    names = [function.name for function in program.functions]
    found = {entry_name(settings.name, names, name) for name in names}
    if settings.threads:
        found |= {f"{name}_slice" for name in found}
    found.add(f"{settings.name}_check")
    if settings.weights == "linked":
        found.add(f"{settings.name}_constants")
    return found


def bundle_text(
    program: BundleProgram, settings: BundleSettings, target: Target, checksum: int
) -> str:
    """The LLVM IR of everything."""
    machine = Machine(target.index_bits, program.alignment)
    names = [function.name for function in program.functions]
    size = program.constants.nbytes
    texts = [f'source_filename = "{settings.name}"', program.text]
    if settings.threads:
        text = barrier_text(machine, threaded=True)
        texts[1:] = [_without_declaration(program.text), text]
    for function in program.functions:
        entry = entry_name(settings.name, names, function.name)
        texts.append(entry_text(entry, function, machine))
        if settings.threads:
            texts.append(slice_text(entry, function, machine))
    texts.append(check_text(settings.name, size, checksum, machine))
    if settings.weights == "linked":
        content = program.constants.tobytes()
        texts.append(constants_text(settings.name, content, program.alignment))
    return "\n".join(texts)


def _without_declaration(text: str) -> str:
    """The text without the declaration of the barrier, which is defined now."""
    lines = text.split("\n")
    return "\n".join(
        line for line in lines if not line.startswith("declare void @glow_barrier(")
    )


def bundle_machine(target: Target, settings: BundleSettings) -> llvm.TargetMachine:
    """The machine that generates the code."""
    return llvm_target(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=SPEED_LEVEL,
        reloc="pic" if settings.pic or settings.shared else "static",
        codemodel="default",
        abiname=target.abi,
    )


def keep_inside(
    module: llvm.ModuleRef, settings: BundleSettings, public: set[str]
) -> None:
    """Give what callers do not see a name of the bundle, and let nobody else see it."""
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration or value.name in public:
            continue
        value.linkage = "internal"
        value.name = f"{settings.name}_{value.name}"
    for function in module.functions:
        if function.is_declaration:
            continue
        if settings.optimize == "size":
            function.add_function_attribute("optsize")
            function.add_function_attribute("minsize")
        is_main = function.name.startswith(f"{settings.name}_main_")
        if function.name not in public and not is_main:
            function.add_function_attribute("noinline")  # Reports tell kernels apart.


def optimize(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, settings: BundleSettings
) -> None:
    """Run LLVM's passes; kernels are vectors already."""
    level = SIZE_LEVEL if settings.optimize == "size" else SPEED_LEVEL
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    tuning.loop_unrolling = settings.optimize == "speed"
    with llvm.create_pass_builder(machine, tuning) as builder:
        with builder.getModulePassManager() as passes:
            passes.run(module, builder)


def check_undefined(code: bytes, target: Target) -> None:
    """Raise GlowError for an object that calls what the target does not have."""
    missing = foreign(ObjectSymbols(code).undefined)
    if missing:
        raise GlowError(
            f"the code for {target.cpu} calls {', '.join(missing)}, which bundles do not "
            "have",
            hint="an operator of the network has no code for this target",
        )


def foreign(names: Sequence[str]) -> Sequence[str]:
    """The names that neither a compiler's runtime nor the two functions of C have."""
    return [
        name for name in names if name not in C_LIBRARY and not name.startswith("__")
    ]
