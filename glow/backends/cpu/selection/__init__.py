"""Which kernel serves which instruction, one table a theme.

A selector reads an instruction's shapes and attributes and returns the kernel requests
with their buffers. A row is for the instruction of a node, or for one without a node.
"""

from collections.abc import Sequence

from glow.backends.cpu.program.kernel_table import KernelRows, Selectors
from glow.backends.cpu.program.program import Invocation, KernelSelector, Repetition
from glow.backends.cpu.selection import (
    convolution,
    dynamic,
    elementwise,
    indexing,
    integers,
    matmul,
    movement,
    normalization,
    recurrence,
    weights,
)
from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.node import node_name
from glow.dialects.quantized import any_quantized
from glow.lowering.target.target import Target


def _of_plain_elements(selector: KernelSelector) -> KernelSelector:
    """The selector for instructions on numbers: ours know no scales and zero points."""

    def select(
        op: instr.InstructionOp, target: Target
    ) -> Sequence[Invocation | Repetition]:
        if any_quantized(op.operand_types):
            name = op.name.removeprefix("instr.")
            raise GlowError(
                f"the cpu backend computes {name} of plain integers, not quantized ones",
                node=node_name(op),
            )
        return selector(op, target)

    return select


_OF_NUMBERS: Selectors = {
    **elementwise.SELECTORS,
    **convolution.SELECTORS,
    **matmul.SELECTORS,
    **integers.SELECTORS,
    **normalization.SELECTORS,
    **movement.SELECTORS,
    **indexing.SELECTORS,
    **dynamic.SELECTORS,
    **recurrence.SELECTORS,
    **weights.SELECTORS,
}

SELECTORS: Selectors = KernelRows(
    {key: _of_plain_elements(selector) for key, selector in _OF_NUMBERS.items()}
)
