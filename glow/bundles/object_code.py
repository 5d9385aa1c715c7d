"""One relocatable object of a bundle: entries outside, kernels and mains inside.

Every symbol that it defines begins with the bundle's name, so that any number of bundles links
into one program. It needs nothing but `memcpy`, `memset` and what the compiler's own runtime has
for the target (names that begin with two underscores).

LLVM's optimization passes run here, which the compiler in the process does without: a bundle is
compiled once. None of them changes a result, as no operation permits that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from glow.backends.bundle_program import BundleFunction, BundleProgram
from glow.bundles.bundle import BundleSettings, entry_name
from glow.bundles.config_code import config_text
from glow.bundles.debug_code import CALLBACKS, callbacks_text
from glow.bundles.entry_code import (
    Machine,
    barrier_text,
    check_text,
    constants_text,
    entry_text,
    reset_declarations,
    reset_text,
    slice_text,
)
from glow.bundles.merge_kernels import merge_kernels
from glow.bundles.soft_floats import with_soft_floats
from glow.bundles.stack_bound import (
    call_graph,
    frames_told,
    matches_told,
    stack_bound,
    with_frame_warnings,
)
from glow.bundles.symbol_names import with_prefixed_symbols
from glow.bundles.wasm.object_file import LINKER_SYMBOLS, symbols_of
from glow.dialects.errors import GlowError
from glow.lowering.target.llvm_library import llvm
from glow.lowering.target.named_targets import NAMED_TARGETS
from glow.lowering.target.target import Target
from glow.runtime.native_code import emit_object, llvm_target, parse

C_LIBRARY = ("memcpy", "memset")
"""What an object may call of the C library; compilers need these for any C program."""

COMPILER_RUNTIME = "__"
"""What functions of the compiler's own runtime begin with (`__aeabi_fadd`, `__udivdi3`)."""

F64_FUNCTIONS = frozenset(
    "acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp exp2 expm1 floor fma fmod "
    "log log10 log1p log2 pow remainder rint round roundeven sin sinh sqrt tan tanh trunc".split()
)
"""The C library's functions of f64; those of f32 have an `f` behind."""

UNKNOWN_FEATURE = re.compile(r"'[-+](\S+)' is not a recognized feature")
"""What LLVM says of a feature, and leaves it out."""

HOSTED = ("linux", "darwin", "windows")
"""Systems, in LLVM's triples, that load programs where there is room."""

SPEED_LEVEL, SIZE_LEVEL, WIDE_LEVEL = 3, 2, 1
"""LLVM's levels of optimization: for speed, for size (with the attribute `minsize`), and for
vectors of 32 bytes or more. There tiles have enough to do in one turn of a loop: level 3 would
make twice the code, none of it faster. Of narrower ones it saves a fifth of the instructions.
"""

WIDE_BYTES = 32


class ObjectCode(NamedTuple):
    """A relocatable object, and the most that a call of it takes of the stack."""

    content: bytes
    stack_bytes: int


def bundle_object(
    program: BundleProgram, settings: BundleSettings, target: Target, checksum: int
) -> ObjectCode:
    """The object of a bundle's program, whose constants have a checksum."""
    text = bundle_text(program, settings, target, checksum)
    text = with_frame_warnings(with_soft_floats(text, target))
    machine = bundle_machine(target, settings)
    module = parse(text, target, machine)
    module.name = settings.name
    keep_inside(module, settings, entries(program, settings))
    level = optimization_level(settings, target)
    optimize(module, machine, level, unroll=unrolls_loops(level, target))
    found = emitted(module, machine, target)
    missing = missing_functions(found.content, target, settings)
    if missing:
        nodes = {
            name: node_that_calls(name, module, program, settings) for name in missing
        }
        raise missing_code(nodes, target)
    if target.is_wasm:  # Whose labels have no names.
        return found
    return found._replace(content=with_prefixed_symbols(found.content, settings.name))


def emitted(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, target: Target
) -> ObjectCode:
    """The object of a module, with the stack that its functions take together."""
    with frames_told() as frames:
        code = emit_object(module, machine)
    calls = call_graph(map(str, module.functions))
    is_alone = not symbols_of(code).undefined
    stack_bytes = stack_bound(calls, frames, target, calls_runtime=not is_alone)
    return ObjectCode(code, stack_bytes)


def entries(program: BundleProgram, settings: BundleSettings) -> set[str]:
    """The global symbols that an object defines."""
    found = set(entry_names(program, settings).values())
    if settings.api == "dynamic":
        found |= {f"{name}_config" for name in found}
    if settings.threads:
        found |= {f"{name}_slice" for name in entry_names(program, settings).values()}
    names = entry_names(program, settings)
    found |= {f"{names[each.name]}_reset" for each in stateful(program)}
    found.add(f"{settings.name}_check")
    if settings.weights == "linked":
        found.add(f"{settings.name}_constants")
    return found


def stateful(program: BundleProgram) -> Sequence[BundleFunction]:
    """The networks with variables."""
    return [each for each in program.functions if each.variables]


def entry_names(program: BundleProgram, settings: BundleSettings) -> Mapping[str, str]:
    """The symbols of the entries by network."""
    names = [function.name for function in program.functions]
    return {name: entry_name(settings.name, names, name) for name in names}


def bundle_text(
    program: BundleProgram, settings: BundleSettings, target: Target, checksum: int
) -> str:
    """The LLVM IR of everything."""
    own = "\n".join(
        [
            *shared_texts(program, settings, target, checksum),
            *entry_texts(program, settings, target),
        ]
    )
    is_small = settings.optimize == "size"
    kernels = merge_kernels(program.text) if is_small else program.text
    return "\n".join(
        [
            f'source_filename = "{settings.name}"',
            without_defined(kernels, own),
            own,
        ]
    )


def shared_texts(
    program: BundleProgram, settings: BundleSettings, target: Target, checksum: int
) -> Iterator[str]:
    """What all networks have in common."""
    machine = Machine(target.index_bits, program.alignment)
    yield check_text(settings.name, program.constants.nbytes, checksum, machine)
    if settings.weights == "linked":
        content = program.constants.tobytes()
        yield constants_text(settings.name, content, program.alignment)
    if settings.threads:
        yield barrier_text(machine)
    if stateful(program):
        yield reset_declarations(machine)
    if settings.debug_callbacks:
        yield callbacks_text(settings.name, program.functions, machine)


def entry_texts(
    program: BundleProgram, settings: BundleSettings, target: Target
) -> Iterator[str]:
    """The entries of each network, and its description."""
    machine = Machine(target.index_bits, program.alignment)
    names = entry_names(program, settings)
    for function in program.functions:
        entry = names[function.name]
        yield entry_text(entry, function, machine)
        if function.variables:
            yield reset_text(entry, function, machine)
        if settings.threads:
            yield slice_text(entry, function, machine)
        if settings.api == "dynamic":
            yield config_text(entry, function, program)


def without_defined(text: str, other: str) -> str:
    """Text without the declarations of functions that another text defines."""
    defined = set(re.findall(r"^define \S+ @(\w+)\(", other, re.MULTILINE))
    declared = re.compile(r"declare \S+ @(\w+)\(")
    return "\n".join(
        line
        for line in text.split("\n")
        if (found := declared.match(line)) is None or found[1] not in defined
    )


def bundle_machine(target: Target, settings: BundleSettings) -> llvm.TargetMachine:
    """The machine that generates the code; GlowError for a feature that LLVM does not know."""
    with matches_told(UNKNOWN_FEATURE) as unknown:
        machine = llvm_target(target.triple).create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=SPEED_LEVEL,
            reloc="pic" if is_position_independent(target, settings) else "static",
            codemodel="default",
            abiname=target.abi,
        )
    if unknown:
        architecture = target.triple.split("-")[0]
        raise GlowError(f"unknown feature '{unknown[0][1]}' of {architecture}")
    return machine


def is_position_independent(target: Target, settings: BundleSettings) -> bool:
    """Whether code runs wherever it is loaded, as programs of hosted systems do."""
    is_hosted = any(system in target.triple for system in HOSTED)
    return settings.pic or settings.shared or is_hosted


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


def optimization_level(settings: BundleSettings, target: Target) -> int:
    """How far LLVM's passes go."""
    if settings.optimize == "size":
        return SIZE_LEVEL
    return WIDE_LEVEL if target.vector_bytes >= WIDE_BYTES else SPEED_LEVEL


def unrolls_loops(level: int, target: Target) -> bool:
    """Whether LLVM may unroll loops.

    Engines of WebAssembly schedule code as it comes: the sums and weights of several taps at once
    leave their registers, in twice the code.
    """
    return level == SPEED_LEVEL and not target.is_wasm


def optimize(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, level: int, *, unroll: bool
) -> None:
    """Run LLVM's passes; kernels are vectors already."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    tuning.loop_unrolling = unroll
    with llvm.create_pass_builder(machine, tuning) as builder:
        with builder.getModulePassManager() as passes:
            passes.run(module, builder)


def missing_functions(
    code: bytes, target: Target, settings: BundleSettings
) -> list[str]:
    """What an object calls and the target does not have."""
    allowed = {*C_LIBRARY, *(f"{settings.name}_{each}" for each in CALLBACKS)}
    if target.is_wasm:  # Modules are linked with nothing but what the linker has.
        allowed = set(LINKER_SYMBOLS)
    return [
        name
        for name in symbols_of(code).undefined
        if name not in allowed
        and (target.is_wasm or not name.startswith(COMPILER_RUNTIME))
    ]


def row_name(target: Target) -> str:
    """The target's name in the table; its CPU where it has other features."""
    what = target.triple, target.cpu, target.features
    names = (
        name
        for name, row in NAMED_TARGETS.items()
        if (row.triple, row.cpu, row.features) == what
    )
    return next(names, target.cpu)


def missing_code(nodes: Mapping[str, str | None], target: Target) -> GlowError:
    """The error for functions that a target does not have, by the nodes that call them."""
    (first, *others) = dict.fromkeys(nodes.values())
    calls = [
        f"{name} (at node '{node}')" if others and node else name
        for name, node in nodes.items()
    ]
    hint = "an operator of the network has no code for this target"
    if not F64_FUNCTIONS.isdisjoint(nodes):
        hint = "bundles have such functions of f32 only: export the network in f32"
    return GlowError(
        f"the code for {row_name(target)} calls {', '.join(calls)}, which bundles do "
        "not have",
        node=None if others else first,
        hint=hint,
    )


def node_that_calls(
    name: str, module: llvm.ModuleRef, program: BundleProgram, settings: BundleSettings
) -> str | None:
    """The node whose kernel calls a function, perhaps as LLVM's own operation (`llvm.sin.f32`)."""
    called = re.compile(rf"@(llvm\.({name}|{name.removesuffix('f')})\.|{name}\()")
    for function in module.functions:
        if not function.is_declaration and called.search(str(function)):
            kernel = function.name.removeprefix(f"{settings.name}_")
            return program.kernels.get(kernel) or None
    return None
