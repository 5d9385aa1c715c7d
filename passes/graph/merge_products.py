"""Products and convolutions that share an input become one (horizontal fusion).

The input is read once and the larger product fills registers and threads better; results
are slices. Only constant weights are joined, and only products that stand side by side:
each reads the shared input directly, so none can depend on another.

    %0 = glow.fully_connected %x, %v, %b : tensor<128x64xf32>
    %1 = glow.fully_connected %x, %w, %c : tensor<128x64xf32>
  becomes
    %2 = glow.fully_connected %x, %v.joined, %b.joined : tensor<128x128xf32>
    %0 = glow.slice %2 starts [0, 0] ... : tensor<128x64xf32>
    %1 = glow.slice %2 starts [0, 64] ... : tensor<128x64xf32>

Quantized products are joined alike, one scale for each output, where their results have one
quantization or are floats.

On the other side, products by one matrix of several inputs stack their rows. It is no
part of the default pipeline: the CPU reads a slice of a product through a copy, which
costs what the sharing brings (`docs/passes.md` has the figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import stored_value
from glow.passes.quantization.casts import element
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
    like,
    name_of,
)

OUTPUTS: dict[type[NodeOp], int] = {
    glow.Conv2dOp: 0,
    glow.DynamicMatmulOp: 1,
    glow.FullyConnectedOp: 1,
    glow.MatmulOp: 1,
}
"""The weights' axis of outputs."""

MAX_JOINED = 1 << 22
"""Elements of joined weights: larger ones are worth more than one kernel anyway."""

Key = tuple[object, ...]


def sisters_key(op: NodeOp) -> Key | None:
    """What products that can be joined have in common; None for those that cannot."""
    axis = OUTPUTS.get(type(op))
    if axis is None or any(stored_value(value) is None for value in op.inputs[1:]):
        return None
    kinds = elements_key(op, axis)
    if kinds is None:
        return None
    shape = list(shape_of(op.operands[1]))
    attributes = tuple(sorted((k, str(v)) for k, v in attributes_of(op).items()))
    if isinstance(op, glow.MatmulOp) and (
        op.transpose_rhs is not None or len(shape) != 2
    ):
        return None
    if isinstance(op, glow.Conv2dOp) and op.attributes_view().int("group") != 1:
        return None
    del shape[axis]
    return (op.operands[0], type(op), attributes, *shape, *kinds)


def elements_key(op: NodeOp, axis: int) -> Key | None:
    """The kinds of elements of a product; None of plain integers, and of scales along
    another axis than that of the outputs.
    """
    result, weights = element_of(op.results[0]), element(op.operands[1])
    if weights is None:
        is_float = dtype_of(element_of(op.operands[0])).kind == "f"
        return (result,) if is_float else None
    constants = [weights, *map(element, op.inputs[2:])]
    axes = (axis, *[0] * len(op.inputs[2:]))
    for data, outputs in zip(constants, axes, strict=True):
        if data is not None and data.axis not in (None, outputs):
            return None
    found = element(op.results[0])
    if found is not None and found.axis is not None:
        return None
    kinds = [data and replace(data, **NO_SCALES) for data in constants]
    return (result, *kinds)


NO_SCALES = {"scales": (), "zero_points": (), "axis": None}
"""What joined constants need not have in common."""


def join_sisters(ops: Sequence[NodeOp]) -> None:
    """Replace products of one input by slices of one product."""
    first = ops[0]
    builder = NodeBuilder(first)
    axis = OUTPUTS[type(first)]
    weights = [op.operands[1] for op in ops]
    if sum(prod(shape_of(value)) for value in weights) > MAX_JOINED:
        return
    name = f"{name_of(weights[0])}.joined"
    operands = [first.operands[0], joined_constant(builder, weights, axis, name)]
    if any(len(op.inputs) > 2 for op in ops):
        biases = [bias_of(op, shape_of(op.operands[1])[axis]) for op in ops]
        operands.append(joined_constant(builder, biases, 0, "bias.joined"))
    shape = list(shape_of(first.results[0]))
    place = 1 if isinstance(first, glow.Conv2dOp) else len(shape) - 1
    shape[place] = sum(shape_of(value)[axis] for value in weights)
    types = [like(first.results[0], shape)]
    whole = builder.create(type(first), operands, attributes_of(first), types=types)
    start = 0
    for op in ops:
        sizes = list(shape_of(op.results[0]))
        starts, steps = [0] * len(sizes), [1] * len(sizes)
        starts[place] = start
        start += sizes[place]
        here = NodeBuilder(op)
        here.replace(
            here.node(glow.SliceOp, whole, starts=starts, sizes=sizes, steps=steps)
        )


def joined_constant(
    builder: NodeBuilder, values: Sequence[SSAValue], axis: int, name: str
) -> SSAValue:
    """Constants one after the other along an axis, quantized ones with their scales."""
    arrays = [stored_value(value) for value in values]
    joined = np.concatenate([array for array in arrays if array is not None], axis)
    first = element(values[0])
    if first is None:
        return builder.constant(joined, name)
    scales: list[float] = []
    zero_points: list[int] = []
    for value in values:
        data = element(value)
        assert data is not None
        count = 1 if data.axis is not None else shape_of(value)[axis]
        scales += data.scales * count
        zero_points += data.zero_points * count
    merged = replace(
        first, scales=tuple(scales), zero_points=tuple(zero_points), axis=axis
    )
    return builder.quantized_constant(joined, merged, name)


def bias_of(op: NodeOp, outputs: int) -> SSAValue:
    """The bias of a product, zeros where a product of floats has none."""
    if len(op.inputs) > 2:
        return op.inputs[2]
    zeros = np.zeros(outputs, dtype_of(element_of(op.results[0])))
    return NodeBuilder(op).constant(zeros, "bias")


def rows_key(op: NodeOp) -> Key | None:
    """What products by one matrix have in common; None for those that cannot stack."""
    if not isinstance(op, glow.FullyConnectedOp) or op.activation is not None:
        return None
    elements = (element_of(op.input), element_of(op.result))
    return (op.weights, op.bias, type(op), *elements)


def stack_rows(ops: Sequence[NodeOp]) -> None:
    """Replace products by one matrix by slices of one product of stacked rows.

    All their inputs must be there before the first product.
    """
    first = ops[0]
    block = first.parent
    assert block is not None
    order = {op: place for place, op in enumerate(block.ops)}
    if any(_place(op.operands[0], order) >= order[first] for op in ops):
        return
    builder = NodeBuilder(first)
    joined = builder.node(glow.ConcatOp, *(op.operands[0] for op in ops), axis=0)
    rows, columns = shape_of(joined)[0], shape_of(first.results[0])[1]
    types = [like(first.results[0], (rows, columns))]
    operands = [joined, *first.inputs[1:]]
    whole = builder.create(type(first), operands, attributes_of(first), types=types)
    start = 0
    for op in ops:
        sizes = list(shape_of(op.results[0]))
        here = NodeBuilder(op)
        starts = [start, 0]
        start += sizes[0]
        here.replace(
            here.node(glow.SliceOp, whole, starts=starts, sizes=sizes, steps=[1, 1])
        )


def _place(value: SSAValue, order: dict[Operation, int]) -> int:
    """Where in a block a value is made; before it, if somewhere else."""
    return order.get(value.owner, -1) if isinstance(value.owner, Operation) else -1


def merge_block(block: Block) -> None:
    """Join the products of a block."""
    for key_of, join in ((sisters_key, join_sisters), (rows_key, stack_rows)):
        groups: dict[Key, list[NodeOp]] = {}
        for op in block.ops:
            key = key_of(op) if isinstance(op, NodeOp) else None
            if key is not None and isinstance(op, NodeOp):
                groups.setdefault(key, []).append(op)
        for ops in groups.values():
            if len(ops) > 1:
                join(ops)


class MergeProductsPass(GraphPass):
    """Join products and convolutions that share an input or a matrix."""

    name = "merge-products"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        blocks = [
            op.body.block,
            *(r.block for o in op.walk() for r in o.regions if r.blocks),
        ]
        for block in dict.fromkeys(blocks):
            merge_block(block)
        erase_dead_nodes(op)
