"""Softmax and layer normalization that quantized nodes read get an epilogue for the cast.

    %0 = glow.layer_norm %x, %scale, %bias axis 2 : tensor<1x128x384xf32>
    %1 = glow.is_nan %0 : tensor<1x128x384xi1>         and the other steps of a cast to bytes
  becomes
    %0, %p = cpu.layer_norm %x, %scale, %bias axis 2 : tensor<...xf32>, tensor<...xf32>

whose second result is what other nodes read; `fuse-epilogue` moves the cast into the node.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.integers.int8_products import U8
from glow.backends.cpu.layout.layout import Layout, is_f32
from glow.backends.cpu.layout.propagation import propagate
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.passes.quantization.casts import tensor_of
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, element_type
from glow.passes.rewriting.scalar_bodies import has_scalar_body

MAX_STEPS = 8
"""A cast is a division, bounds, rounding, a sum and two conversions."""
MAX_ROW = 1 << 14
"""The exponentials of longer rows would not fit on the stack."""
BYTES = (U8, i8)


def cast_behind(value: SSAValue) -> list[Operation]:
    """The nodes that read a value in order to make bytes of it; none where there is no cast."""
    users = list(dict.fromkeys(use.operation for use in value.uses))
    for user in users:
        if isinstance(user, glow.SelectOp):
            test = user.operands[0].owner
            if isinstance(test, glow.IsNanOp) and test.operands[0] is value:
                return [test, user] if makes_bytes(user) else []
    for user in users:
        if (
            isinstance(user, glow.MulOp)
            and constant_value(user.operands[1]) is not None
        ):
            scaled = user.results[0]
            reads = cast_behind(scaled)
            if reads and all(use.operation in reads for use in scaled.uses):
                return [user]
    return []


def makes_bytes(op: Operation) -> bool:
    """Whether element-wise nodes, each the only reader of the one before, end in bytes."""
    for _ in range(MAX_STEPS):
        user = op.results[0].get_user_of_unique_use()
        if not isinstance(user, NodeOp) or not has_scalar_body(user):
            return False
        if element_type(user.results[0]) in BYTES:
            return True
        op = user
    return False


def softmax(layout: Layout, op: Operation) -> None:
    """Replace a softmax over the last axis that only a cast reads."""
    assert isinstance(op, glow.SoftmaxOp)
    shape, reads = shape_of(op.input), cast_behind(op.result)
    is_row = op.attributes_view().int("axis") == len(shape) - 1 and shape[-1] <= MAX_ROW
    alone = all(use.operation in reads for use in op.result.uses)
    if not (is_row and reads and alone and is_f32(op.input)):
        propagate(layout, op)
        return
    builder = NodeBuilder(op)
    builder.replace(builder.node(cpu.SoftmaxOp, op.input))


def layer_norm(layout: Layout, op: Operation) -> None:
    """Replace a layer normalization that a cast reads, maybe beside others."""
    assert isinstance(op, glow.LayerNormOp)
    reads, rank = cast_behind(op.result), len(shape_of(op.input))
    is_row = op.attributes_view().int("axis") == rank - 1 and op.bias is not None
    if not (is_row and reads and is_f32(*op.inputs)):
        propagate(layout, op)
        return
    others = [use for use in op.result.uses if use.operation not in reads]
    types = [tensor_of(op.result)] * (2 if others else 1)
    builder = NodeBuilder(op)
    operands = [op.input, *(layout.stored(op, value) for value in op.inputs[1:])]
    result = builder.create(cpu.LayerNormOp, operands, attributes_of(op), types=types)
    for use in others:
        assert isinstance(result.owner, cpu.LayerNormOp)
        assert result.owner.plain is not None
        use.operation.operands[use.index] = result.owner.plain
    builder.replace(result)
