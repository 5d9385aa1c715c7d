"""Which nodes the CPU has kernels for, or scalar code: `lower-nodes` lowers the others."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f32

from glow.backends.cpu.program.kernel_table import Selectors
from glow.dialects import glow
from glow.dialects.instr import find_instruction
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weights import constant_value, dtype_of, stored_value
from glow.lowering.lower_nodes.cells import cell_of

MIN_QUERIES = 6

LOWERED = (glow.LogSoftmaxOp,)
"""Nodes that are lowered although there is a kernel."""

ONLY_F32 = (
    glow.LayerNormOp,
    glow.LocalResponseNormOp,
    glow.SoftmaxOp,
)


def _is_integer_layer(op: glow.Conv2dOp) -> bool:
    """Whether a convolution of integers does more than multiply and add."""
    is_integer = isinstance(element_of(op.input), IntegerType)
    return is_integer and (op.bias is not None or op.activation is not None)


def _is_gradient(op: glow.ConvTranspose2dOp) -> bool:
    """Whether weights are computed, as those of a gradient: `assign-layout` turns them."""
    is_f32 = all(element_of(value) == f32 for value in op.inputs)
    return is_f32 and stored_value(op.weights) is None


def is_fused_recurrence(op: glow.RecurrentOp) -> bool:
    """Whether a step of the layer is one product with constant weights, and gates."""
    constant = constant_value(op.recurrence) is not None
    is_f32 = all(element_of(value) == f32 for value in op.inputs)
    return constant and is_f32 and cell_of(op) is not None


def _has_attention_kernel(op: glow.AttentionOp) -> bool:
    """Whether nothing is repeated, all is f32 and blocks of keys fit the stack.

    Transposing them takes some queries to pay.
    """
    from glow.backends.cpu.kernels.attention.limits import fits_stack

    *batch, length, _ = shape_of(op.queries)
    *key_batch, count, size = shape_of(op.keys)
    *value_batch, _, width = shape_of(op.values)
    return (
        op.predicate is None
        and batch == key_batch == value_batch
        and all(element_of(value) == f32 for value in op.inputs)
        and length >= MIN_QUERIES
        and count * size > 0
        and fits_stack(count, size, width)
    )


def is_legal(op: NodeOp, selectors: Selectors) -> bool:
    """Whether there is a kernel; a layer with computed weights is a plain product."""
    if isinstance(op, glow.AttentionOp):
        return _has_attention_kernel(op)
    if isinstance(op, glow.FullyConnectedOp):
        return stored_value(op.weights) is not None
    if isinstance(op, glow.PadOp):
        return op.attributes_view().string("mode") == "constant"
    if isinstance(op, glow.TopKOp):
        from glow.backends.cpu.kernels.indexing.top_k import prefers_heap

        *_, extent = shape_of(op.input)
        k = op.attributes_view().int("k")
        bits = 8 * dtype_of(element_of(op.input)).itemsize
        return k == extent or prefers_heap(extent, k, bits)
    if isinstance(op, ONLY_F32):
        return element_of(op.inputs[0]) == f32
    if isinstance(op, glow.ConvTranspose2dOp):
        return _is_gradient(op)
    if isinstance(op, glow.Conv2dOp):
        return not _is_integer_layer(op)
    if isinstance(op, glow.RecurrentOp) and is_fused_recurrence(op):
        return True
    return find_instruction(type(op)) in selectors and not isinstance(op, LOWERED)
