"""Recurrent layers: backwards through the sequence in one loop.

What a step needs of the forward pass is computed for all steps at once, before the loop: the
sequence of hidden states is a result of the layer, so all gates are two products. In the loop
remain the product of the gates' gradients with the recurrence, and element-wise work; behind it
the gradient of each matrix is one product over all steps.

    %gates = glow.matmul %x, %w ... : tensor<2048x512xf32>            // 64 steps, batch 32
    %dh, %dgates = scf.for %i = ... iter_args(%dh = %last.grad, %all = ...) {
      %d = ...  %dh and factors of the gates                          // tensor<32x512xf32>
      %dh2 = glow.matmul %d, %r : tensor<32x128xf32>
      scf.yield %dh2, %all2
    }
    %w.grad = glow.matmul %dgates, %x transpose_lhs : tensor<512x64xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.region_copies import INDEX, index_constant
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import NodeBuilder, element_type, like

REVERSED = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


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
    biases: tuple[SSAValue, SSAValue]
    """Of the inputs' products, and of the recurrence's; [G * H]."""
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
        """What the inputs give to all gates, with their bias: [S, B, G * H]."""
        nodes, (steps, batch, _) = self.nodes, self.size
        product = nodes.product(self.inputs, self.weights, transpose_rhs=True)
        total = nodes.add(product, self.biases[0])
        return nodes.builder.reshape(total, (steps, batch, shape_of(total)[1]))

    def recurrent(
        self, hidden: SSAValue, first: int = 0, count: int | None = None
    ) -> SSAValue:
        """What hidden states [S, B, H] give to some gates, with their bias."""
        nodes, (steps, batch, units) = self.nodes, self.size
        matrix, bias = self.recurrence, self.biases[1]
        if count is not None:
            matrix = nodes.part(matrix, 0, first * units, count * units)
            bias = nodes.part(bias, 0, first * units, count * units)
        flat = nodes.builder.reshape(hidden, (steps * batch, units))
        total = nodes.add(nodes.product(flat, matrix, transpose_rhs=True), bias)
        return nodes.builder.reshape(total, (steps, batch, shape_of(total)[1]))


class Walk(Protocol):
    """How a cell goes back, once its gates are known.

    `factors` are tensors [S, B, ...], of which each step gets its part.
    """

    factors: Sequence[SSAValue]

    def step(
        self,
        nodes: Nodes,
        gradients: Sequence[SSAValue],
        factors: Sequence[SSAValue],
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """What is kept of a step [B, ...], and the gradients of the states before it."""
        ...

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """The gradients [S * B, G * H] of what inputs and what the recurrence gave, and
        the gradient of the recurrence.
        """
        ...


class PlainWalk:
    """`h' = f(x + R h)`: the gradient of the sum is kept."""

    def __init__(self, layer: Layer, activation: str) -> None:
        self.layer, nodes, y = layer, layer.nodes, layer.after
        self.factors = [SLOPES[activation](nodes, y)]

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `Walk`."""
        total = nodes.mul(gradients[0], factors[0])
        return [total], [nodes.product(total, self.layer.recurrence)]

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """See `Walk`."""
        return kept[0], kept[0], over_steps(self.layer, kept[0], self.layer.before)


def _relu_slope(nodes: Nodes, y: SSAValue) -> SSAValue:
    zero, one = (nodes.builder.splat(number, element_type(y)) for number in (0, 1))
    positive = nodes.builder.node(glow.LessOp, zero, y)
    return nodes.builder.node(glow.SelectOp, positive, one, zero)


SLOPES: dict[str, Callable[[Nodes, SSAValue], SSAValue]] = {
    "tanh": Nodes.tanh_slope,
    "sigmoid": Nodes.sigmoid_slope,
    "relu": _relu_slope,
}
"""Activation of a plain layer to its derivative, by its result."""


class LstmWalk(PlainWalk):
    """Gates i o f c: `c' = s(f) c + s(i) tanh(g)`, `h' = s(o) tanh(c')`.

    With the gradients h and c of the states, `c += h s(o) tanh'(c')`; the gradients of all
    gates are products of h or c with factors that are known before.
    """

    def __init__(self, layer: Layer) -> None:
        self.layer, nodes, (_, _, units) = layer, layer.nodes, layer.size
        totals = nodes.add(layer.entering(), layer.recurrent(layer.before))
        squashed = nodes.sigmoid(nodes.gate(totals, 0, units, 3))
        entering, leaving, forgetting = (
            nodes.gate(squashed, number, units) for number in range(3)
        )
        candidate = nodes.tanh(nodes.gate(totals, 3, units))
        added = nodes.mul(entering, candidate)
        cells = _cells(layer, forgetting, added)
        before = previous(layer, layer.initial[1], cells)
        top = nodes.tanh(cells)
        of_cell = nodes.joined(
            nodes.mul(candidate, nodes.sigmoid_slope(entering)),
            nodes.mul(before, nodes.sigmoid_slope(forgetting)),
            nodes.mul(entering, nodes.tanh_slope(candidate)),
        )
        self.factors = [
            of_cell,
            nodes.mul(top, nodes.sigmoid_slope(leaving)),
            nodes.mul(leaving, nodes.tanh_slope(top)),
            forgetting,
        ]

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `Walk`."""
        (hidden, cell), units = gradients, self.layer.size[2]
        of_cell, of_output, slope, forgetting = factors
        cell = nodes.add(cell, nodes.mul(hidden, slope))
        entering, forgotten, candidate = (
            nodes.mul(cell, nodes.gate(of_cell, number, units)) for number in range(3)
        )
        left = nodes.mul(hidden, of_output)
        total = nodes.joined(entering, left, forgotten, candidate)
        back = nodes.product(total, self.layer.recurrence)
        return [total], [back, nodes.mul(cell, forgetting)]


def _cells(layer: Layer, forgetting: SSAValue, added: SSAValue) -> SSAValue:
    """The cells behind all steps, [S, B, H]: the loop of the layer without its products."""

    def step(
        nodes: Nodes, states: Sequence[SSAValue], parts: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        cell = nodes.add(nodes.mul(parts[0], states[0]), parts[1])
        return [cell], [cell]

    shapes = [shape_of(layer.initial[1])]
    kept, _ = steps_of(
        layer,
        step,
        layer.is_reversed,
        (layer.initial[1:], [forgetting, added], shapes),
    )
    return kept[0]


class GruWalk(PlainWalk):
    """Gates z r h: `n = tanh(x + R (s(r) h) + b)`, `h' = n + s(z) (h - n)`."""

    def __init__(self, layer: Layer) -> None:
        self.layer, nodes, (_, _, units) = layer, layer.nodes, layer.size
        inputs, before = layer.entering(), layer.before
        totals = nodes.add(
            nodes.gate(inputs, 0, units, 2), layer.recurrent(before, 0, 2)
        )
        squashed = nodes.sigmoid(totals)
        self.update = nodes.gate(squashed, 0, units)
        self.reset = nodes.gate(squashed, 1, units)
        self.kept = nodes.mul(self.reset, before)
        product = layer.recurrent(self.kept, 2, 1)
        candidate = nodes.tanh(nodes.add(product, nodes.gate(inputs, 2, units)))
        self.of_update, self.of_candidate = _of_blend(layer, self.update, candidate)
        of_reset = nodes.mul(before, nodes.sigmoid_slope(self.reset))
        self.factors = [
            self.of_update,
            of_reset,
            self.of_candidate,
            self.update,
            self.reset,
        ]
        matrix = layer.recurrence
        self.first = nodes.part(matrix, 0, 0, 2 * units)
        self.last = nodes.part(matrix, 0, 2 * units, units)

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `Walk`."""
        (hidden,) = gradients
        of_update, of_reset, of_candidate, update, reset = factors
        candidate = nodes.mul(hidden, of_candidate)
        kept = nodes.product(candidate, self.last)
        gates = nodes.joined(nodes.mul(hidden, of_update), nodes.mul(kept, of_reset))
        back = nodes.add(
            nodes.product(gates, self.first),
            nodes.mul(hidden, update),
            nodes.mul(kept, reset),
        )
        return [gates, candidate], [back]

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """See `Walk`."""
        gates, candidate = kept
        total, builder = (
            self.layer.nodes.joined(gates, candidate),
            self.layer.nodes.builder,
        )
        first = over_steps(self.layer, gates, self.layer.before)
        last = over_steps(self.layer, candidate, self.kept)
        return total, total, builder.node(glow.ConcatOp, first, last, axis=0)


class LinearGruWalk(PlainWalk):
    """Gates z r h: `n = tanh(x + s(r) (R h + b))`, `h' = n + s(z) (h - n)`."""

    def __init__(self, layer: Layer) -> None:
        self.layer, nodes, (_, _, units) = layer, layer.nodes, layer.size
        inputs, products = layer.entering(), layer.recurrent(layer.before)
        first = nodes.add(
            nodes.gate(inputs, 0, units, 2), nodes.gate(products, 0, units, 2)
        )
        squashed = nodes.sigmoid(first)
        update, reset = (nodes.gate(squashed, number, units) for number in range(2))
        product = nodes.gate(products, 2, units)
        inner = nodes.add(nodes.mul(reset, product), nodes.gate(inputs, 2, units))
        of_update, of_candidate = _of_blend(layer, update, nodes.tanh(inner))
        of_reset = nodes.mul(of_candidate, product, nodes.sigmoid_slope(reset))
        of_product = nodes.mul(of_candidate, reset)
        gates = nodes.joined(of_update, of_reset, of_product)
        self.of_candidate = of_candidate
        self.reset = reset
        self.factors = [gates, update, of_candidate]

    def step(
        self, nodes: Nodes, gradients: Sequence[SSAValue], factors: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """See `Walk`."""
        (hidden,) = gradients
        gates, update, of_candidate = factors
        total = nodes.mul(nodes.joined(hidden, hidden, hidden), gates)
        back = nodes.product(total, self.layer.recurrence)
        back = nodes.add(back, nodes.mul(hidden, update))
        return [total, nodes.mul(hidden, of_candidate)], [back]

    def sums(self, kept: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, SSAValue]:
        """See `Walk`."""
        gates, candidate = kept
        nodes, units = self.layer.nodes, self.layer.size[2]
        of_inputs = nodes.joined(nodes.gate(gates, 0, units, 2), candidate)
        return of_inputs, gates, over_steps(self.layer, gates, self.layer.before)


def _of_blend(
    layer: Layer, update: SSAValue, candidate: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """What the gradient of `n + s(z) (h - n)` is multiplied by for z, and for n's sum."""
    nodes = layer.nodes
    difference = nodes.sub(layer.before, candidate)
    return (
        nodes.mul(difference, nodes.sigmoid_slope(update)),
        nodes.mul(nodes.one_minus(update), nodes.tanh_slope(candidate)),
    )


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


def walk_of(op: glow.RecurrentOp, layer: Layer) -> tuple[Walk, list[int]]:
    """How the layer's cell goes back, and how many gates it keeps in each tensor."""
    attributes = op.attributes_view()
    if isinstance(op, glow.LstmOp):
        return LstmWalk(layer), [4]
    if isinstance(op, glow.RnnOp):
        return PlainWalk(layer, attributes.string("activation")), [1]
    if attributes.has("linear_before_reset"):
        return LinearGruWalk(layer), [3, 1]
    return GruWalk(layer), [2, 1]


def layer_of(
    builder: GradientBuilder, op: glow.RecurrentOp, number: int, is_reversed: bool
) -> Layer:
    """One direction of a layer."""
    nodes, (steps, batch, size) = Nodes(builder), shape_of(op.input)
    bias = nodes.element(op.bias, 0, number)
    half = shape_of(bias)[0] // 2
    initial = [nodes.element(value, 0, number) for value in op.initial]
    after = nodes.element(op.sequence, 1, number)
    layer = Layer(
        nodes,
        is_reversed,
        builder.reshape(op.input, (steps * batch, size)),
        nodes.element(op.weights, 0, number),
        nodes.element(op.recurrence, 0, number),
        (nodes.part(bias, 0, 0, half), nodes.part(bias, 0, half, half)),
        initial,
        after,
        after,
    )
    return replace(layer, before=previous(layer, initial[0], after))


def direction(
    builder: GradientBuilder,
    op: glow.RecurrentOp,
    layer: Layer,
    gradients: Gradients,
) -> list[SSAValue]:
    """The gradients of the operands of one direction, from [S, B, H] and of each state."""
    nodes, (steps, batch, units) = layer.nodes, layer.size
    walk, counts = walk_of(op, layer)
    of_sequence, *of_last = gradients
    initial = [
        builder.full(0.0, like(state, shape_of(state)))
        if gradient is None
        else gradient
        for state, gradient in zip(layer.initial, of_last, strict=True)
    ]
    more = [] if of_sequence is None else [of_sequence]

    def step(
        body: Nodes, states: Sequence[SSAValue], parts: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        hidden, *others = states
        if more:
            hidden = body.add(hidden, parts[-1])
        return walk.step(body, [hidden, *others], parts[: len(walk.factors)])

    shapes = [(batch, count * units) for count in counts]
    kept, states = steps_of(
        layer,
        step,
        not layer.is_reversed,
        (initial, [*walk.factors, *more], shapes),
    )
    of_gates, of_products, of_recurrence = walk.sums(kept)
    flat = builder.reshape(of_gates, (steps * batch, shape_of(of_gates)[-1]))
    of_inputs = nodes.product(flat, layer.weights)
    bias = [
        builder.node(glow.ReduceSumOp, value, axes=[0, 1])
        for value in (of_gates, of_products)
    ]
    return [
        builder.reshape(of_inputs, shape_of(op.input)),
        nodes.product(flat, layer.inputs, transpose_lhs=True),
        of_recurrence,
        nodes.joined(*bias),
        *states,
    ]


def recurrent(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """Each direction by itself; the gradients of the inputs are summed."""
    assert isinstance(op, glow.RecurrentOp)
    senses = REVERSED[op.attributes_view().string("direction")]
    found: list[list[SSAValue]] = []
    for number, is_reversed in enumerate(senses):
        layer = layer_of(builder, op, number, is_reversed)
        axes = [1, *[0] * len(op.last)]
        own = [
            None if gradient is None else layer.nodes.element(gradient, axis, number)
            for gradient, axis in zip(gradients, axes, strict=True)
        ]
        found.append(direction(builder, op, layer, own))
    nodes = Nodes(builder)
    of_inputs, *others = zip(*found, strict=True)
    return [
        nodes.add(*of_inputs),
        *(_stacked(builder, pieces) for pieces in others),
    ]


def _stacked(builder: GradientBuilder, pieces: Sequence[SSAValue]) -> SSAValue:
    """Those of all directions along a first axis."""
    pieces = [builder.reshape(piece, (1, *shape_of(piece))) for piece in pieces]
    if len(pieces) == 1:
        return pieces[0]
    return builder.node(glow.ConcatOp, *pieces, axis=0)


RULES: dict[type[Operation], Rule] = dict.fromkeys(
    (glow.LstmOp, glow.GruOp, glow.RnnOp), recurrent
)
