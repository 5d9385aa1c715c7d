"""`cpu.fused_rows`: the region on whole tensors, sums over the last axis."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.fused_rows import space_of
from glow.dialects import glow
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array
from glow.interpreter.evaluation import evaluate_scalar


def run_fused_rows(op: GlowOp, *operands: Array) -> tuple[Array, ...]:
    """The results, rows or one number for each."""
    space = space_of(operand.shape for operand in operands)
    block = op.regions[0].block
    values: dict[SSAValue, Array] = dict(zip(block.args, operands, strict=True))
    for inner in block.ops:
        found = [values[value] for value in inner.operands]
        if isinstance(inner, glow.YieldOp):
            return tuple(found)
        if isinstance(inner, cpu.RowSumOp):
            terms = np.broadcast_to(found[0], space)
            total = terms.sum(axis=-1, keepdims=True, dtype=np.float64)
            values[inner.result] = total.astype(terms.dtype)
        else:
            values[inner.results[0]] = evaluate_scalar(inner, found)
    return ()
