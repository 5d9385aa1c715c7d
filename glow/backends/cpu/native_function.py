"""From a planned module to native code with its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from glow.backends.cpu.native_code import ObjectBuild
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cpu.program.program import Program
from glow.dialects.function_attributes import filled_outputs
from glow.dialects.glow.state import variables_of
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import Array, DeferredArray, dtype_of, release_pages
from glow.dialects.weights import weights_of
from glow.lowering.target.target import Target
from glow.runtime.buffers import aligned_empty
from glow.runtime.caches.object_cache import ObjectCache
from glow.runtime.constants import SHARED_BYTES, Piece
from glow.runtime.executable import Bytes
from glow.runtime.heap import trim
from glow.runtime.memory import check_memory
from glow.runtime.native_code import give_back, release_llvm, workers
from glow.runtime.native_function import NativeFunction, native_function
from glow.runtime.native_program import Argument, NativeProgram, NativeVariable
from glow.signature import buffer_infos, input_count, main_function

SINGLE_THREAD_BYTES = 1 << 19
"""A network that touches fewer bytes runs on the calling thread: it is done sooner than
another thread hears of it. Of larger ones calls are measured on one thread and on more, see
thread_choice.py. Results do not depend on it."""

LARGE_BYTES = 16 << 20
"""Weights for which memory that code generation has no use for is let go on the way."""

PIECE_BYTES = 4 << 20
"""What is copied at a time: tables of embeddings need not be in memory twice."""


def copy_letting_go(target: Array, source: Array) -> None:
    """Copies an array some rows at a time; pages of a file are let go behind."""
    targets, sources = np.atleast_1d(target), np.atleast_1d(source)
    rows = max(1, PIECE_BYTES * len(sources) // max(1, sources.nbytes))
    for start in range(0, len(sources), rows):
        piece = sources[start : start + rows]
        np.copyto(targets[start : start + rows], piece)
        release_pages(piece)


def let_go(program: Program) -> None:
    """Lets go of the pages of weights that passes have looked at."""
    for _, array in program.constants:
        source = array.source if isinstance(array, DeferredArray) else array
        if source is not None:
            release_pages(source)


def gather_constants(program: Program, pool: Executor) -> Bytes:
    """The constants space of a program, filled by a pool.

    It takes the program's constants: weights that are packed now are let go one by one,
    the largest first, so that memory holds little more than the space.
    """
    space = aligned_empty(program.sizes["constants"])

    def fill(offset: int, array: Array | DeferredArray) -> None:
        part = space[offset : offset + array.nbytes].view(array.dtype)
        if isinstance(array, DeferredArray):
            array.write(part.reshape(array.shape))
            if array.source is not None:
                release_pages(array.source)
        else:
            copy_letting_go(part.reshape(array.shape), array)

    clear_gaps(space, [(offset, array.nbytes) for offset, array in program.constants])
    program.constants.sort(key=lambda constant: constant[1].nbytes)
    filled: list[Future[None]] = []
    while program.constants:
        filled.append(pool.submit(fill, *program.constants.pop()))
    for future in filled:
        future.result()
    return space


def clear_gaps(space: Bytes, parts: Sequence[tuple[int, int]]) -> None:
    """Sets to zero what lies between parts, each an offset and a size.

    Fresh memory may hold anything of this process, and spaces are stored in files.
    """
    end = 0
    for offset, size in sorted(parts):
        space[end:offset] = 0
        end = offset + size
    space[end:] = 0


def pieces_of(program: Program) -> Sequence[Piece]:
    """The constants that are worth sharing, in order."""
    return sorted(
        (offset, array.nbytes)
        for offset, array in program.constants
        if array.nbytes >= SHARED_BYTES
    )


def writes_inputs(program: Program, count: int) -> bool:
    """Whether a call writes to one of the first `count` arguments."""
    return any(
        binding.space == "mutables" and 0 <= program.argument_at(binding) < count
        for call in program.calls()
        for binding in call.bindings[: call.writes]
    )


def build_native_function(
    module: ModuleOp,
    target: Target,
    threads: int | None,
    table: KernelTable,
    shares: bool = False,
) -> NativeFunction:
    """Compiles the main function of a planned instr module, and takes its weights.

    `shares` is whether its constants may be those of another program.
    """
    function = main_function(module)
    program = build_program(function, target, table)
    if shares:
        program.share(pieces_of(program))
    check_memory(
        {
            "weights": program.sizes["constants"],
            "variables, inputs and outputs": program.sizes["mutables"],
            "values between nodes": program.sizes["activations"],
        }
    )
    weights_of(module).clear()
    let_go(program)
    is_large = program.sizes["constants"] >= LARGE_BYTES
    if is_large:
        trim()
    with workers() as pool:
        build = ObjectBuild(program, target, ObjectCache(), pool)
        if is_large:
            pool.submit(release_llvm)
        constants = gather_constants(program, pool)
        objects = build.finish()
    give_back()
    arguments = native_arguments(function, program)
    count = input_count(function)
    native = NativeProgram(
        list(objects.values()),
        constants,
        program.sizes["mutables"],
        program.sizes["activations"],
        arguments[:count],
        arguments[count:],
        program.traffic() < SINGLE_THREAD_BYTES,
        target.cpu,
        writes_inputs(program, count),
        tuple(program.reports),
        native_variables(function, program),
        program.table_offset,
        pieces=program.pieces,
        filled=tuple(
            each._replace(output=each.output - count)
            for each in filled_outputs(function)
        ),
    )
    built = native_function(native, threads)
    fill_variables(program, built.variables)
    return built


def fill_variables(program: Program, views: Mapping[str, Array]) -> None:
    """Writes initial values that are not zeros to where variables are; takes the values."""
    for variable in program.variables:
        if isinstance(variable.value, DeferredArray):
            variable.value.write(views[variable.name])
        elif variable.value is not None:
            copy_letting_go(views[variable.name], variable.value)
    program.variables = ()


def native_arguments(function: FuncOp, program: Program) -> Sequence[Argument]:
    """Where the inputs and then the outputs of an instr function are in its program."""
    return [
        Argument(binding.offset, shape, dtype)
        for binding, (shape, dtype) in zip(
            program.arguments, buffer_infos(function), strict=True
        )
    ]


def native_variables(function: FuncOp, program: Program) -> Sequence[NativeVariable]:
    """Where the variables of an instr function are in its program."""
    ops = variables_of(function)
    places = [
        Argument(variable.binding.offset, shape_of(value), dtype_of(element_of(value)))
        for variable in program.variables
        for value in ops[variable.name].results
    ]
    return [
        NativeVariable(variable.name, place)
        for variable, place in zip(program.variables, places, strict=True)
    ]
