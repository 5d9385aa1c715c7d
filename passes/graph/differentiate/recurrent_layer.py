"""A recurrent layer as its gradient needs it: operands, and loops over the sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.differentiate.region_copies import INDEX, index_constant
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, like


class Nodes:
    """Short names for the nodes that steps are made of."""

    def __init__(self, builder: NodeBuilder) -> None:
        self.builder = builder

    def mul(self, *factors: SSAValue) -> SSAValue:
        """A product of several."""
        return self._folded(glow.MulOp, factors)

    def add(self, *terms: SSAValue) -> SSAValue:
        """A sum of several."""
        return self._folded(glow.AddOp, terms)

    def _folded(self, node: type[NodeOp], values: Sequence[SSAValue]) -> SSAValue:
        first, *others = values
        for other in others:
            first = self.builder.node(node, first, other)
        return first

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y."""
        return self.builder.node(glow.SubOp, x, y)

    def one_minus(self, x: SSAValue) -> SSAValue:
        """1 - x."""
        one = self.builder.splat(1.0, element_type(x))
        return self.sub(one, x)

    def sigmoid(self, x: SSAValue) -> SSAValue:
        """The logistic function."""
        return self.builder.node(glow.SigmoidOp, x)

    def tanh(self, x: SSAValue) -> SSAValue:
        """The hyperbolic tangent."""
        return self.builder.node(glow.TanhOp, x)

    def sigmoid_slope(self, y: SSAValue) -> SSAValue:
        """The derivative of the logistic function where it is y."""
        return self.mul(y, self.one_minus(y))

    def tanh_slope(self, y: SSAValue) -> SSAValue:
        """The derivative of the hyperbolic tangent where it is y."""
        return self.one_minus(self.mul(y, y))

    def product(self, x: SSAValue, matrix: SSAValue, **how: bool) -> SSAValue:
        """A matrix product."""
        return self.builder.node(glow.MatmulOp, x, matrix, **how)

    def joined(self, *pieces: SSAValue) -> SSAValue:
        """Pieces along the last axis."""
        if len(pieces) == 1:
            return pieces[0]
        axis = len(shape_of(pieces[0])) - 1
        return self.builder.node(glow.ConcatOp, *pieces, axis=axis)

    def part(self, value: SSAValue, axis: int, start: int, size: int) -> SSAValue:
        """`size` elements from `start` on along an axis."""
        sizes = list(shape_of(value))
        starts, steps = [0] * len(sizes), [1] * len(sizes)
        starts[axis], sizes[axis] = start, size
        return self.builder.node(
            glow.SliceOp, value, starts=starts, sizes=sizes, steps=steps
        )

    def gate(
        self, value: SSAValue, number: int, units: int, count: int = 1
    ) -> SSAValue:
        """Some gates of all that lie along the last axis."""
        axis = len(shape_of(value)) - 1
        return self.part(value, axis, number * units, count * units)

    def element(self, value: SSAValue, axis: int, number: int) -> SSAValue:
        """An element of an axis, without it."""
        shape = list(shape_of(value))
        del shape[axis]
        return self.builder.reshape(self.part(value, axis, number, 1), shape)


@dataclass(frozen=True)
class Layer:
    """One direction of a layer: operands without the axis of directions, as matrices."""

    nodes: Nodes
    is_reversed: bool
    inputs: SSAValue
    """[S * B, I]."""
    weights: SSAValue
    recurrence: SSAValue
    bias: SSAValue
    """What is added to the inputs' products, [G * H]."""
    later: SSAValue | None
    """What is added to the recurrence's product of the last gate, if a gate multiplies that."""
    initial: Sequence[SSAValue]
    before: SSAValue
    """The hidden state with which each step begins, [S, B, H]."""
    after: SSAValue
    """And that with which it ends."""

    @property
    def size(self) -> tuple[int, int, int]:
        """Steps, batch and units."""
        steps, batch, units = shape_of(self.before)
        return steps, batch, units

    def entering(self) -> SSAValue:
        """What the inputs give to all gates, with the bias: [S, B, G * H].

        Written as the lowered layer does, which computes the same.
        """
        builder, (steps, batch, _) = self.nodes.builder, self.size
        matrix = builder.transpose(self.weights, (1, 0))
        total = builder.node(glow.FullyConnectedOp, self.inputs, matrix, self.bias)
        return builder.reshape(total, (steps, batch, shape_of(total)[1]))

    def recurrent(
        self, hidden: SSAValue, first: int = 0, count: int | None = None
    ) -> SSAValue:
        """What hidden states [S, B, H] give to some gates."""
        nodes, (steps, batch, units) = self.nodes, self.size
        matrix = self.recurrence
        if count is not None:
            matrix = nodes.part(matrix, 0, first * units, count * units)
        flat = nodes.builder.reshape(hidden, (steps * batch, units))
        total = nodes.product(flat, matrix, transpose_rhs=True)
        return nodes.builder.reshape(total, (steps, batch, shape_of(total)[1]))


def previous(layer: Layer, initial: SSAValue, states: SSAValue) -> SSAValue:
    """The state [S, B, H] with which each step begins, from those with which they end."""
    nodes, steps = layer.nodes, shape_of(states)[0]
    first = nodes.builder.reshape(initial, (1, *shape_of(initial)))
    others = nodes.part(states, 0, int(layer.is_reversed), steps - 1)
    pieces = [others, first] if layer.is_reversed else [first, others]
    return nodes.builder.node(glow.ConcatOp, *pieces, axis=0)


def over_steps(layer: Layer, gates: SSAValue, values: SSAValue) -> SSAValue:
    """The gradient of a matrix that multiplied values in all steps: one product."""
    nodes = layer.nodes
    flat = [
        nodes.builder.reshape(
            value, (layer.size[0] * layer.size[1], shape_of(value)[-1])
        )
        for value in (gates, values)
    ]
    return nodes.product(*flat, transpose_lhs=True)


Step = Callable[
    [Nodes, Sequence[SSAValue], Sequence[SSAValue]],
    tuple[list[SSAValue], list[SSAValue]],
]
"""`step(nodes, states, parts)`: what is kept of a step, and the next states."""


def steps_of(
    layer: Layer,
    step: Step,
    downwards: bool,
    given: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[Sequence[int]]],
) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """What is kept of all steps [S, ...], and the last states.

    `given` are the initial states, the tensors [S, ...] of which a step gets its part, and
    the shapes of what is kept of each.
    """
    initial, factors, shapes = given
    builder, count = layer.nodes.builder, layer.size[0]
    first, end, one, last = (
        index_constant(builder, number) for number in (0, count, 1, count - 1)
    )
    empty = [
        builder.insert(
            glow.SplatOp.from_number(0.0, like(layer.before, (count, *shape)))
        ).results[0]
        for shape in shapes
    ]
    carried = [*empty, *initial]
    block = Block(arg_types=[INDEX, *(value.type for value in carried)])
    yield_ = scf.YieldOp()
    block.add_op(yield_)
    loop = builder.insert(scf.ForOp(first, end, one, carried, Region(block)))
    body = NodeBuilder(yield_)
    index, *values = block.args
    if downwards:
        index = body.insert(arith.SubiOp(last, index)).results[0]
    kept, states = values[: len(empty)], values[len(empty) :]
    parts = [body.node(glow.DynamicSliceOp, value, index) for value in factors]
    new, states = step(Nodes(body), states, parts)
    updated = [
        body.node(glow.DynamicUpdateOp, old, value, index)
        for old, value in zip(kept, new, strict=True)
    ]
    yield_.operands = [*updated, *states]
    return loop.results[: len(empty)], loop.results[len(empty) :]
