"""Which kernel serves which instruction, one table a theme.

A selector reads an instruction's shapes and attributes and returns the kernel requests
with their buffers. A new instruction is one entry here.
"""

from collections.abc import Mapping

from xdsl.ir import Operation

from glow.backends.cpu.program.program import KernelSelector
from glow.backends.cpu.selection import (
    convolution,
    dynamic,
    elementwise,
    integers,
    matmul,
    movement,
    normalization,
    recurrence,
)

SELECTORS: Mapping[type[Operation], KernelSelector] = {
    **elementwise.SELECTORS,
    **convolution.SELECTORS,
    **matmul.SELECTORS,
    **integers.SELECTORS,
    **normalization.SELECTORS,
    **movement.SELECTORS,
    **dynamic.SELECTORS,
    **recurrence.SELECTORS,
}
