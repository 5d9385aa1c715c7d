"""Epilogues of the CPU backend's nodes, on whole arrays."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.interpreter.arrays import Array, DType
from glow.interpreter.evaluation import evaluate_region
from glow.interpreter.integer_arithmetic import wrapped
from glow.interpreter.scalar_functions import element_dtype, result_dtype


def apply_epilogue(
    op: Operation, total: Array, epilogue_operands: tuple[Array, ...]
) -> Array:
    """The rounded sums with the node's epilogue applied."""
    if not op.regions or not op.regions[0].blocks:
        return rounded(total, result_dtype(op))
    block = op.regions[0].block
    sums = rounded(total, element_dtype(block.args[0].type))
    return evaluate_region(block, (sums, *epilogue_operands))[0]


def rounded(total: Array, dtype: DType) -> Array:
    """The sums as that type; those of bytes are exact modulo 2^32."""
    return wrapped(total) if dtype == np.int32 else total.astype(dtype)
