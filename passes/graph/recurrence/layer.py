"""The node of a recurrent layer in the place of its loop (`recognize-recurrence`)."""

from __future__ import annotations

from collections.abc import Sequence as Items

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.passes.graph.recurrence.cells import Cell, Gate, find_cell
from glow.passes.graph.recurrence.expressions import Affine, Sequence, Weights
from glow.passes.graph.recurrence.loop import LoopBody, UnknownError
from glow.passes.rewriting.node_builder import NodeBuilder, like
from glow.passes.rewriting.patterns import erase_unused


def recognize_recurrence(op: scf.ForOp) -> bool:
    """Replace a loop that is a recurrent layer by its node; whether it was one."""
    try:
        body = LoopBody(op)
        cell = find_cell(body)
    except UnknownError:
        return False
    if cell is None or not _fits(body, cell):
        return False
    layer = LayerBuilder(body, cell)
    operands = list(op.operands)
    layer.replace(*layer.results())
    for operand in operands:
        erase_unused(operand)
    return True


def _fits(body: LoopBody, cell: Cell) -> bool:
    """Whether the layer has what the loop hands out: hidden states, read in one order."""
    hidden = _without_reshapes(body.yielded(cell.states[0]))
    return (
        len(body.directions) == 1
        and len(sequences_of(cell)) > 0
        and all(_without_reshapes(stack.value) is hidden for stack in body.stacks)
    )


def _without_reshapes(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, glow.ReshapeOp):
        value = value.owner.input
    return value


def sequences_of(cell: Cell) -> list[Sequence]:
    """The inputs of a layer, each once."""
    sources = (source for gate in cell.gates for source, _ in gate.of_input.products)
    return list(dict.fromkeys(one for one in sources if isinstance(one, Sequence)))


class LayerBuilder(NodeBuilder):
    """Builds the node of a cell before its loop."""

    def __init__(self, body: LoopBody, cell: Cell) -> None:
        super().__init__(body.op)
        self.body = body
        self.cell = cell
        self.sequences = sequences_of(cell)

    def results(self) -> list[SSAValue]:
        """What takes the place of the loop's results."""
        cell, body = self.cell, self.body
        (is_reversed,) = body.directions
        direction = "reverse" if is_reversed else "forward"
        first = (body.op.iter_args[state] for state in cell.states)
        rows = (1, body.batch, body.size)
        operands = [
            self.input(),
            self._stacked([self._input_weights(gate) for gate in cell.gates]),
            self._stacked([self._recurrence(gate) for gate in cell.gates]),
            self._bias(),
            *(self.reshape(one, rows) for one in first),
        ]
        attributes = {"direction": direction, **cell.attributes}
        sequence = self.create(cell.op_class, operands, attributes)
        layer = sequence.owner
        assert isinstance(layer, Operation)
        values = list[SSAValue](body.op.results)
        for state, last in zip(cell.states, layer.results[1:], strict=True):
            values[state] = self.reshape(last, shape_of(values[state]))
        for stack in body.stacks:
            shape = shape_of(values[stack.index])
            all_states = self.reshape(sequence, shape)
            if stack.is_reversed != is_reversed:
                all_states = self._flipped(all_states)
            values[stack.index] = all_states
        return values

    def input(self) -> SSAValue:
        """The sequence [S, B, I]; several are joined along the last axis."""
        found = list[SSAValue]()
        for sequence in self.sequences:
            value = sequence.value
            width = shape_of(value)[-1]
            for op in sequence.path:
                if isinstance(op, glow.TransposeOp):
                    value = self.transpose(
                        value, op.attributes_view().ints("permutation")
                    )
                else:
                    rows = shape_of(op.results[0])[:-1]
                    value = self.reshape(value, (*rows, width))
            found.append(self.reshape(value, (self.body.steps, self.body.batch, width)))
        return self._joined(found, 2)

    def _input_weights(self, gate: Gate) -> SSAValue:
        """[H, I] of a gate."""
        parts = [
            self._product(gate, gate.of_input, one, shape_of(one.value)[-1])
            for one in self.sequences
        ]
        return self._joined(parts, 1)

    def _recurrence(self, gate: Gate) -> SSAValue:
        """[H, H] of a gate."""
        affine = gate.of_hidden if gate.of_hidden.products else gate.of_input
        others = {one for one, _ in affine.products if not isinstance(one, Sequence)}
        source = others.pop() if others else None
        return self._product(gate, affine, source, self.body.size)

    def _product(
        self, gate: Gate, affine: Affine, source: object, width: int
    ) -> SSAValue:
        """The weights [H, `width`] that meet a source in a sum; zeros if none do."""
        found = [weights for one, weights in affine.products if one == source]
        values = [self._transposed(weights) for weights in found]
        return self._added(values, (self.body.size, width), gate)

    def _bias(self) -> SSAValue:
        """The biases [1, 2 G H]: those of the input's products, then the others."""
        gates = self.cell.gates
        sums = [(gate, gate.of_input) for gate in gates]
        sums += [(gate, gate.of_hidden) for gate in gates]
        shape = (self.body.size,)
        parts = list[SSAValue]()
        for gate, affine in sums:
            values = [
                self.reshape(self._columns(bias, shape_of(bias.value)), shape)
                for bias in affine.biases
            ]
            if affine.number:
                values.append(self._filled(affine.number, shape))
            parts.append(self._added(values, shape, gate))
        joined = self._joined(parts, 0)
        return self.reshape(joined, (1, *shape_of(joined)))

    def _transposed(self, weights: Weights) -> SSAValue:
        """A part of weights as [columns, rows]."""
        assert weights.rows is not None
        (column, width), (row, height) = weights.columns, weights.rows
        value = self._outside(weights.value)
        if weights.is_transposed:
            return self._slice(value, (column, row), (width, height))
        return self.transpose(
            self._slice(value, (row, column), (height, width)), (1, 0)
        )

    def _columns(self, bias: Weights, shape: Items[int]) -> SSAValue:
        start, size = bias.columns
        rest = len(shape) - 1
        value = self._outside(bias.value)
        return self._slice(value, (*[0] * rest, start), (*[1] * rest, size))

    def _slice(
        self, value: SSAValue, starts: Items[int], sizes: Items[int]
    ) -> SSAValue:
        if tuple(sizes) == shape_of(value):
            return value
        steps = [1] * len(starts)
        return self.node(
            glow.SliceOp, value, starts=list(starts), sizes=list(sizes), steps=steps
        )

    def _added(
        self, values: Items[SSAValue], shape: Items[int], gate: Gate
    ) -> SSAValue:
        if not values:
            return self._filled(0.0, shape)
        total = values[0]
        for value in values[1:]:
            total = self.node(glow.AddOp, total, value)
        return self.node(glow.NegOp, total) if gate.is_negated else total

    def _filled(self, number: float, shape: Items[int]) -> SSAValue:
        state = self.body.op.results[self.cell.states[0]]
        op = glow.SplatOp.from_number(number, like(state, shape))
        return self.insert(op).results[0]

    def _stacked(self, gates: Items[SSAValue]) -> SSAValue:
        """[1, G H, K] of the gates' [H, K]."""
        joined = self._joined(gates, 0)
        return self.reshape(joined, (1, *shape_of(joined)))

    def _joined(self, values: Items[SSAValue], axis: int) -> SSAValue:
        if len(values) == 1:
            return values[0]
        return self.node(glow.ConcatOp, *values, axis=axis)

    def _flipped(self, value: SSAValue) -> SSAValue:
        shape = shape_of(value)
        rest = len(shape) - 1
        return self.node(
            glow.SliceOp,
            value,
            starts=[shape[0] - 1, *[0] * rest],
            sizes=list(shape),
            steps=[-1, *[1] * rest],
        )

    def _outside(self, value: SSAValue) -> SSAValue:
        """A constant of the loop, computed before it."""
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.body.block:
            return value
        operands = {one: self._outside(one) for one in owner.operands}
        index = owner.results.index(value)
        return self.insert(owner.clone(operands)).results[index]
