"""Recurrent layers in the forms that the nodes of the dialect do not have.

Other activations, `clip`, `input_forget`, peepholes and sequences of different lengths: such
a layer is an `scf.for` over the steps at import. Behind the end of a sequence the states stay
and the results are 0; the loop ends with the longest sequence:

    %p = (products with the inputs of all steps)
    %n = tensor.extract %longest[] : tensor<i64>
    %y, %h = scf.for %i = 0 to %n iter_args(%y = zeros, %h = initial) {
      %x = glow.dynamic_slice %p, %i
      ...
      %kept = glow.select %is_running, %new, %h

The equations are those of ONNX LSTM-22, GRU-22 and RNN-22.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from glow.dialects.attributes import AttributeValue
from glow.dialects.glow import (
    AddOp,
    ClipOp,
    ConcatOp,
    EluOp,
    HardSigmoidOp,
    LeakyReluOp,
    LessOp,
    MatmulOp,
    MulOp,
    ReduceMaxOp,
    ReluOp,
    SelectOp,
    SigmoidOp,
    SliceOp,
    SoftplusOp,
    SoftsignOp,
    SubOp,
    TanhOp,
)
from glow.dialects.node import NodeOp, fail_unless
from glow.frontends.onnx.control_flow.bodies import checked_index
from glow.frontends.onnx.control_flow.regions import (
    Bound,
    counted_loop,
    downwards,
    element,
    empty_stack,
    updated,
)
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, shape
from glow.frontends.onnx.refusal import refuse_if

Function = Callable[[Operand], Operand]


Apply = Callable[[OnnxNode, Operand, Sequence[float]], Operand]
"""`apply(node, x, (alpha, beta))`"""


@dataclass(frozen=True)
class Activation:
    """A function of the list in ONNX's operators, and the defaults of its numbers."""

    apply: Apply
    defaults: Sequence[float] = ()
    """alpha, beta"""


def _node(op_class: type[NodeOp], **defaults: float) -> Activation:
    """A function that is a node, with its attributes."""

    def apply(node: OnnxNode, x: Operand, numbers: Sequence[float]) -> Operand:
        attributes: dict[str, AttributeValue] = dict(
            zip(defaults, numbers, strict=True)
        )
        return node.emit(op_class, x, types=None, **attributes)

    return Activation(apply, tuple(defaults.values()))


def _affine(node: OnnxNode, x: Operand, numbers: Sequence[float]) -> Operand:
    alpha, beta = (node.number(number, x) for number in numbers)
    return node.emit(AddOp, node.emit(MulOp, x, alpha), beta)


def _scaled_tanh(node: OnnxNode, x: Operand, numbers: Sequence[float]) -> Operand:
    alpha, beta = (node.number(number, x) for number in numbers)
    return node.emit(MulOp, node.emit(TanhOp, node.emit(MulOp, x, beta)), alpha)


def _thresholded_relu(node: OnnxNode, x: Operand, numbers: Sequence[float]) -> Operand:
    above = node.emit(LessOp, node.number(numbers[0], x), x)
    return node.emit(SelectOp, above, x, node.number(0.0, x))


ACTIVATIONS: dict[str, Activation] = {
    "affine": Activation(_affine, (1.0, 0.0)),
    "elu": _node(EluOp, alpha=1.0),
    "hardsigmoid": _node(HardSigmoidOp, alpha=0.2, beta=0.5),
    "leakyrelu": _node(LeakyReluOp, alpha=0.01),
    "relu": _node(ReluOp),
    "scaledtanh": Activation(_scaled_tanh, (1.0, 1.0)),
    "sigmoid": _node(SigmoidOp),
    "softplus": _node(SoftplusOp),
    "softsign": _node(SoftsignOp),
    "tanh": _node(TanhOp),
    "thresholdedrelu": Activation(_thresholded_relu, (1.0,)),
}


def activations(
    node: OnnxNode, defaults: Sequence[str], directions: int
) -> list[list[Function]]:
    """The functions of each direction.

    Those that have an alpha or a beta take the next of the attribute's numbers, in order.
    `clip` bounds the sums of gates, as in ONNX Runtime: not the cell of an LSTM.
    """
    names = node.attr_strings("activations") or [*defaults] * directions
    numbers = [
        node.attr_floats(f"activation_{name}") or () for name in ("alpha", "beta")
    ]
    left = [iter(given) for given in numbers]
    found: list[Function] = []
    for number in range(len(defaults) * directions):
        name = names[number % len(names)].lower()
        refuse_if(name not in ACTIVATIONS, f"activation {name}")
        kind = ACTIVATIONS[name]
        given = [next(left[k], value) for k, value in enumerate(kind.defaults)]
        function = partial(_applied, node, kind, given)
        is_of_gate = number % len(defaults) < 2
        found.append(_clipped(node, function) if is_of_gate else function)
    count = len(defaults)
    return [found[start : start + count] for start in range(0, len(found), count)]


def _applied(
    node: OnnxNode, kind: Activation, numbers: Sequence[float], x: Operand
) -> Operand:
    return kind.apply(node, x, numbers)


def _clipped(node: OnnxNode, function: Function) -> Function:
    """The function of its operand between `-clip` and `clip`."""
    if not node.has_attribute("clip"):
        return function
    limit = node.attr_float("clip", 0.0)
    return lambda x: function(node.emit(ClipOp, x, low=-limit, high=limit))


# One direction -----------------------------------------------------------------------


@dataclass
class Layer:
    """The operands of a layer: sequence [S, B, I], states [D, B, H], lengths [B] or none."""

    node: OnnxNode
    gates: int
    sequence: Operand
    bias: Operand
    states: Sequence[Operand]
    peepholes: Operand | None
    lengths: Operand | None

    def part(self, value: Operand, axis: int, start: int, size: int) -> Operand:
        """`size` elements along an axis."""
        if isinstance(value, Constant):
            index = [slice(None)] * value.array.ndim
            index[axis] = slice(start, start + size)
            return Constant(value.array[tuple(index)], value.name)
        sizes = list(shape(value))
        starts, steps = [0] * len(sizes), [1] * len(sizes)
        starts[axis], sizes[axis] = start, size
        return self.node.emit(SliceOp, value, starts=starts, sizes=sizes, steps=steps)

    def of_direction(self, value: Operand, number: int) -> Operand:
        """Element `number` of axis 0."""
        return self.node.reshape(self.part(value, 0, number, 1), shape(value)[1:])

    def pieces(self, value: Operand, count: int) -> list[Operand]:
        """Equal parts along the last axis."""
        axis, size = len(shape(value)) - 1, shape(value)[-1] // count
        return [self.part(value, axis, k * size, size) for k in range(count)]


@dataclass
class Step:
    """What a cell computes with: its weights and functions in one direction."""

    layer: Layer
    recurrence: Operand
    functions: Sequence[Function]
    late_bias: Operand | None
    """Of the recurrence's last gate, where a reset gate multiplies it."""
    peepholes: Sequence[Operand]

    def emit(self, op_class: type[NodeOp], *operands: Operand) -> Operand:
        """A node."""
        return self.layer.node.emit(op_class, *operands)

    def product(self, hidden: Operand, weights: Operand) -> Operand:
        """`hidden @ weights^T`."""
        return self.layer.node.emit(MatmulOp, hidden, weights, transpose_rhs=True)

    def looked(self, gate: Operand, number: int, cell: Operand) -> Operand:
        """A gate plus its peephole's view of the cell."""
        if not self.peepholes:
            return gate
        return self.emit(AddOp, gate, self.emit(MulOp, self.peepholes[number], cell))


def lstm_step(step: Step, x: Operand, states: Sequence[Operand]) -> list[Operand]:
    """Gates i o f c; peepholes i o f."""
    hidden, cell = states
    f, g, h = step.functions
    total = step.emit(AddOp, x, step.product(hidden, step.recurrence))
    entering, leaving, forgetting, candidate = step.layer.pieces(total, 4)
    entering = f(step.looked(entering, 0, cell))
    if step.layer.node.attr_int("input_forget", 0):
        one = step.layer.node.number(1.0, entering)
        forgetting = step.emit(SubOp, one, entering)
    else:
        forgetting = f(step.looked(forgetting, 2, cell))
    kept = step.emit(MulOp, forgetting, cell)
    cell = step.emit(AddOp, kept, step.emit(MulOp, entering, g(candidate)))
    leaving = f(step.looked(leaving, 1, cell))
    return [step.emit(MulOp, leaving, h(cell)), cell]


def gru_step(step: Step, x: Operand, states: Sequence[Operand]) -> list[Operand]:
    """Gates z r h."""
    (hidden,) = states
    f, g = step.functions
    size = shape(hidden)[1]
    of_input = step.layer.pieces(x, 3)
    early = step.layer.part(step.recurrence, 0, 0, 2 * size)
    late = step.layer.part(step.recurrence, 0, 2 * size, size)
    of_state = step.layer.pieces(step.product(hidden, early), 2)
    update, reset = (
        f(step.emit(AddOp, one, other))
        for one, other in zip(of_input, of_state, strict=False)
    )
    if step.late_bias is not None:
        total = step.emit(AddOp, step.product(hidden, late), step.late_bias)
        kept = step.emit(MulOp, reset, total)
    else:
        kept = step.product(step.emit(MulOp, reset, hidden), late)
    candidate = g(step.emit(AddOp, of_input[2], kept))
    difference = step.emit(SubOp, hidden, candidate)
    return [step.emit(AddOp, candidate, step.emit(MulOp, update, difference))]


def rnn_step(step: Step, x: Operand, states: Sequence[Operand]) -> list[Operand]:
    """`h' = f(x + R h)`."""
    total = step.emit(AddOp, x, step.product(states[0], step.recurrence))
    return [step.functions[0](total)]


Cell = Callable[[Step, Operand, Sequence[Operand]], list[Operand]]


class Direction:
    """One pass over the sequence."""

    def __init__(self, layer: Layer, number: int, *, is_reverse: bool) -> None:
        self.layer = layer
        self.node = layer.node
        self.number = number
        self.is_reverse = is_reverse
        self.steps = shape(layer.sequence)[0]

    def run(self, cell: Cell, functions: Sequence[Function]) -> list[Operand]:
        """The sequence [S, B, H] and the last states [B, H]."""
        layer, graph = self.layer, self.node.graph
        bias, late = self._biases()
        step = Step(
            layer,
            layer.of_direction(self.node.value(2), self.number),
            functions,
            late,
            []
            if layer.peepholes is None
            else layer.pieces(layer.of_direction(layer.peepholes, self.number), 3),
        )
        inputs = self._projection(bias)
        states = [layer.of_direction(value, self.number) for value in layer.states]
        running = self._running()
        values = [graph.value_of(value) for value in states]
        stack = empty_stack(self.steps, values[0].type)

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[Operand]:
            at = downwards(graph, index, self.steps) if self.is_reverse else index
            result, *old = carried
            new = cell(step, element(graph, inputs, at), old)
            shown = new[0]
            if running is not None:
                valid = element(graph, running, at)
                zero = self.node.number(0.0, shown)
                shown = self.node.emit(SelectOp, valid, shown, zero)
                new = [
                    self.node.emit(SelectOp, valid, one, other)
                    for one, other in zip(new, old, strict=True)
                ]
            return [updated(graph, result, shown, at), *new]

        return list(counted_loop(graph, self._bounds(), [stack, *values], body))

    def _biases(self) -> tuple[Operand, Operand | None]:
        """What is added to the inputs' products, and to the recurrence's last gate."""
        layer, gates = self.layer, self.layer.gates
        bias = layer.of_direction(layer.bias, self.number)
        pieces = layer.pieces(bias, 2 * gates)
        late = None
        if self.node.attr_int("linear_before_reset", 0):
            late, pieces[-1] = pieces[-1], self.node.number(0.0, bias)
        sums = [
            self.node.emit(AddOp, pieces[k], pieces[gates + k]) for k in range(gates)
        ]
        return self.node.emit(ConcatOp, *sums, axis=0), late

    def _projection(self, bias: Operand) -> SSAValue:
        """The products with the inputs of all steps [S, B, G * H]."""
        layer = self.layer
        steps, batch, size = shape(layer.sequence)
        weights = layer.of_direction(self.node.value(1), self.number)
        flat = self.node.reshape(layer.sequence, (steps * batch, size))
        product = self.node.emit(MatmulOp, flat, weights, transpose_rhs=True)
        total = self.node.emit(AddOp, product, bias)
        whole = self.node.reshape(total, (steps, batch, shape(total)[1]))
        return self.node.graph.value_of(whole)

    def _running(self) -> SSAValue | None:
        """Which sequences have not ended at a step: [S, B, 1]."""
        lengths = self.layer.lengths
        if lengths is None:
            return None
        steps = Constant(np.arange(self.steps).reshape(-1, 1, 1), "steps")
        shaped = self.node.reshape(lengths, (1, shape(lengths)[0], 1))
        return self.node.emit(LessOp, steps, shaped)

    def _bounds(self) -> tuple[Bound, Bound]:
        """The steps of the longest sequence; a reverse pass leaves out the first ones."""
        lengths = self.layer.lengths
        if lengths is None or 0 in shape(lengths):
            return 0, self.steps
        longest = self.node.emit(ReduceMaxOp, lengths, axes=[0], keepdims=False)
        limit = Constant(np.array(self.steps), "steps")
        if not self.is_reverse:
            return 0, longest
        return self.node.emit(SubOp, limit, longest), self.steps


def layer_of_steps(
    layer: Layer, cell: Cell, functions: Sequence[Sequence[Function]], direction: str
) -> list[Operand]:
    """The results of a layer: the sequence [S, D, B, H], the last states [D, B, H]."""
    reverse = {"forward": [False], "reverse": [True]}.get(direction, [False, True])
    results = [
        Direction(layer, number, is_reverse=back).run(cell, functions[number])
        for number, back in enumerate(reverse)
    ]
    joined: list[Operand] = []
    for position, pieces in enumerate(zip(*results, strict=True)):
        axis = 0 if position else 1
        shapes = [list(shape(piece)) for piece in pieces]
        shaped = [
            layer.node.reshape(piece, [*sizes[:axis], 1, *sizes[axis:]])
            for piece, sizes in zip(pieces, shapes, strict=True)
        ]
        is_one = len(shaped) == 1
        joined.append(
            shaped[0] if is_one else layer.node.emit(ConcatOp, *shaped, axis=axis)
        )
    return joined


def lengths_of(node: OnnxNode, index: int, steps: int) -> Operand | None:
    """The lengths of the sequences [B], i64; none where all are whole."""
    if not node.has(index):
        return None
    value = node.convert(node.value(index), i64)
    if isinstance(value, Constant):
        numbers: list[int] = value.array.ravel().tolist()
        wrong = [number for number in numbers if not 0 <= number <= steps]
        fail_unless(not wrong, f"sequence_lens has {wrong[:1]}, of {steps} steps")
        return None if set(numbers) <= {steps} else value
    return checked_index(node, value, steps)
