"""Recurrent layers as loops over the sequence.

The products with the inputs of all steps are one matrix product before the loop; in the
loop remain one product with the hidden state, for all gates together, and element-wise
work. The loop carries the sequence of results and the states:

    %p = glow.fully_connected %x2, %w, %b : tensor<100x2048xf32>
    %r:3 = scf.for %i = %0 to %100 step %1 iter_args(%y = ..., %h = ..., %c = ...) {
      %px = glow.dynamic_slice %p3, %i : tensor<1x2048xf32>
      %hr = glow.matmul %h, %recurrence : tensor<1x2048xf32>
      ...
      scf.yield %y2, %h2, %c2
    }

A reset gate that stands before its product makes this two products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weights import constant_value
from glow.lowering.lower_nodes.cells import Cell, blend, cell_of
from glow.passes.rewriting.node_builder import NodeBuilder, like, name_of


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


def drop_first(builder: NodeBuilder, value: SSAValue, index: int) -> SSAValue:
    """Element `index` of axis 0."""
    picked = part(builder, value, 0, index, 1)
    return builder.reshape(picked, shape_of(value)[1:])


def _matrix(builder: NodeBuilder, value: SSAValue, index: int) -> SSAValue:
    """The weights of a direction, transposed: [G * H, K] to [K, G * H]."""
    array = constant_value(value)
    if array is not None:
        return builder.constant(array[index].T, f"{name_of(value)}.{index}.transposed")
    return builder.transpose(drop_first(builder, value, index), (1, 0))


def biases(
    builder: NodeBuilder, op: glow.RecurrentOp, index: int
) -> tuple[SSAValue, list[SSAValue]]:
    """What is added to the inputs' products [G * H], and to the recurrence's [H].

    The latter only where a reset gate multiplies the sum.
    """
    array, name = constant_value(op.bias), name_of(op.bias)
    gates = shape_of(op.bias)[1] // 2
    apart = gates // 3 if op.attributes_view().has("linear_before_reset") else 0
    if array is not None:
        of_input, of_recurrence = array[index].reshape(2, gates)
        total = np.add(of_input, of_recurrence)
        total[gates - apart :] = of_input[gates - apart :]
        rest = of_recurrence[gates - apart :]
        added = [builder.constant(rest, f"{name}.{index}.last")] if apart else []
        return builder.constant(total, f"{name}.{index}.sum"), added
    both = drop_first(builder, op.bias, index)
    halves = [part(builder, both, 0, start, gates) for start in (0, gates)]
    total = builder.node(glow.AddOp, *halves)
    if not apart:
        return total, []
    pieces = (
        part(builder, total, 0, 0, gates - apart),
        part(builder, halves[0], 0, gates - apart, apart),
    )
    rest = part(builder, halves[1], 0, gates - apart, apart)
    return builder.node(glow.ConcatOp, *pieces, axis=0), [rest]


def layer_of_inputs(
    builder: NodeBuilder, op: glow.RecurrentOp, index: int, bias: SSAValue
) -> glow.FullyConnectedOp:
    """The products with the inputs of all steps, plus the bias: [S * B, G * H]."""
    steps, batch, size = shape_of(op.input)
    flat = builder.reshape(op.input, (steps * batch, size))
    weights = _matrix(builder, op.weights, index)
    product = builder.node(glow.FullyConnectedOp, flat, weights, bias)
    assert isinstance(product.owner, glow.FullyConnectedOp)
    return product.owner


def _projection(
    builder: NodeBuilder, op: glow.RecurrentOp, index: int
) -> tuple[SSAValue, list[SSAValue]]:
    """The products [S, B, G * H], and the biases that are added later."""
    steps, batch, _ = shape_of(op.input)
    bias, later = biases(builder, op, index)
    product = layer_of_inputs(builder, op, index, bias).result
    return builder.reshape(product, (steps, batch, shape_of(product)[1])), later


class _Nodes:
    """The gates of a step as nodes: parts of the products [B, G * H]."""

    def __init__(
        self, builder: NodeBuilder, product: SSAValue, inputs: SSAValue, units: int
    ) -> None:
        self.builder = builder
        self.product = product
        self.inputs = inputs
        self.units = units

    @cached_property
    def _totals(self) -> SSAValue:
        return self.apply(glow.AddOp, self.product, self.inputs)

    def _gate(self, value: SSAValue, gate: int) -> SSAValue:
        return part(self.builder, value, 1, gate * self.units, self.units)

    def total(self, gate: int) -> SSAValue:
        """What the inputs and the hidden state give together."""
        return self._gate(self._totals, gate)

    def entering(self, gate: int) -> SSAValue:
        """What the inputs give."""
        return self._gate(self.inputs, gate)

    def recurrent(self, gate: int) -> SSAValue:
        """What the hidden state gives."""
        return self._gate(self.product, gate)

    def apply(self, node: type[NodeOp], *operands: SSAValue) -> SSAValue:
        """A node."""
        return self.builder.node(node, *operands)


Step = Callable[[NodeBuilder, SSAValue, Sequence[SSAValue]], list[SSAValue]]
"""`step(builder, inputs, states)`: the next states; inputs are [B, G * H]."""


def _one_product(matrix: SSAValue, cell: Cell, added: Sequence[SSAValue]) -> Step:
    def step(
        body: NodeBuilder, inputs: SSAValue, states: Sequence[SSAValue]
    ) -> list[SSAValue]:
        product = body.node(glow.MatmulOp, states[0], matrix)
        gates = _Nodes(body, product, inputs, shape_of(states[0])[1])
        return cell(gates, states, added)

    return step


def _two_products(builder: NodeBuilder, matrix: SSAValue, units: int) -> Step:
    """Gated recurrent units whose reset gate multiplies the state before the product."""
    first = part(builder, matrix, 1, 0, 2 * units)
    second = part(builder, matrix, 1, 2 * units, units)

    def step(
        body: NodeBuilder, inputs: SSAValue, states: Sequence[SSAValue]
    ) -> list[SSAValue]:
        (hidden,) = states
        product = body.node(glow.MatmulOp, hidden, first)
        gates = _Nodes(body, product, part(body, inputs, 1, 0, 2 * units), units)
        update, reset = (body.node(glow.SigmoidOp, gates.total(k)) for k in range(2))
        kept = body.node(glow.MulOp, reset, hidden)
        product = body.node(glow.MatmulOp, kept, second)
        last = part(body, inputs, 1, 2 * units, units)
        candidate = body.node(glow.AddOp, product, last)
        return [blend(gates, update, candidate, hidden)]

    return step


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
    builder: NodeBuilder, op: glow.RecurrentOp, direction: Direction
) -> Sequence[SSAValue]:
    """The sequence [S, B, H] and the last states [B, H] of one direction."""
    steps = shape_of(op.input)[0]
    projection, added = _projection(builder, op, direction.index)
    matrix = _matrix(builder, op.recurrence, direction.index)
    states = [drop_first(builder, value, direction.index) for value in op.initial]
    cell, units = cell_of(op), shape_of(states[0])[1]
    step = (
        _two_products(builder, matrix, units)
        if cell is None
        else _one_product(matrix, cell, added)
    )
    empty = glow.SplatOp.from_number(
        0.0, like(states[0], (steps, *shape_of(states[0])))
    )
    sequence = builder.insert(empty).results[0]
    last = index_constant(builder, steps - 1) if direction.reverse else None
    loop, body = _loop(builder, steps, [sequence, *states])
    index, results, *carried = loop.body.block.args
    if last is not None:
        index = body.insert(arith.SubiOp(last, index)).results[0]
    inputs = body.node(glow.DynamicSliceOp, projection, index)
    states = step(body, inputs, carried)
    updated = body.node(glow.DynamicUpdateOp, results, states[0], index)
    body.anchor.operands = [updated, *states]
    return loop.results


OneDirection = Callable[[NodeBuilder, glow.RecurrentOp, Direction], Sequence[SSAValue]]


def by_direction(op: Operation, lower: OneDirection) -> None:
    """Replace a layer by what its directions give, joined along the direction axis.

    `lower` gives the sequence [S, B, H] and the last states [B, H] of one.
    """
    assert isinstance(op, glow.RecurrentOp)
    builder = NodeBuilder(op)
    directions = DIRECTIONS[op.attributes_view().string("direction")]
    results = [lower(builder, op, direction) for direction in directions]
    joined: list[SSAValue] = []
    for old, *pieces in zip(op.results, *results, strict=True):
        shape = list(shape_of(old))
        shape[axis := len(shape) - 3] = 1
        pieces = [builder.reshape(piece, shape) for piece in pieces]
        if len(pieces) > 1:
            pieces = [builder.node(glow.ConcatOp, *pieces, axis=axis)]
        joined.append(pieces[0])
    builder.replace(*joined)


def recurrent(op: Operation) -> None:
    """One loop for each direction."""
    by_direction(op, _direction)


LOWERINGS = dict.fromkeys((glow.LstmOp, glow.GruOp, glow.RnnOp), recurrent)
