"""Weights of a few bits with a scale a block, as floats.

Constant ones become constant floats here, whatever they take: this is for what has no kernel for
them.

    %w = glow.block_dequantize %codes, %scales axis 0 block_size 32 : tensor<64x48xf32>
  becomes
    %w = glow.constant @codes.dequantized : tensor<64x48xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.weights import stored_value
from glow.interpreter.quantized import dequantize_blocks
from glow.lowering.lower_quantized.parts import Lowering, Parts
from glow.passes.rewriting.node_builder import name_of
from glow.passes.rewriting.operations import all_operations


def block_dequantize(op: Operation, parts: Parts) -> None:
    """`glow.block_dequantize`."""
    assert isinstance(op, glow.BlockDequantizeOp)
    codes, scales, *points = map(stored_value, op.inputs)
    if codes is None or scales is None or any(one is None for one in points):
        parts.replace(_computed(op, parts))
        return
    point = points[0] if points else None
    weights = dequantize_blocks(op.attributes_view(), codes, scales, point)
    parts.replace(parts.constant(weights, f"{name_of(op.codes)}.dequantized"))


def _computed(op: glow.BlockDequantizeOp, parts: Parts) -> SSAValue:
    """Of computed codes, scales or zero points: each result is rounded once."""
    narrow = element_of(op.result)
    wide = f64 if narrow == f64 else f32
    numbers = parts.convert(op.codes, wide)
    if op.points is not None:
        numbers = parts.node(glow.SubOp, numbers, _spread(op, parts, op.points, wide))
    scales = _spread(op, parts, op.scales, wide)
    return parts.convert(parts.node(glow.MulOp, numbers, scales), narrow)


def _spread(
    op: glow.BlockDequantizeOp, parts: Parts, value: SSAValue, element: Attribute
) -> SSAValue:
    """One number for each element, of one for each block."""
    attributes, shape = op.attributes_view(), shape_of(op.codes)
    axis, size, found = (
        attributes.int("axis"),
        attributes.int("block_size"),
        shape_of(value),
    )
    before, count, after = found[:axis], found[axis], found[axis + 1 :]
    apart = parts.reshape(parts.convert(value, element), (*before, count, 1, *after))
    wide = tensor_type((*before, count, size, *after), element)
    repeated = parts.create(glow.BroadcastOp, [apart], {}, types=[wide])
    whole = parts.reshape(repeated, (*before, count * size, *after))
    if count * size == shape[axis]:
        return whole
    rank = len(shape)
    return parts.node(
        glow.SliceOp, whole, starts=[0] * rank, sizes=list(shape), steps=[1] * rank
    )


def weights_as_floats(module: ModuleOp) -> None:
    """Lower all weights of a few bits, and nothing else."""
    for op in all_operations(module):
        if isinstance(op, glow.BlockDequantizeOp):
            block_dequantize(op, Parts(op))


LOWERINGS: dict[type[Operation], Lowering] = {glow.BlockDequantizeOp: block_dequantize}
