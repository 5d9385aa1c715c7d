"""What a kernel builder asks of the element-wise work fused into its stores."""

from collections.abc import Sequence
from typing import Literal, Protocol

from glow.lowering.instr_to_loops.builder import LoopBuilder
from xdsl.ir import SSAValue

ExtraInput = Literal["full", "channel", "scalar"]
"""How an extra input of an epilogue is laid out.

`full`: like the kernel's output, read at the same positions; `channel`: one value per output
channel, [OCB, lanes] beside a blocked output and [OC] beside a plain one; `scalar`: one element.
"""


class Epilogue(Protocol):
    """Element-wise work on a register tile just before it is stored.

    Implementations are hashable, because kernels are shared by equal specs. Tiles may overlap,
    so a `full` extra must not alias the output.
    """

    @property
    def extra_inputs(self) -> tuple[ExtraInput, ...]:
        """The inputs that `apply` takes besides the accumulator, in argument order."""
        ...

    def apply(
        self, builder: LoopBuilder, accumulator: SSAValue, extras: Sequence[SSAValue]
    ) -> SSAValue:
        """The value to store; all operands and the result have the accumulator's type."""
        ...
