"""A network that runs as it always does, side by side too, and tells when its kernels ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glow.backends.cpu.program.kernel_table import kernel_table
from glow.backends.cpu.report.kernel_profile import describe
from glow.backends.cpu.report.traced_function import (
    TracedProgram,
    build_traced_program,
)
from glow.backends.inspection import KernelRun
from glow.backends.pipeline import INSTR
from glow.compiled_model import CompiledModel
from glow.compiler import load, run_phases
from glow.lowering.target.target_names import runnable_target
from glow.runtime.native_function import Buffers, NativeFunction, StatefulFunction
from glow.signature import main_function, signature_of

if TYPE_CHECKING:
    from glow.backends.inspection import TellKernels
    from glow.compiler import Model
    from glow.dialects.weight_table import Array
    from glow.options import CompileOptions


class _TimedCalls(NativeFunction):
    """Reads the times behind the activations of each call."""

    traced: TracedProgram
    names: Sequence[tuple[str, str]]
    tell: TellKernels

    def _call(self, buffers: Buffers, threads: int | None) -> None:
        trace, count = self.traced.trace, self.traced.threads
        end = trace.offset + count * trace.thread_bytes
        bytes_ = buffers.activations[trace.offset : end]
        times = bytes_.view(np.int64).reshape(count, -1)
        times[:, 0] = 0
        super()._call(buffers, threads)
        self.tell(self._runs(times.tolist()))

    def _runs(self, times: Sequence[Sequence[int]]) -> list[KernelRun]:
        return [
            KernelRun(*name, thread, row[2 * call + 1], row[2 * call + 2])
            for thread, row in enumerate(times)
            if row[0]
            for call, name in enumerate(self.names)
        ]


class _TimedStateful(_TimedCalls, StatefulFunction):
    """The same of a network with variables."""


class TimedFunction:
    """What a compiled model calls; it cannot be stored, since it tells somebody here."""

    limits_threads = True

    def __init__(
        self, program: TracedProgram, threads: int | None, tell: TellKernels
    ) -> None:
        kind = _TimedStateful if program.native.variables else _TimedCalls
        self._function = kind(program.native, threads)
        self._function.traced = program
        self._function.names = [
            (call.kernel.label, describe(call)) for call in program.calls
        ]
        self._function.tell = tell
        program.fill(self._function.variables)
        native = program.native
        sizes = native.mutables_size + native.activations_size
        self.memory_bytes = native.constants.nbytes + sizes
        """What it takes while one call goes on."""

    @property
    def variables(self) -> Mapping[str, Array]:
        """What calls keep, by name."""
        return self._function.variables

    def run(self, inputs: Sequence[Array], threads: int | None = None) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        return self._function.run(inputs, threads)

    def run_into(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        threads: int | None = None,
    ) -> None:
        """Runs on the memory of arrays of the right shapes and dtypes."""
        self._function.run_into(inputs, outputs, threads)


def timed_model(
    model: Model, options: CompileOptions, tell: TellKernels
) -> CompiledModel:
    """A model, compiled anew, that tells when its kernels ran.

    Raises GlowError as `glow.compile` does, and OpenModelError for open sizes.
    """
    module = load(model, options)
    signature = signature_of(main_function(module))
    run_phases(module, INSTR, options)
    program = build_traced_program(
        module,
        runnable_target(options.target),
        options.threads,
        kernel_table(options.backend),
    )
    function = TimedFunction(program, options.threads, tell)
    return CompiledModel(signature, function, options.backend)
