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

On the other side, products by one matrix of several inputs stack their rows. It is no
part of the default pipeline: the CPU reads a slice of a product through a copy, which
costs what the sharing brings (`docs/passes.md` has the figures).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import Array, dtype_of
from glow.dialects.weights import constant_value
from glow.passes.contract import VALUES, GraphPass
from glow.passes.graph.node_builder import (
    NodeBuilder,
    attributes_of,
    erase_dead_nodes,
    name_of,
)

PRODUCTS = (glow.Conv2dOp, glow.FullyConnectedOp, glow.MatmulOp)
OUTPUTS: dict[type[NodeOp], int] = {glow.Conv2dOp: 0, glow.FullyConnectedOp: 1}
"""The weights' axis of outputs."""

MAX_JOINED = 1 << 22
"""Elements of joined weights: larger ones are worth more than one kernel anyway."""

Key = tuple[object, ...]


def sisters_key(op: NodeOp) -> Key | None:
    """What products that can be joined have in common; None for those that cannot."""
    if not isinstance(op, PRODUCTS) or constant_value(op.operands[1]) is None:
        return None
    if dtype_of(element_of(op.operands[0])).kind != "f":
        return None
    shape = list(shape_of(op.operands[1]))
    attributes = tuple(sorted((k, str(v)) for k, v in attributes_of(op).items()))
    if isinstance(op, glow.MatmulOp):
        if op.transpose_rhs is not None or len(shape) != 2:
            return None
        return (op.operands[0], type(op), attributes, shape[0])
    if isinstance(op, glow.Conv2dOp) and op.attributes_view().int("group") != 1:
        return None
    if len(op.inputs) > 2 and constant_value(op.inputs[2]) is None:
        return None
    del shape[OUTPUTS[type(op)]]
    return (op.operands[0], type(op), attributes, *shape)


def join_sisters(ops: Sequence[NodeOp]) -> None:
    """Replace products of one input by slices of one product."""
    first = ops[0]
    builder = NodeBuilder(first)
    axis = OUTPUTS.get(type(first), 1)
    arrays = [_array(op.operands[1]) for op in ops]
    if sum(array.size for array in arrays) > MAX_JOINED:
        return
    operands = [
        first.operands[0],
        builder.constant(
            np.concatenate(arrays, axis), f"{name_of(first.operands[1])}.joined"
        ),
    ]
    if any(len(op.inputs) > 2 for op in ops):
        biases = [
            _bias(op, array.shape[axis]) for op, array in zip(ops, arrays, strict=True)
        ]
        operands.append(builder.constant(np.concatenate(biases), "bias.joined"))
    whole = builder.create(type(first), operands, attributes_of(first))
    place = 1 if isinstance(first, glow.Conv2dOp) else len(shape_of(whole)) - 1
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


def _array(value: SSAValue) -> Array:
    array = constant_value(value)
    assert array is not None
    return array


def _bias(op: NodeOp, outputs: int) -> Array:
    """The bias of a product, zeros where it has none."""
    if len(op.inputs) > 2:
        return _array(op.inputs[2])
    return np.zeros(outputs, dtype_of(element_of(op.results[0])))


def rows_key(op: NodeOp) -> Key | None:
    """What products by one matrix have in common; None for those that cannot stack."""
    if not isinstance(op, glow.FullyConnectedOp) or op.activation is not None:
        return None
    return (op.weights, op.bias, type(op))


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
    whole = builder.create(
        type(first), [joined, *first.inputs[1:]], attributes_of(first)
    )
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
    keeps = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        blocks = [
            op.body.block,
            *(r.block for o in op.walk() for r in o.regions if r.blocks),
        ]
        for block in dict.fromkeys(blocks):
            merge_block(block)
        erase_dead_nodes(op)
