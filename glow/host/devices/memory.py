"""What a model takes in memory: its weights once, and buffers for each call at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glow.compiled_model import CompiledModel
from glow.runtime.constants import Segment, bytes_of
from glow.runtime.native_function import NativeFunction

if TYPE_CHECKING:
    from glow.specialized_model import RunnableModel


def model_memory(model: RunnableModel, calls: int) -> int:
    """The bytes that a model takes while so many calls of it run at a time.

    A model with open sizes takes what its programs do that are there so far; constants that
    they share count once. For functions of other packages it is what `memory_bytes` tells.
    """
    programs = [model] if isinstance(model, CompiledModel) else model.programs()
    segments: list[Segment] = []
    total = 0
    for program in programs:
        function = program.function
        if isinstance(function, NativeFunction):
            native = function.program
            if function.segment is None:
                total += native.constants.nbytes
            else:
                segments.append(function.segment)
            total += calls * (native.mutables_size + native.activations_size)
        else:
            total += getattr(function, "memory_bytes", 0)
    return total + bytes_of(segments)
