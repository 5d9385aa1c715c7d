"""Loops: each iteration goes back by its own values (`backward_loop`), computed again.

The loop itself saves those of its states that the backward loop reads, where it is known how
many there may be. Else each iteration runs the loop again as far as itself, which takes no memory
and a square of the time. Where the number of iterations is data, that of an iteration is counted
in a tensor, since backends address memory by constants and loops; `scf.while` counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue

from glow.dialects import arith, glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, node_name, shape_of, tensor_type
from glow.passes.graph.differentiate.backward_loop import (
    Loop,
    index_in,
    tensor_behind,
)
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.region_copies import (
    INDEX,
    Replacement,
    Values,
    copy_ops,
    go_back,
    index_constant,
)
from glow.passes.graph.differentiate.reverse_walk import dependents, inputs_of
from glow.passes.graph.differentiate.rules.rule import Gradients, Rule
from glow.passes.rewriting.node_builder import NodeBuilder, erase, like, replace_value
from glow.passes.rewriting.regions import index_value, trip_count


class CountedLoop(Loop):
    """`scf.for`: its states are saved by itself if it is known how many there may be."""

    def __init__(self, builder: GradientBuilder, op: scf.ForOp) -> None:
        self.op = op
        self.states = list(op.iter_args)
        low, step, trips = index_value(op.lb), index_value(op.step), trip_count(op)
        if trips is None or low is None or low < 0 or step is None:
            first_and_last = 0, 0
            self.extent = largest_count(op)
            self.end = number_at(builder, op.ub, {})
            if step != 1 or self.end is None:
                raise GlowError(
                    "a loop whose number of iterations is data has a derivative only if "
                    "it counts in steps of 1 to a number in a tensor",
                    node=node_name(op),
                )
        else:
            first_and_last = low, low + (trips - 1) * step
            self.extent = first_and_last[1] + 1
        self.first_plus_last = index_constant(builder, sum(first_and_last))
        super().__init__(builder, op)

    def reached(self) -> set[int]:
        """See the base."""
        block = self.op.body.block
        active = [block.args[1 + number] for number in self.active]
        needed = dependents(block.ops, [*active, *self.captured])
        last = block.last_op
        assert last is not None
        return {k for k, value in enumerate(last.operands) if value in needed}

    def bounds(self) -> Sequence[SSAValue]:
        """Those of the loop."""
        return [self.op.lb, self.op.ub, self.op.step]

    def index(self, builder: NodeBuilder, count: SSAValue) -> SSAValue:
        """The loop's first and last index minus the count."""
        back = arith.SubiOp(self.first_plus_last, count)
        return builder.insert(back).results[0]

    def copy(
        self, builder: NodeBuilder, index: SSAValue, states: Sequence[SSAValue]
    ) -> tuple[list[Operation], list[SSAValue]]:
        """See the base; an index that is data reads and writes by gathers and scatters."""
        block, number = self.op.body.block, tensor_behind(index)
        arguments = [index, *states]
        if number is None:
            return copy_ops(builder, block, arguments)
        replace = at_number(builder, {block.args[0]: number})
        return copy_ops(builder, block, arguments, replace)

    def recall(
        self, builder: NodeBuilder, index: SSAValue, numbers: Sequence[int]
    ) -> Sequence[SSAValue]:
        """Read what the loop has saved, or run it as far as the iteration."""
        if self.extent is None:
            again = self.op.clone()
            again.operands[1] = index
            builder.insert(again)
            return [again.results[number] for number in numbers]
        all_saved = self.save_states(numbers, self.extent)
        number = tensor_behind(index)
        if number is None:
            return [builder.node(glow.DynamicSliceOp, s, index) for s in all_saved]
        return [builder.node(glow.GatherOp, s, number, axis=0) for s in all_saved]

    def save_states(self, numbers: Sequence[int], extent: int) -> Sequence[SSAValue]:
        """Let the loop save states with which its iterations begin: [indices, ...]."""
        op = self.op
        block, before = op.body.block, NodeBuilder(op)
        kept = [block.args[1 + number] for number in numbers]
        empty = [
            before.insert(
                glow.SplatOp.from_number(0, like(value, (extent, *shape_of(value))))
            ).results[0]
            for value in kept
        ]
        last = block.last_op
        assert last is not None
        for value, initial in zip(kept, empty, strict=True):
            old = block.insert_arg(initial.type, len(block.args))
            new = NodeBuilder(last).node(
                glow.DynamicUpdateOp, old, value, block.args[0]
            )
            last.operands = [*last.operands, new]
        region = op.detach_region(op.body)
        initial = [*op.iter_args, *empty]
        self.op = scf.ForOp(op.lb, op.ub, op.step, initial, region)
        before.insert(self.op)
        for old, new in zip(op.results, self.op.results, strict=False):
            new.name_hint = old.name_hint
            replace_value(old, new)
        erase(op)
        return self.op.results[-len(kept) :]


def largest_count(op: scf.ForOp) -> int | None:
    """How many indices from 0 on a loop has at most: its end, or an axis that it indexes."""
    known = index_value(op.ub)
    if known is not None:
        return known
    block = op.body.block
    extents = [
        shape_of(each.input)[0]
        for each in block.ops
        if isinstance(each, glow.DynamicSliceOp | glow.DynamicUpdateOp)
        and each.index is block.args[0]
    ]
    return min(extents, default=None)


def counted_loop(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """`scf.for`."""
    assert isinstance(op, scf.ForOp)
    inputs = inputs_of(op)[len(op.operands) :]
    of_states, of_captured = CountedLoop(builder, op).back(gradients)
    return [None, None, None, *of_states, *(of_captured.get(v) for v in inputs)]


class ConditionalLoop(Loop):
    """`scf.while`, which counts its iterations for it: the last state is their number."""

    def __init__(self, builder: GradientBuilder, op: scf.WhileOp) -> None:
        self.op, self.end = counting(op)
        self.states = list(self.op.arguments)
        self.count = index_in(builder, self.end)
        super().__init__(builder, self.op)

    def reached(self) -> set[int]:
        """See the base."""
        before, after = self.op.before_region.block, self.op.after_region.block
        test, last = before.last_op, after.last_op
        assert isinstance(test, scf.ConditionOp)
        assert last is not None
        active = [before.args[number] for number in self.active]
        needed = dependents(before.ops, [*active, *self.captured])
        active = [a for a, v in zip(after.args, test.args, strict=True) if v in needed]
        needed = dependents(after.ops, [*active, *self.captured])
        return {k for k, value in enumerate(last.operands) if value in needed}

    def bounds(self) -> Sequence[SSAValue]:
        """From 0 to the number of iterations."""
        zero, one = (index_constant(self.builder, number) for number in (0, 1))
        return [zero, self.count, one]

    def index(self, builder: NodeBuilder, count: SSAValue) -> SSAValue:
        """The number of iterations is never known."""
        raise AssertionError

    def copy(
        self, builder: NodeBuilder, index: SSAValue, states: Sequence[SSAValue]
    ) -> tuple[list[Operation], list[SSAValue]]:
        """The region of the condition, then the body."""
        first, ends = self.test(builder, states)
        second, ends = copy_ops(builder, self.op.after_region.block, ends)
        return [*first, *second], ends

    def test(
        self, builder: NodeBuilder, states: Sequence[SSAValue]
    ) -> tuple[list[Operation], list[SSAValue]]:
        """The region of the condition, and what it passes on."""
        ops, (_, *passed) = copy_ops(builder, self.op.before_region.block, states)
        return ops, passed

    def recall(
        self, builder: NodeBuilder, index: SSAValue, numbers: Sequence[int]
    ) -> Sequence[SSAValue]:
        """Run the loop as far as the iteration."""
        states = self.op.arguments
        block = Block(arg_types=[INDEX, *(value.type for value in states)])
        end = scf.YieldOp()
        block.add_op(end)
        _, ends = self.copy(NodeBuilder(end), block.args[0], block.args[1:])
        end.operands = ends
        zero, one = (index_constant(builder, number) for number in (0, 1))
        again = builder.insert(scf.ForOp(zero, index, one, states, Region(block)))
        return [again.results[number] for number in numbers]


def at_number(builder: NodeBuilder, numbers: Values) -> Replacement:
    """What reads and writes at a number in the place of slices and updates at an index.

    `numbers` holds the tensor of the loop's own index.
    """

    def replace(op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
        if not isinstance(op, glow.DynamicSliceOp | glow.DynamicUpdateOp):
            return None
        number = number_at(builder, op.index, numbers)
        if number is None:
            return None
        if isinstance(op, glow.DynamicSliceOp):
            return builder.node(glow.GatherOp, operands[0], number, axis=0)
        data, value, _ = operands
        place = builder.reshape(number, (1,))
        coordinates = [-1, *range(len(shape_of(value)))]
        return builder.node(glow.ScatterOp, data, place, value, coordinates=coordinates)

    return replace


def number_at(
    builder: NodeBuilder, index: SSAValue, numbers: Values
) -> SSAValue | None:
    """A tensor of one `i64` that holds an index, as far as it is made of known ones."""
    if index in numbers:
        return numbers[index]
    known = index_value(index)
    if known is not None:
        return builder.splat(known, i64)
    owner = index.owner
    node = ARITHMETIC.get(type(owner)) if isinstance(owner, Operation) else None
    if node is None or not isinstance(owner, Operation):
        return tensor_behind(index)
    left, right = (number_at(builder, value, numbers) for value in owner.operands)
    if left is None or right is None:
        return None
    return builder.node(node, left, right)


ARITHMETIC: Mapping[type[Operation], type[NodeOp]] = {
    arith.AddiOp: glow.AddOp,
    arith.SubiOp: glow.SubOp,
}
"""Arithmetic on indices, and on tensors that hold them."""


def counting(op: scf.WhileOp) -> tuple[scf.WhileOp, SSAValue]:
    """The loop with one more state, and that: how many iterations there were."""
    before, after = op.before_region.block, op.after_region.block
    test, last = before.last_op, after.last_op
    assert test is not None
    assert last is not None
    builder, number = NodeBuilder(op), tensor_type((), i64)
    start = builder.splat(0, i64)
    old = before.insert_arg(number, len(before.args))
    test.operands = [*test.operands, old]
    passed = after.insert_arg(number, len(after.args))
    body = NodeBuilder(last)
    next_ = body.node(glow.AddOp, passed, body.splat(1, i64))
    last.operands = [*last.operands, next_]
    regions = [op.detach_region(region) for region in list(op.regions)]
    types = [*op.result_types, number]
    counted = scf.WhileOp([*op.arguments, start], types, *regions)
    builder.insert(counted)
    for result, new in zip(op.results, counted.results, strict=False):
        new.name_hint = result.name_hint
        replace_value(result, new)
    erase(op)
    return counted, counted.results[-1]


def conditional_loop(
    builder: GradientBuilder, op: Operation, gradients: Gradients
) -> Gradients:
    """`scf.while`: through the condition that ended it, then the iterations."""
    assert isinstance(op, scf.WhileOp)
    inputs = inputs_of(op)[len(op.operands) :]
    loop = ConditionalLoop(builder, op)
    numbers = range(len(loop.states))
    states = loop.recall(builder, loop.count, numbers)
    ops, passed = loop.test(builder, states)
    active = sorted(loop.active)
    sources = [*(states[number] for number in active), *loop.captured]
    given = zip(passed, [*gradients, None], strict=True)
    found = go_back(builder, ops, sources, given, {})
    of_ends: list[SSAValue | None] = [None] * len(states)
    for number, gradient in zip(active, found, strict=False):
        of_ends[number] = gradient
    of_states, of_captured = loop.back(of_ends)
    last = dict(zip(loop.captured, found[len(active) :], strict=True))
    total = {
        value: builder.add(gradient, last[value])
        for value, gradient in of_captured.items()
    }
    return [*of_states[:-1], *(total.get(value) for value in inputs)]


RULES: dict[type[Operation], Rule] = {
    scf.ForOp: counted_loop,
    scf.WhileOp: conditional_loop,
}
