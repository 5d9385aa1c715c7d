"""The cells of LSTM, GRU and RNN layers, compared by what they compute.

A layer's functions are compared with an expression at random places, for every choice of which
sum is which gate: sigmoids and updates are spelled in many ways, but two analytic functions
that agree there are one. So 1 / (1 + exp(-x)) and 0.5 + 0.5 tanh(0.5 x) are sigmoids, and
h + z (n - h) is (1 - z) h + z n. Where a spelling overflows, as exp(x) / (1 + exp(x)) does, the
layer has the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.passes.graph.recurrence.expressions import (
    Affine,
    Apply,
    Expression,
    Numbers,
    Sequence,
    State,
    evaluate,
    leaves,
    sigmoid,
)
from glow.passes.graph.recurrence.loop import LoopBody

PLACES = 32
MOST = 16.0
"""How large numbers of places are at the last, where squares show that are small at the first."""
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Gate:
    """A gate: what it adds up of the input and of the hidden state."""

    of_input: Affine
    of_hidden: Affine = field(default_factory=Affine)
    is_negated: bool = False


@dataclass(frozen=True)
class Cell:
    """A recurrent layer's node, its gates in its order, and its states in its order."""

    op_class: type[glow.LstmOp | glow.GruOp | glow.RnnOp]
    gates: tuple[Gate, ...]
    states: tuple[int, ...]
    attributes: Mapping[str, AttributeValue] = field(
        default_factory=dict[str, AttributeValue]
    )


def find_cell(body: LoopBody) -> Cell | None:
    """The cell that a loop computes; None where it is none that has a node."""
    found = {one: body.read(body.yielded(one), 0, body.size) for one in body.states}
    has_relu = any(_has(one, glow.ReluOp) for one in found.values())
    if len(found) == 2 and not has_relu:
        first, second = body.states
        return _lstm(found, first, second) or _lstm(found, second, first)
    if len(found) == 2:
        return None
    ((state, hidden),) = found.items()
    cell = _rnn(hidden, state)
    return _gru(hidden, state) if cell is None and not has_relu else cell


def _lstm(found: Mapping[int, Expression], hidden: int, cell: int) -> Cell | None:
    sums = _sums(found[cell], found[hidden])
    reads = [*leaves(found[cell]), *leaves(found[hidden])]
    if len(sums) != 4 or {*reads} - {*sums} != {State(cell)}:
        return None
    if not all(_reads(one, State(hidden)) for one in sums):
        return None
    numbers = _random(reads)
    c, h = (evaluate(found[one], numbers) for one in (cell, hidden))
    for order in permutations(sums):
        i, o, f, g = (numbers[one] for one in order)
        expected = sigmoid(f) * numbers[State(cell)] + sigmoid(i) * np.tanh(g)
        if _same(c, expected) and _same(h, sigmoid(o) * np.tanh(expected)):
            gates = tuple(Gate(one) for one in order)
            return Cell(glow.LstmOp, gates, (hidden, cell))
    return None


def _rnn(hidden: Expression, state: int) -> Cell | None:
    sums = _sums(hidden)
    if len(sums) != 1 or not _reads(sums[0], State(state)):
        return None
    if {*leaves(hidden)} != {sums[0]}:
        return None
    name = _activation(hidden, sums[0])
    if name is None:
        return None
    return Cell(glow.RnnOp, (Gate(sums[0]),), (state,), {"activation": name})


def _activation(expression: Expression, inner: Expression) -> str | None:
    if expression == Apply(glow.ReluOp, (inner,)):
        return "relu"
    if _has(expression, glow.ReluOp):
        return None
    numbers = _random([inner])
    result = evaluate(expression, numbers)
    for name, function in ACTIVATIONS.items():
        if _same(result, function(numbers[inner])):
            return name
    return None


def _gru(hidden: Expression, state: int) -> Cell | None:
    """The update gate is z or 1 - z, which is the sigmoid of the negative sum."""
    sums, own = _sums(hidden), State(state)
    if {*leaves(hidden)} - {*sums} != {own}:
        return None
    if len(sums) == 2:
        return next(_resets_before(hidden, sums, own), None)
    return next(_resets_after(hidden, sums, own), None) if len(sums) == 4 else None


def _resets_before(
    hidden: Expression, sums: list[Affine], own: State
) -> Iterator[Cell]:
    """Cells whose reset gate multiplies the hidden state: n = tanh(W x + R (r * h))."""
    numbers = _random([*sums, own])
    found = evaluate(hidden, numbers)
    for (z, n), sign in product(permutations(sums), (1, -1)):
        reset = [one for one, _ in n.products if isinstance(one, Apply)]
        gates = _sums(*reset)
        if len(reset) != 1 or len(gates) != 1 or not _reads(n, reset[0]):
            continue
        (r,) = gates
        inner = _random([*leaves(reset[0]), r, own])
        is_reset = (
            {*leaves(reset[0])} == {r, own}
            and not _has(reset[0], glow.ReluOp)
            and _same(evaluate(reset[0], inner), sigmoid(inner[r]) * inner[own])
        )
        expected = _updated(sign * numbers[z], np.tanh(numbers[n]), numbers[own])
        if is_reset and _reads(z, own) and _reads(r, own) and _same(found, expected):
            yield Cell(
                glow.GruOp,
                (Gate(z, is_negated=sign < 0), Gate(r), Gate(n)),
                (own.index,),
            )


def _resets_after(hidden: Expression, sums: list[Affine], own: State) -> Iterator[Cell]:
    """Cells whose reset gate multiplies a product: n = tanh(W x + r * (R h))."""
    numbers = _random([*sums, own])
    found = evaluate(hidden, numbers)
    for order, sign in product(permutations(sums), (1, -1)):
        z, r, of_input, of_hidden = order
        new = np.tanh(numbers[of_input] + sigmoid(numbers[r]) * numbers[of_hidden])
        is_split = _reads(of_input, None) and all(
            source == own for source, _ in of_hidden.products
        )
        if not (is_split and _reads(z, own) and _reads(r, own)):
            continue
        if _same(found, _updated(sign * numbers[z], new, numbers[own])):
            gates = (
                Gate(z, is_negated=sign < 0),
                Gate(r),
                Gate(of_input, of_hidden),
            )
            yield Cell(glow.GruOp, gates, (own.index,), {"linear_before_reset": True})


def _updated(z: Numbers, new: Numbers, hidden: Numbers) -> Numbers:
    return (1 - sigmoid(z)) * new + sigmoid(z) * hidden


def _sums(*expressions: Expression) -> list[Affine]:
    """The affine sums that expressions read, each once, in the order they are met."""
    found = (leaf for expression in expressions for leaf in leaves(expression))
    return list(dict.fromkeys(leaf for leaf in found if isinstance(leaf, Affine)))


def _reads(affine: Affine, hidden: Expression | None) -> bool:
    """Whether a sum's products are with the step's input, and with this."""
    return all(
        isinstance(source, Sequence) or source == hidden
        for source, _ in affine.products
    )


def _has(expression: Expression, op_class: type[Operation]) -> bool:
    return isinstance(expression, Apply) and (
        expression.op_class is op_class
        or any(_has(operand, op_class) for operand in expression.operands)
    )


def _random(names: Iterable[Expression]) -> dict[Expression, Numbers]:
    """Numbers for leaves, the same ones in every run."""
    generator, sizes = np.random.default_rng(17), np.linspace(0.25, MOST, PLACES)
    return {name: sizes * generator.standard_normal(PLACES) for name in names}


def _same(found: Numbers, expected: Numbers) -> bool:
    return bool(np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE))


ACTIVATIONS: Mapping[str, Callable[[Numbers], Numbers]] = {
    "tanh": np.tanh,
    "sigmoid": sigmoid,
}
