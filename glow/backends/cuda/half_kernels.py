"""Which nodes on 16-bit floats tensor cores compute as they are, with sums of f32."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from glow.backends.cpu.passes.half_kernels import fits_conv2d, fits_matmul
from glow.backends.cuda.kernels.attention_spec import LARGEST_HEAD
from glow.dialects import glow
from glow.dialects.half import is_half
from glow.dialects.node import element_of, shape_of
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target


def has_constant_weights(op: Operation, target: Target) -> bool:
    """Whether a product has a kernel that reads its weights in rows of 16-bit floats."""
    if target.cpu not in GPU_MACHINES:
        return False
    if isinstance(op, glow.Conv2dOp):
        return fits_conv2d(op, target.lanes(16))
    if isinstance(op, glow.MatmulOp | glow.FullyConnectedOp):
        return fits_matmul(op)
    return False


def has_attention(op: glow.AttentionOp) -> bool:
    """Whether nothing is repeated, and sums of a query fit the registers of a warp."""
    queries, keys, values = map(shape_of, op.inputs[:3])
    shapes = (queries, keys, values)
    return (
        op.predicate is None
        and queries[:-2] == keys[:-2] == values[:-2]
        and all(map(prod, shapes))
        and max(queries[-1], values[-1]) <= LARGEST_HEAD
        and len({element_of(value) for value in op.inputs}) == 1
    )


def keeps_half(op: Operation, target: Target) -> bool:
    """Whether a node on 16-bit floats has a kernel of them."""
    if target.cpu not in GPU_MACHINES or not is_half(element_of(op.operands[0])):
        return False
    if isinstance(op, glow.AttentionOp):
        return has_attention(op)
    if isinstance(op, glow.MatmulOp):
        same = element_of(op.lhs) == element_of(op.rhs)
        is_empty = 0 in (*shape_of(op.lhs), *shape_of(op.rhs))
        return op.predicate is None and same and not is_empty
    return has_constant_weights(op, target)


def prefers_f32(op: Operation, target: Target) -> bool:
    """Whether a product of f32 is not faster in bf16: its factors would have to be rounded."""
    is_wide = element_of(op.operands[0]) == f32
    return is_wide and not has_constant_weights(op, target)
