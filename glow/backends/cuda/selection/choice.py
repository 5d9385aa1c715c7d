"""What a row of the table is, and what it chooses by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glow.backends.cpu.program.program import Invocation, Repetition
from glow.backends.cuda.kernels.contraction_spec import Precision
from glow.dialects import instr
from glow.lowering.target.gpu_machine import GpuMachine


@dataclass(frozen=True)
class Choice:
    """What a row chooses by: the figures of the GPU, and how f32 is multiplied."""

    machine: GpuMachine
    precision: Precision = "default"


Calls = Sequence[Invocation | Repetition]

Row = Callable[[instr.InstructionOp, Choice], Calls | str]
"""The kernels of an instruction, or why there are none."""
