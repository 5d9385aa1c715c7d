"""Long short-term memory as a loop over the sequence.

The products with the inputs of all steps are one matrix product before the loop; in the
loop remain one product with the hidden state, for all gates together, and element-wise
work. The loop carries the sequence of results and the two states:

    %p = glow.fully_connected %x2, %w, %b : tensor<100x2048xf32>
    %r:3 = scf.for %i = %0 to %100 step %1 iter_args(%y = ..., %h = ..., %c = ...) {
      %px = glow.dynamic_slice %p3, %i : tensor<1x2048xf32>
      %hr = glow.matmul %h, %recurrence : tensor<1x2048xf32>
      ...
      scf.yield %y2, %h2, %c2
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.node import shape_of
from glow.dialects.weights import constant_value
from glow.passes.graph.node_builder import NodeBuilder, like, name_of


@dataclass(frozen=True)
class Direction:
    """One pass over the sequence: its place among the weights, and its sense."""

    index: int
    reverse: bool


DIRECTIONS = {
    "forward": (Direction(0, False),),
    "reverse": (Direction(0, True),),
    "bidirectional": (Direction(0, False), Direction(1, True)),
}


def part(
    builder: NodeBuilder, value: SSAValue, axis: int, start: int, size: int
) -> SSAValue:
    """`size` elements from `start` on along an axis."""
    sizes = list(shape_of(value))
    starts, steps = [0] * len(sizes), [1] * len(sizes)
    starts[axis], sizes[axis] = start, size
    return builder.node(glow.SliceOp, value, starts=starts, sizes=sizes, steps=steps)


def _drop_first(builder: NodeBuilder, value: SSAValue, index: int) -> SSAValue:
    """Element `index` of axis 0."""
    picked = part(builder, value, 0, index, 1)
    return builder.reshape(picked, shape_of(value)[1:])


def _matrix(builder: NodeBuilder, value: SSAValue, index: int) -> SSAValue:
    """The weights of a direction, transposed: [4H, K] to [K, 4H]."""
    array = constant_value(value)
    if array is not None:
        return builder.constant(array[index].T, f"{name_of(value)}.{index}.transposed")
    return builder.transpose(_drop_first(builder, value, index), (1, 0))


def _bias(builder: NodeBuilder, value: SSAValue, index: int) -> SSAValue:
    """The sum of a direction's two biases, [4H]."""
    array = constant_value(value)
    gates = shape_of(value)[1] // 2
    if array is not None:
        total = np.add(array[index, :gates], array[index, gates:])
        return builder.constant(total, f"{name_of(value)}.{index}.sum")
    both = _drop_first(builder, value, index)
    halves = (part(builder, both, 0, start, gates) for start in (0, gates))
    return builder.node(glow.AddOp, *halves)


def _projection(
    builder: NodeBuilder, op: glow.LstmOp, direction: Direction
) -> SSAValue:
    """The products with the inputs of all steps, plus the bias: [S, B, 4H]."""
    steps, batch, size = shape_of(op.input)
    flat = builder.reshape(op.input, (steps * batch, size))
    weights = _matrix(builder, op.weights, direction.index)
    bias = _bias(builder, op.bias, direction.index)
    product = builder.node(glow.FullyConnectedOp, flat, weights, bias)
    return builder.reshape(product, (steps, batch, shape_of(product)[1]))


def _cell(
    builder: NodeBuilder, gates: SSAValue, state: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The new hidden and cell state from the gates' sums [B, 4H] (ONNX order i o f c)."""
    hidden = shape_of(state)[1]
    entering, leaving, forgetting, candidate = (
        builder.node(function, part(builder, gates, 1, number * hidden, hidden))
        for number, function in enumerate(
            (glow.SigmoidOp, glow.SigmoidOp, glow.SigmoidOp, glow.TanhOp)
        )
    )
    kept = builder.node(glow.MulOp, forgetting, state)
    added = builder.node(glow.MulOp, entering, candidate)
    cell = builder.node(glow.AddOp, kept, added)
    squashed = builder.node(glow.TanhOp, cell)
    return builder.node(glow.MulOp, leaving, squashed), cell


def index_constant(builder: NodeBuilder, value: int) -> SSAValue:
    """A loop bound."""
    op = arith.ConstantOp(IntegerAttr(value, IndexType()))
    return builder.insert(op).results[0]


def _loop(
    builder: NodeBuilder, steps: int, initial: Sequence[SSAValue]
) -> tuple[scf.ForOp, NodeBuilder]:
    """A loop over the steps, and a builder before its still empty yield."""
    lower, upper, step = (index_constant(builder, n) for n in (0, steps, 1))
    block = Block(arg_types=[IndexType(), *(value.type for value in initial)])
    end = scf.YieldOp()
    end.location = builder.anchor.location
    block.add_op(end)
    loop = scf.ForOp(lower, upper, step, initial, Region(block))
    builder.insert(loop)
    return loop, NodeBuilder(end)


def _direction(
    builder: NodeBuilder, op: glow.LstmOp, direction: Direction
) -> Sequence[SSAValue]:
    """The sequence [S, B, H] and the last two states [B, H] of one direction."""
    steps = shape_of(op.input)[0]
    projection = _projection(builder, op, direction)
    recurrence = _matrix(builder, op.recurrence, direction.index)
    states = [
        _drop_first(builder, value, direction.index)
        for value in (op.initial_h, op.initial_c)
    ]
    empty = glow.SplatOp.from_number(
        0.0, like(states[0], (steps, *shape_of(states[0])))
    )
    sequence = builder.insert(empty).results[0]
    last = index_constant(builder, steps - 1) if direction.reverse else None
    loop, body = _loop(builder, steps, [sequence, *states])
    index, results, hidden, cell = loop.body.block.args
    if last is not None:
        index = body.insert(arith.SubiOp(last, index)).results[0]
    inputs = body.node(glow.DynamicSliceOp, projection, index)
    product = body.node(glow.MatmulOp, hidden, recurrence)
    gates = body.node(glow.AddOp, product, inputs)
    new_hidden, new_cell = _cell(body, gates, cell)
    updated = body.node(glow.DynamicUpdateOp, results, new_hidden, index)
    body.anchor.operands = [updated, new_hidden, new_cell]
    return loop.results


def lstm(op: Operation) -> None:
    """One loop for each direction; the results are joined along the direction axis."""
    assert isinstance(op, glow.LstmOp)
    builder = NodeBuilder(op)
    directions = DIRECTIONS[op.attributes_view().string("direction")]
    results = [_direction(builder, op, direction) for direction in directions]
    joined: list[SSAValue] = []
    for old, *pieces in zip(op.results, *results, strict=True):
        axis = len(shape_of(old)) - 3
        shape = list(shape_of(old))
        shape[axis] = 1
        pieces = [builder.reshape(piece, shape) for piece in pieces]
        if len(pieces) > 1:
            pieces = [builder.node(glow.ConcatOp, *pieces, axis=axis)]
        joined.append(pieces[0])
    builder.replace(*joined)


LOWERINGS = {glow.LstmOp: lstm}
