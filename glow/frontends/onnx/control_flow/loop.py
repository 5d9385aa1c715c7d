"""`Loop` as `scf.for`, or as `scf.while` where conditions decide how often it runs.

Shapes are static, so the number of iterations of a loop that stacks results must be known;
where conditions decide about it, a loop that keeps no results counts first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Region, SSAValue

from glow.dialects.errors import GlowError
from glow.dialects.glow import AddOp, AndOp, LessOp
from glow.dialects.node import fail_unless, tensor_type
from glow.frontends.onnx.control_flow.bodies import (
    Bodies,
    HeldResults,
    Iteration,
    Results,
    discard,
    flag,
    stacking_loop,
    type_text,
    unknown,
)
from glow.frontends.onnx.control_flow.regions import (
    INDEX,
    Bound,
    ending,
    insert,
    scalar,
)
from glow.frontends.onnx.control_flow.unrolled_loop import unrolled_loop
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.lists import tensors_in
from glow.frontends.onnx.node import OnnxNode, Operand, element_type
from glow.frontends.onnx.refusal import NeedsValue

TRUE = np.array(True)
ZERO, ONE = np.array(0), np.array(1)


class LoopNode:
    """A `Loop`: its operands, and its body as a block [iteration, condition, *states]."""

    def __init__(self, bodies: Bodies, node: OnnxNode, frame: Frame) -> None:
        self.node = node
        self.graph = node.graph
        self.trips = self._trips()
        self.condition = (
            flag(node, node.value(1)) if node.has(1) else Constant(TRUE, "true")
        )
        self.initial = [node.value(index) for index in range(2, len(node.inputs))]
        self.results: Results = []
        states = [self.graph.value_of(value).type for value in self.initial]
        self.block = Block(
            arg_types=[tensor_type([], i64), tensor_type([], i1), *states]
        )
        self.imported = self._import(bodies, frame)

    def _import(self, bodies: Bodies, frame: Frame) -> bool:
        """Whether the body is one for all iterations."""
        body = self.node.attr_graph("body")
        try:
            with self.graph.inside(self.block):
                held = bodies.import_body(body, self.block.args, frame)
        except NeedsValue as need:
            if need.block is not self.block:
                raise
            return False
        tensors = tensors_in(held)
        if tensors is None:
            discard(self.block)
            return False
        self.results = tensors
        return UNKNOWN in tensors or self._keeps_shapes()

    def _trips(self) -> Operand | None:
        """The largest number of iterations; negative ones are 0."""
        if not self.node.has(0):
            return None
        value = self.node.reshape(self.node.value(0), ())
        fail_unless(
            element_type(value) == i64, f"a trip count of type {type_text(value)}"
        )
        if isinstance(value, Constant):
            return Constant(np.maximum(value.array, ZERO), value.name)
        return value

    def _keeps_shapes(self) -> bool:
        """Whether the states keep their shapes; GlowError for other elements."""
        count = 1 + len(self.initial)
        fail_unless(
            len(self.results) >= count,
            f"the body gives {len(self.results)} results, not {count} or more",
        )
        self.results[0] = flag(self.node, self.results[0])
        pairs = zip(self.initial, self.results[1:], strict=False)
        for number, (before, after) in enumerate(pairs):
            one, other = type_text(before), type_text(after)
            if element_type(before) != element_type(after):
                raise GlowError(f"Loop: state {number} is {one}, but becomes {other}")
            if one != other:
                discard(self.block)
                return False
        return True

    @property
    def outputs(self) -> Results:
        """What each iteration gives to the stacked results."""
        return self.results[1 + len(self.initial) :]

    def count(self) -> Bound | None:
        """The number of iterations; None where conditions decide about it."""
        starts, goes_on = _truth(self.condition), _truth(self.results[0])
        if self.results[0] is self.block.args[1]:
            goes_on = starts
        known = int(self.trips.array) if isinstance(self.trips, Constant) else None
        if starts is False or known == 0:
            return 0
        if starts and goes_on is False and known is not None:
            return 1
        if not (starts and goes_on):
            return None
        if self.trips is None:
            raise GlowError("Loop: neither a trip count nor a condition ends it")
        return self.trips if isinstance(self.trips, SSAValue) else known

    def while_loop(self, block: Block, results: Results) -> Sequence[SSAValue]:
        """The number of iterations and the last states of a loop by its condition."""
        iteration, condition = block.args[0], self.condition
        with self.graph.inside(block):
            one = Constant(ONE, "one")
            following = self.node.emit(AddOp, iteration, one)
            again = self._both(results[0], following)
            states = results[1 : 1 + len(self.initial)]
            insert(self.graph, ending(self.graph, [following, again, *states]))
        start: Operand = Constant(ZERO, "zero")
        if isinstance(self.trips, SSAValue):
            condition = self._both(condition, start)
        initial = [
            self.graph.value_of(value) for value in (start, condition, *self.initial)
        ]
        before = Block(arg_types=[value.type for value in initial])
        with self.graph.inside(before):
            test = scalar(self.graph, before.args[1])
            insert(self.graph, scf.ConditionOp(test, *before.args))
        types = [value.type for value in initial]
        loop = scf.WhileOp(initial, types, Region(before), Region(block))
        count, _, *last = insert(self.graph, loop).results
        return [count, *last]

    def _both(self, condition: Operand, iteration: Operand) -> Operand:
        """Whether there is a further iteration: `condition and iteration < trips`."""
        if self.trips is None:
            return condition
        is_left = self.node.emit(LessOp, iteration, self.trips)
        if _truth(condition):
            return is_left
        return self.node.emit(AndOp, condition, is_left)

    def iterations(self) -> SSAValue:
        """How many there are, by a loop that keeps no results."""
        with self.graph.inside(self.block):
            end = insert(self.graph, ending(self.graph, self.results))
        copy = Region(self.block).clone().detach_block(0)
        end.detach()
        end.erase()
        assert self.block.parent is not None
        self.block.parent.detach_block(0)
        last = copy.last_op
        assert last is not None
        results: Results = [*last.operands]
        last.detach()
        last.erase()
        return self.while_loop(copy, results)[0]

    def for_loop(self, count: Bound) -> Results:
        """The last states and the stacked results of a number of iterations."""
        block, (iteration, condition, *_) = self.block, self.block.args
        initial = list(self.initial)
        states = self.results[1 : 1 + len(initial)]
        is_counting = bool(iteration.uses)
        with self.graph.inside(block):
            if is_counting:
                initial.insert(0, Constant(ZERO, "zero"))
                one = Constant(ONE, "one")
                states.insert(0, self.node.emit(AddOp, iteration, one))
            condition.replace_all_uses_with(self.graph.value_of(Constant(TRUE, "true")))
        block.erase_arg(condition)
        if not is_counting:
            block.erase_arg(iteration)
        block.insert_arg(INDEX, 0)
        outputs = self.outputs if isinstance(count, int) else []
        iteration = Iteration(block, initial, states, outputs)
        size = count if isinstance(count, int) else 0
        results = stacking_loop(self.graph, iteration, size, count)
        return results[int(is_counting) :]


def _truth(value: Operand) -> bool | None:
    return bool(value.array) if isinstance(value, Constant) else None


def import_loop(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """Iterations while a condition holds and their number is below the trip count."""
    if tensors_in([value for value in node.inputs if value is not None]) is None:
        return unrolled_loop(bodies, node, frame)
    loop = LoopNode(bodies, node, frame)
    if not loop.imported:
        return unrolled_loop(bodies, node, frame)
    if UNKNOWN in loop.results:
        discard(loop.block)
        return unknown(node)
    count, states = loop.count(), len(loop.initial)
    is_stacking = any(
        node.uses(index) for index in range(states, states + len(loop.outputs))
    )
    if not is_stacking and count is None:
        return [*loop.while_loop(loop.block, loop.results)[1:]]
    if is_stacking and not isinstance(count, int):
        what = "number of iterations"
        decided = loop.iterations() if count is None else count
        count = max(int(node.known(decided, what)), 0)
    assert count is not None
    return [*loop.for_loop(count)]
