"""Native code of one network with its weights, callable from any thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from types import MappingProxyType

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import FilledOutput
from glow.runtime.argument_addresses import address_of, argument_addresses
from glow.runtime.array_pool import ArrayPool
from glow.runtime.buffers import IN_PLACE_BYTES, aligned_empty
from glow.runtime.constants import shared_segment
from glow.runtime.executable import Executable
from glow.runtime.native_program import (
    Array,
    NativeProgram,
    argument_table,
    initial_bytes,
    piece_table,
    variable_views,
    with_values,
)
from glow.runtime.threads.cores import available_cores
from glow.runtime.threads.thread_choice import ThreadChoice
from glow.runtime.threads.thread_pool import thread_pool

NO_VARIABLES: Mapping[str, Array] = MappingProxyType({})

RESULTS_KEPT = 3
"""Memory for the results of so many calls is kept: a caller has the last ones while the next ones
are written, and may keep some to compare. What nobody keeps at once is never taken."""


class Buffers:
    """Memory of one call: views of its inputs and outputs, and where it all is."""

    __slots__ = (
        "activations",
        "activations_address",
        "inputs",
        "mutables",
        "mutables_address",
        "outputs",
        "places",
        "reports",
    )

    def __init__(
        self,
        program: NativeProgram,
        executable: Executable,
        distances: Sequence[int] = (),
    ) -> None:
        """`distances` are those of the program's pieces."""
        self.mutables = executable.new_mutables()
        self.activations = executable.new_activations()
        self.mutables_address: int = self.mutables.ctypes.data
        self.activations_address: int = self.activations.ctypes.data
        self.places: Sequence[int] = ()
        """What the table of arguments says."""
        self.inputs = [argument.view(self.mutables) for argument in program.inputs]
        self.outputs = [argument.view(self.mutables) for argument in program.outputs]
        start = program.table_offset + argument_table(program).size
        self.reports = self.mutables.data[start : start + len(program.reports)]
        self.reports[:] = bytes(len(program.reports))
        if distances:
            start = program.piece_table_offset
            piece_table(program).pack_into(self.mutables.data, start, *distances)


class NativeFunction:
    """Runs native code; each concurrent call has buffers of its own."""

    limits_threads = True
    """Whether `run` and `run_into` take the most threads of a call."""

    def __init__(self, program: NativeProgram, threads: int | None) -> None:
        """`threads` are those of a call, by default one a core."""
        self.threads = threads
        shared = (program.constants, program.pieces, program.digests)
        self.segment = shared_segment(*shared) if program.pieces else None
        """The constants, where programs share them."""
        self.program = program
        self._distances = self.segment.distances() if self.segment else ()
        self._executable = Executable(
            program.objects,
            program.constants,
            program.mutables_size,
            program.activations_size,
            thread_pool(),
        )
        self._used_threads = 1 if program.is_small else threads or available_cores()
        self._choice = ThreadChoice(self._used_threads)
        self._table = argument_table(program)
        self._own_places = [a.offset for a in (*program.inputs, *program.outputs)]
        self._quiet = bytes(len(program.reports))
        """The reports of a call without an error."""
        self._idle: deque[Buffers] = deque()
        size = sum(a.size for a in (*program.inputs, *program.outputs))
        self._is_in_place = size >= IN_PLACE_BYTES and not program.writes_inputs
        self._results = ArrayPool(RESULTS_KEPT * len(program.outputs))

    @property
    def variables(self) -> Mapping[str, Array]:
        """What calls keep, by name."""
        return NO_VARIABLES

    def stored(self) -> NativeProgram:
        """The program, to be stored: with all constants, whoever has them here."""
        if self.segment is None:
            return self.program
        constants, digests = self.segment.complete(), self.segment.digests
        return replace(self.program, constants=constants, digests=digests)

    @property
    def constants_bytes(self) -> int:
        """The bytes of constants that no other program has."""
        if self.segment is None:
            return self.program.constants.nbytes
        return self.segment.own_bytes

    @property
    def details(self) -> str:
        """What the code is for and what it takes, in a few words."""
        program = self.program
        return (
            f"target {program.target}, arena {program.activations_size} bytes, "
            f"weights {program.constants.nbytes} bytes"
        )

    def run(self, inputs: Sequence[Array], threads: int | None = None) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes.

        Large ones stay where they are: inputs are read there, and outputs are written where
        earlier ones were that nobody has any more. `threads` is the most that this call takes,
        where that is less than others do.
        """
        if self._is_in_place:
            return self._run_in_place(inputs, threads)
        buffers = self._take_buffers()
        if buffers.places is not self._own_places:
            self._place(buffers, self._own_places)
        for view, array in zip(buffers.inputs, inputs, strict=True):
            view[...] = array
        for filled in self.program.filled:
            filled.fill(inputs, buffers.outputs)
        self._call(buffers, threads)
        results = [view.copy() for view in buffers.outputs]
        self._give_back(buffers)
        return results

    def _run_in_place(
        self, inputs: Sequence[Array], threads: int | None
    ) -> list[Array]:
        """The outputs, in memory of their own; inputs are copied only where they must be."""
        taken = [np.require(array, None, ["C", "A"]) for array in inputs]
        results = [self.new_result(n) for n in range(len(self.program.outputs))]
        for filled in self.program.filled:
            filled.fill(inputs, results)
        arrays = (*taken, *results)
        self._run_at(list(map(address_of, arrays)), arrays, threads)
        return results

    def new_result(self, number: int) -> Array:
        """An array for an output, of whatever numbers, where one was that nobody has."""
        output = self.program.outputs[number]
        return self._results.take(output.shape, output.dtype)

    @property
    def filled(self) -> Sequence[FilledOutput]:
        """The inputs that a call writes into outputs, and nobody else reads."""
        return self.program.filled

    @property
    def output_shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the outputs."""
        return [output.shape for output in self.program.outputs]

    def run_filled(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        threads: int | None = None,
    ) -> None:
        """`run_into`, where inputs are in outputs, and all arrays are contiguous and apart."""
        if self.program.writes_inputs:
            inputs = [array.copy() for array in inputs]
        arrays = (*inputs, *outputs)
        self._run_at(list(map(address_of, arrays)), arrays, threads)

    def run_into(
        self,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        threads: int | None = None,
    ) -> None:
        """Runs on the memory of arrays of the right shapes and dtypes, without copies.

        `threads` is the most that this call takes, where that is less than others do. Raises
        GlowError for arrays that are not contiguous, or outputs that cannot be
        written or overlap with another array.
        """
        if self.program.writes_inputs:
            inputs = [array.copy() for array in inputs]
        addresses = argument_addresses(inputs, outputs)
        for filled in self.program.filled:
            filled.fill(inputs, outputs)
        self._run_at(addresses, (*inputs, *outputs), threads)

    def _run_at(
        self, addresses: Sequence[int], arrays: Sequence[Array], threads: int | None
    ) -> None:
        """Runs on the memory of arrays, which is at these addresses."""
        buffers = self._take_buffers()
        start = buffers.mutables_address
        self._place(buffers, [address - start for address in addresses])
        self._call(buffers, threads)
        self._give_back(buffers)

    def _place(self, buffers: Buffers, places: Sequence[int]) -> None:
        """Tells the native code where the arguments are."""
        start = self.program.table_offset
        self._table.pack_into(buffers.mutables.data, start, *places)
        buffers.places = places

    def _take_buffers(self) -> Buffers:
        try:
            return self._idle.pop()
        except IndexError:
            return Buffers(self.program, self._executable, self._distances)

    def _give_back(self, buffers: Buffers) -> None:
        self._idle.append(buffers)

    def _call(self, buffers: Buffers, threads: int | None) -> None:
        run_at, most = self._executable.run_at, self._used_threads
        mutables, activations = buffers.mutables_address, buffers.activations_address
        if most == 1:
            run_at(mutables, activations, 1)
        elif threads is None or threads >= most:
            self._choice.run(lambda count: run_at(mutables, activations, count))
        else:
            run_at(mutables, activations, threads)
        if self._quiet and bytes(buffers.reports) != self._quiet:
            self._raise_report(buffers)

    def _raise_report(self, buffers: Buffers) -> None:
        """Raise GlowError for the first error that was noted, and forget them all."""
        node, error = self.program.reports[bytes(buffers.reports).index(1)]
        buffers.reports[:] = self._quiet
        self._give_back(buffers)
        raise GlowError(error, node=node)


class StatefulFunction(NativeFunction):
    """Native code with variables: one set of mutables, so that one call goes on at a time."""

    def __init__(self, program: NativeProgram, threads: int | None) -> None:
        """The variables have their initial values, which the program has no more."""
        variables = tuple(replace(each, initial=None) for each in program.variables)
        rest = replace(program, variables=variables, initial=aligned_empty(0))
        super().__init__(rest, threads)
        self._is_in_place = False  # An input may be the memory of a variable.
        self._lock = Lock()
        self._buffers = Buffers(rest, self._executable, self._distances)
        mutables = self._buffers.mutables
        self._views = variable_views(rest, mutables)
        for each in program.variables:
            if (initial := initial_bytes(program, each)) is not None:
                each.bytes_of(mutables)[:] = initial

    @property
    def variables(self) -> Mapping[str, Array]:
        """What calls keep, by name: views of the mutables."""
        return self._views

    def stored(self) -> NativeProgram:
        """The program, the variables beginning with the values that they have now."""
        with self._lock:
            return with_values(super().stored(), self._views)

    @property
    def details(self) -> str:
        """What the code is for and what it takes, in a few words."""
        size = sum(view.nbytes for view in self.variables.values())
        return f"{super().details}, variables {size} bytes"

    def copy(self) -> StatefulFunction:
        """The same code with variables of its own, which have the values of these."""
        return StatefulFunction(self.stored(), self.threads)

    def run(self, inputs: Sequence[Array], threads: int | None = None) -> list[Array]:
        """The outputs for inputs of the right shapes and dtypes."""
        with self._lock:
            return super().run(inputs, threads)

    def _run_at(
        self, addresses: Sequence[int], arrays: Sequence[Array], threads: int | None
    ) -> None:
        """Runs on the memory of arrays; raises GlowError for that of a variable."""
        start = self._buffers.mutables_address
        end = start + self.program.table_offset
        for number, address in enumerate(addresses):
            if address < end and start < address + arrays[number].nbytes:
                first = len(self.program.inputs)
                kind = "input" if number < first else "output"
                number -= 0 if number < first else first
                raise GlowError(
                    f"{kind} {number} must not share memory with a variable",
                    hint="pass a copy",
                )
        with self._lock:
            super()._run_at(addresses, arrays, threads)

    def _take_buffers(self) -> Buffers:
        return self._buffers

    def _give_back(self, buffers: Buffers) -> None:
        """The buffers are there for the next call."""


def native_function(program: NativeProgram, threads: int | None) -> NativeFunction:
    """Native code ready to run, with variables if the program has some."""
    kind = StatefulFunction if program.variables else NativeFunction
    return kind(program, threads)
