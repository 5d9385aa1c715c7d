"""`Loop` as `scf.for`, or as `scf.while` where conditions decide how often it runs.

Shapes are static, so the number of iterations of a loop that stacks results must be known;
where conditions decide about it, a loop that keeps no results counts first. A state that the
body hands on as it is, such as a weight, is no state of the program's loop. States that get
their shapes in the first iteration only, as those that a program declares without a value,
have that one in front of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

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
from glow.frontends.onnx.node import OnnxNode, Operand, element_type, shape
from glow.frontends.onnx.refusal import NeedsValue

TRUE = np.array(True)
ZERO, ONE = np.array(0), np.array(1)


class LoopNode:
    """A `Loop`: its operands, and its body as a block [iteration, condition, *states]."""

    def __init__(
        self,
        bodies: Bodies,
        node: OnnxNode,
        frame: Frame,
        types: Sequence[Attribute] | None = None,
        assumes_fixed_shapes: bool = False,
    ) -> None:
        """`types` are those of the loop-carried states, if not those that they begin with.

        `assumes_fixed_shapes` is what `Graph.assumes_fixed_shapes` is for the body.
        """
        self.node = node
        self.graph = node.graph
        self.body = node.attr_graph("body")
        self.trips = self._trips()
        self.condition = (
            flag(node, node.value(1)) if node.has(1) else Constant(TRUE, "true")
        )
        self.given = [node.value(index) for index in range(2, len(node.inputs))]
        names = zip(self.given, self.body.input[2:], self.body.output[1:], strict=False)
        self.carried = [
            index
            for index, (_, one, other) in enumerate(names)
            if one.name != other.name
        ]
        self.initial = self.only_carried(self.given)
        self.start = 0
        self.assumes_fixed_shapes = assumes_fixed_shapes
        self.results: Results = []
        self.types_after: list[Attribute] = []
        """Those of the loop-carried states after an iteration, where the body was imported."""
        if types is None:
            types = [self.graph.value_of(value).type for value in self.initial]
        self.block = Block(
            arg_types=[tensor_type([], i64), tensor_type([], i1), *types]
        )
        self.imported = self._import(bodies, frame)

    def only_carried(self, states: Sequence[Operand]) -> Results:
        """The states that iterations change."""
        return [states[index] for index in self.carried]

    def with_invariants(self, states: Sequence[Operand]) -> Results:
        """All states: the loop-carried ones, and the others as they were given."""
        every = [*self.given]
        for index, value in zip(self.carried, states, strict=True):
            every[index] = value
        return every

    def _import(self, bodies: Bodies, frame: Frame) -> bool:
        """Whether the body is one for all iterations."""
        iteration, condition, *states = self.block.args
        arguments = [iteration, condition, *self.with_invariants(states)]
        try:
            with self.graph.inside(self.block):
                held = self._iteration(bodies, frame, arguments)
        except NeedsValue as need:
            if need.block is not self.block:
                raise
            return False
        tensors = tensors_in(held)
        if tensors is None:
            discard(self.block)
            return False
        self.results = self._carried_results(tensors)
        return UNKNOWN in tensors or self._keeps_shapes()

    def _carried_results(self, tensors: Results) -> Results:
        """What the body gives, without the states that it hands on."""
        count = 1 + len(self.given)
        fail_unless(
            len(tensors) >= count,
            f"the body gives {len(tensors)} results, not {count} or more",
        )
        states = self.only_carried(tensors[1:count])
        return [tensors[0], *states, *tensors[count:]]

    def _iteration(
        self, bodies: Bodies, frame: Frame, arguments: Sequence[Operand]
    ) -> HeldResults:
        """What the body gives."""
        outer = self.graph.assumes_fixed_shapes
        self.graph.assumes_fixed_shapes = self.assumes_fixed_shapes
        try:
            return bodies.import_body(self.body, arguments, frame)
        finally:
            self.graph.assumes_fixed_shapes = outer

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
        with self.graph.inside(self.block):
            self.results[0] = flag(self.node, self.results[0])
        self.types_after = [
            tensor_type(shape(value), element_type(value)) for value in self.states
        ]
        pairs = zip(self.carried, self.block.args[2:], self.states, strict=True)
        for number, before, after in pairs:
            one, other = type_text(before), type_text(after)
            if element_type(before) != element_type(after):
                raise GlowError(f"Loop: state {number} is {one}, but becomes {other}")
            if one != other:
                discard(self.block)
                return False
        return True

    @property
    def states(self) -> Results:
        """The states behind an iteration."""
        return self.results[1 : 1 + len(self.initial)]

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
        start: Operand = Constant(np.array(self.start), "start")
        if isinstance(self.trips, SSAValue) or self.start:
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

    def finished(self) -> HeldResults:
        """The last states and the stacked results."""
        count, carried = self.count(), len(self.initial)
        if not self.is_stacking and count is None:
            states = self.while_loop(self.block, self.results)[1:]
            return [*self.with_invariants(states)]
        if self.is_stacking and not isinstance(count, int):
            what = "number of iterations"
            decided = self.iterations() if count is None else count
            count = max(int(self.node.known(decided, what)), 0)
        assert count is not None
        results = self.for_loop(count)
        return [*self.with_invariants(results[:carried]), *results[carried:]]

    @property
    def is_stacking(self) -> bool:
        """Whether what iterations give beside states is read."""
        states = len(self.given)
        indices = range(states, states + len(self.outputs))
        return any(map(self.node.uses, indices))

    @property
    def runs_by_condition(self) -> bool:
        """Whether it is `scf.while`."""
        return (
            self.imported
            and UNKNOWN not in self.results
            and not self.is_stacking
            and self.count() is None
        )

    def peel_first_iteration(self, bodies: Bodies, frame: Frame) -> None:
        """Writes the first iteration out in front of the loop, which there is."""
        number = Constant(ZERO, "iteration")
        arguments = [number, self.condition, *self.given]
        results = tensors_in(self._iteration(bodies, frame, arguments))
        assert results is not None
        self.condition = flag(self.node, results[0])
        pairs = zip(self.only_carried(results[1:]), self.block.args[2:], strict=True)
        self.initial = [self.node.reshape(one, shape(arg)) for one, arg in pairs]
        self.start = 1

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
        states = self.states
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


def _while_loop_of(bodies: Bodies, node: OnnxNode, frame: Frame) -> LoopNode | None:
    """A loop of slices that do not leave their axes; None if it is not such a one.

    Where its states have other shapes behind the first iteration, that one is in front of it.
    """
    loop = LoopNode(bodies, node, frame, assumes_fixed_shapes=True)
    is_peeled = not loop.imported and bool(loop.types_after)
    if is_peeled and _truth(loop.condition):
        types = loop.types_after
        loop = LoopNode(bodies, node, frame, types, assumes_fixed_shapes=True)
    if loop.runs_by_condition:
        if is_peeled:
            loop.peel_first_iteration(bodies, frame)
        return loop
    if loop.imported:
        discard(loop.block)
    return None


def import_loop(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """Iterations while a condition holds and their number is below the trip count."""
    given = [value for value in node.inputs if value is not None]
    if bodies.graph.computes or tensors_in(given) is None:
        return unrolled_loop(bodies, node, frame)
    loop = LoopNode(bodies, node, frame)
    if not loop.imported:
        found = _while_loop_of(bodies, node, frame)
        if found is None:
            return unrolled_loop(bodies, node, frame)
        loop = found
    if UNKNOWN in loop.results:
        discard(loop.block)
        return unknown(node)
    return loop.finished()
