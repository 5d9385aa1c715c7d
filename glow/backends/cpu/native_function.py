"""Native code of one network with its weights, callable from any thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.native_code import ObjectBuild
from glow.dialects.weight_table import Array, DeferredArray, release_pages
from glow.dialects.weights import weights_of
from glow.lowering.instr_to_loops.instr_to_loops import build_program
from glow.lowering.instr_to_loops.program import Place, Program
from glow.lowering.target import Target
from glow.runtime.buffers import aligned_empty
from glow.runtime.executable import Bytes, Executable
from glow.runtime.native_code import workers
from glow.runtime.object_cache import ObjectCache
from glow.signature import buffer_infos, input_count, main_function

SINGLE_THREAD_BYTES = 1 << 20
"""A network that touches fewer bytes runs on the calling thread: it is done sooner than
another thread wakes up. Results do not depend on it."""


@dataclass(frozen=True)
class Argument:
    """Where an input or output lies in the mutables, and what it is."""

    place: Place
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def view(self, mutables: Bytes) -> Array:
        """The argument's part of the mutables as an array."""
        end = self.place.offset + self.place.size
        return mutables[self.place.offset : end].view(self.dtype).reshape(self.shape)


class NativeFunction:
    """Runs native code; each concurrent call has buffers of its own."""

    def __init__(
        self,
        executable: Executable,
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        threads: int,
    ) -> None:
        self._executable = executable
        self._inputs = inputs
        self._outputs = outputs
        self._threads = threads
        self._idle: deque[tuple[Bytes, Bytes]] = deque()

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        try:
            buffers = self._idle.pop()
        except IndexError:
            buffers = (
                self._executable.new_mutables(),
                self._executable.new_activations(),
            )
        mutables, activations = buffers
        for argument, array in zip(self._inputs, inputs, strict=True):
            np.copyto(argument.view(mutables), array)
        self._executable.run(mutables, activations, self._threads)
        results = [argument.view(mutables).copy() for argument in self._outputs]
        self._idle.append(buffers)
        return results


def gather_constants(program: Program, pool: Executor) -> Bytes:
    """The constants segment of a program, filled by a pool.

    It takes the program's constants: weights that are packed now are let go one by one,
    the largest first, so that memory holds little more than the segment.
    """
    segment = aligned_empty(program.sizes["constants"])

    def fill(offset: int, array: Array | DeferredArray) -> None:
        part = segment[offset : offset + array.nbytes].view(array.dtype)
        if isinstance(array, DeferredArray):
            array.write(part.reshape(array.shape))
            if array.source is not None:
                release_pages(array.source)
        else:
            np.copyto(part.reshape(array.shape), array)

    program.constants.sort(key=lambda constant: constant[1].nbytes)
    filled: list[Future[None]] = []
    while program.constants:
        filled.append(pool.submit(fill, *program.constants.pop()))
    for future in filled:
        future.result()
    return segment


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def build_native_function(
    module: ModuleOp, target: Target, threads: int | None
) -> NativeFunction:
    """Compiles the main function of a planned instr module, and takes its weights."""
    function = main_function(module)
    program = build_program(function, target)
    weights_of(module).clear()
    with workers() as pool:
        build = ObjectBuild(program, target, ObjectCache(), pool)
        constants = gather_constants(program, pool)
        objects = build.finish()
    executable = Executable(
        list(objects.values()),
        constants,
        program.sizes["mutables"],
        program.sizes["activations"],
    )
    arguments = [
        Argument(place, shape, dtype)
        for place, (shape, dtype) in zip(
            program.arguments, buffer_infos(function), strict=True
        )
    ]
    count = input_count(function)
    small = program.traffic() < SINGLE_THREAD_BYTES
    return NativeFunction(
        executable,
        arguments[:count],
        arguments[count:],
        1 if small else threads or available_cores(),
    )
