"""Native code of one network that notes when each thread begins and ends each call.

It is the program that runs without traces, with a look at the clock around every kernel
call, so that calls find the caches as they are and threads wait for each other as they
do. The times lie behind the activations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from glow.backends.cpu.native_code import (
    MAIN,
    build_objects,
    function_text,
    main_with_declarations,
)
from glow.backends.cpu.native_function import (
    SINGLE_THREAD_BYTES,
    fill_variables,
    gather_constants,
    native_variables,
    writes_inputs,
)
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.externals import TraceRegion
from glow.backends.cpu.program.kernel_table import KernelTable
from glow.backends.cpu.program.program import KernelCall, Program, Step
from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array
from glow.dialects.weights import weights_of
from glow.lowering.target.target import Target
from glow.passes.instr.buffers import aligned
from glow.runtime.caches.object_cache import ObjectCache
from glow.runtime.executable import Executable
from glow.runtime.native_code import FAST_GENERATION_LEVEL, compile_object, workers
from glow.runtime.native_program import (
    Argument,
    NativeProgram,
    argument_table,
    variable_views,
)
from glow.runtime.threads.clock import tick_object
from glow.runtime.threads.cores import available_cores
from glow.runtime.threads.thread_pool import thread_pool
from glow.signature import buffer_infos, input_count, main_function

Nanoseconds = npt.NDArray[np.int64]

TICK_BYTES = 8


def calls_in_order(steps: Sequence[Step]) -> Iterator[KernelCall]:
    """All calls as they run, those of loops each time.

    Raises GlowError where that depends on data.
    """
    for step in steps:
        if isinstance(step, KernelCall):
            yield step
            continue
        if step.trip_count is None:
            raise GlowError(
                "kernels cannot be timed in a network whose data decides which of them "
                "run: it has branches, or loops of unknown length"
            )
        for _ in range(step.trip_count):
            for part in step.parts:
                yield from calls_in_order(part)


class TracedFunction:
    """A network that may be run by one thread at a time; `times` tells of the last run."""

    def __init__(
        self, program: NativeProgram, trace: TraceRegion, threads: int
    ) -> None:
        self._program = program
        self._executable = Executable(
            program.objects,
            program.constants,
            program.mutables_size,
            program.activations_size,
            thread_pool(),
        )
        self._mutables = self._executable.new_mutables()
        self.variables = variable_views(program, self._mutables)
        places = [a.offset for a in (*program.inputs, *program.outputs)]
        start = program.table_offset
        argument_table(program).pack_into(self._mutables.data, start, *places)
        self._activations = self._executable.new_activations()
        end = trace.offset + threads * trace.thread_bytes
        bytes_ = self._activations[trace.offset : end]
        self._trace: Nanoseconds = bytes_.view(np.int64).reshape(threads, -1)
        self.used = threads

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        for argument, array in zip(self._program.inputs, inputs, strict=True):
            np.copyto(argument.view(self._mutables), array)
        self._trace[:, 0] = 0
        threads = len(self._trace)
        self.used = self._executable.run(self._mutables, self._activations, threads)
        return [
            argument.view(self._mutables).copy() for argument in self._program.outputs
        ]

    def times(self) -> Nanoseconds:
        """Begin and end of each call, [threads, calls, 2], in the last run."""
        count = int(self._trace[0, 0])
        return self._trace[: self.used, 1 : 1 + count].reshape(self.used, -1, 2).copy()


@dataclass(frozen=True)
class TracedProgram:
    """Native code that notes times, and where it does."""

    native: NativeProgram
    trace: TraceRegion
    threads: int
    """How many there is room for."""
    calls: Sequence[KernelCall]
    """In the order in which they run."""
    fill: Callable[[Mapping[str, Array]], None]
    """Writes the initial values of variables, once."""


def build_traced_function(
    module: ModuleOp, target: Target, threads: int | None, table: KernelTable
) -> tuple[TracedFunction, Sequence[KernelCall]]:
    """The traced main function of a planned instr module, and its calls in order.

    It takes the module's weights, and runs on as many threads as without traces.
    """
    program = build_traced_program(module, target, threads, table)
    traced = TracedFunction(program.native, program.trace, program.threads)
    program.fill(traced.variables)
    return traced, program.calls


def build_traced_program(
    module: ModuleOp, target: Target, threads: int | None, table: KernelTable
) -> TracedProgram:
    """The traced program of a planned instr module, whose weights it takes."""
    function = main_function(module)
    program = build_program(function, target, table)
    weights_of(module).clear()
    calls = list(calls_in_order(program.steps))
    is_small = program.traffic() < SINGLE_THREAD_BYTES
    count = 1 if is_small else threads or available_cores()
    objects = build_objects(program, target, ObjectCache())
    offset = aligned(program.sizes["activations"])
    trace = TraceRegion(offset, aligned((1 + 2 * len(calls)) * TICK_BYTES))
    program.sizes["activations"] = offset + count * trace.thread_bytes
    with workers() as pool:
        constants = gather_constants(program, pool)
    infos = zip(program.arguments, buffer_infos(function), strict=True)
    arguments = [Argument(place.offset, *info) for place, info in infos]
    first = input_count(function)
    native = NativeProgram(
        [*with_traced_main(objects, program, target, trace).values(), tick_object()],
        constants,
        program.sizes["mutables"],
        program.sizes["activations"],
        arguments[:first],
        arguments[first:],
        is_small,
        target.cpu,
        writes_inputs(program, first),
        tuple(program.reports),
        native_variables(function, program),
        program.table_offset,
    )
    return TracedProgram(native, trace, count, calls, partial(fill_variables, program))


def with_traced_main(
    objects: Mapping[str, bytes], program: Program, target: Target, trace: TraceRegion
) -> Mapping[str, bytes]:
    """The objects of a program, its main function with a look at the clock."""
    kernels = {
        name: request.build(name, target)
        for name, request in program.requests().items()
    }
    text = function_text(
        main_with_declarations(program, kernels, target, trace), target
    )
    return {**objects, MAIN: compile_object(text, target, FAST_GENERATION_LEVEL)}
