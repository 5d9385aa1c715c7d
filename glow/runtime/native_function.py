"""Native code of one network with its weights, callable from any thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from glow.runtime.executable import Bytes, Executable

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Argument:
    """Where an input or output lies in the mutables, and what it is."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def view(self, mutables: Bytes) -> Array:
        """The argument's part of the mutables as an array."""
        end = self.offset + prod(self.shape) * self.dtype.itemsize
        return mutables[self.offset : end].view(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class NativeProgram:
    """Everything that a network needs to run; what the cache of models stores."""

    objects: Sequence[bytes]
    constants: Bytes
    """Weights as the kernels read them."""
    mutables_size: int
    activations_size: int
    inputs: Sequence[Argument]
    outputs: Sequence[Argument]
    is_small: bool
    """Whether one thread is done sooner than another wakes up."""


class NativeFunction:
    """Runs native code; each concurrent call has buffers of its own."""

    def __init__(self, program: NativeProgram, threads: int | None) -> None:
        """`threads` are those of a call, by default one a core."""
        self.program = program
        self._executable = Executable(
            program.objects,
            program.constants,
            program.mutables_size,
            program.activations_size,
        )
        self._threads = 1 if program.is_small else threads or available_cores()
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
        for argument, array in zip(self.program.inputs, inputs, strict=True):
            np.copyto(argument.view(mutables), array)
        self._executable.run(mutables, activations, self._threads)
        results = [argument.view(mutables).copy() for argument in self.program.outputs]
        self._idle.append(buffers)
        return results


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
