"""Fuses sums over rows with the element-wise nodes around them into one kernel.

The gradients of softmax and of normalizations are such: each row is read once and written once.

    %m = glow.mul %g, %p : tensor<8x128x128xf32>
    %s = glow.reduce_sum %m axes [2] keepdims : tensor<8x128x1xf32>
    %d = glow.sub %g, %s : tensor<8x128x128xf32>
    %r = glow.mul %d, %p : tensor<8x128x128xf32>
  becomes
    %r = cpu.fused_rows %g, %p {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.mulf %0, %1 : f32
      %3 = cpu.row_sum %2 : f32
      %4 = arith.subf %0, %3 : f32
      %5 = arith.mulf %4, %1 : f32
      glow.yield %5
    } : tensor<8x128x128xf32>

From each sum grows a group: what reads its values, and what computes them for it alone. Nodes
that lie between move behind or before the group, whatever they depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.fused_rows import RowSumOp, rows_of_operand
from glow.backends.cpu.passes.fuse_epilogue import scalar_constant
from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.scalar_bodies import emit_node, has_scalar_body
from glow.passes.rewriting.scalar_builder import ScalarBuilder

MAX_ROW = 1 << 13
"""Longer rows would not stay in the first cache from one pass to the next."""
MAX_GROUP = 40
MAX_ARGUMENTS = 10

Shape = tuple[int, ...]
Sums = glow.ReduceSumOp | glow.ReduceMeanOp


def summed_rows(op: Operation) -> Shape | None:
    """The shape of what a node sums up over its last axis; None of other nodes."""
    if not isinstance(op, Sums) or element_type(op.input) != f32:
        return None
    shape = shape_of(op.input)
    axes = op.attributes_view().ints("axes")
    if len(shape) < 2 or list(axes) != [len(shape) - 1] or not prod(shape):
        return None
    return shape if 1 < shape[-1] <= MAX_ROW else None


class RowGroup:
    """Nodes on the rows of one shape, in program order."""

    def __init__(
        self, seed: Operation, space: Shape, order: dict[Operation, int]
    ) -> None:
        self.space = space
        self.order = order
        self.ops: set[Operation] = {seed}
        while len(self.ops) < MAX_GROUP and (found := self._next()) is not None:
            self.ops.add(found)

    @property
    def in_order(self) -> list[NodeOp]:
        """The members as they follow each other."""
        found = sorted(self.ops, key=self.order.__getitem__)
        return [op for op in found if isinstance(op, NodeOp)]

    def _next(self) -> Operation | None:
        """A node that can join: the first reader, or what computes a value for members alone."""
        return next(
            (op for op in (*self._readers(), *self._sources()) if self._fits(op)), None
        )

    def _readers(self) -> list[Operation]:
        users = {
            use.operation
            for op in self.ops
            for result in op.results
            for use in result.uses
        }
        known = [op for op in users if op in self.order and op not in self.ops]
        return sorted(known, key=self.order.__getitem__)

    def _sources(self) -> Iterator[Operation]:
        for op in self.in_order:
            for value in op.inputs:
                owner = value.owner
                if (
                    isinstance(owner, Operation)
                    and owner in self.order
                    and owner not in self.ops
                    and all(
                        use.operation in self.ops
                        for r in owner.results
                        for use in r.uses
                    )
                ):
                    yield owner

    def _fits(self, op: Operation) -> bool:
        """Whether a node is work on these rows that can run with the members."""
        if not isinstance(op, NodeOp) or op.predicate is not None:
            return False
        if not self._is_work(op) or len(self._arguments({op})) > MAX_ARGUMENTS:
            return False
        return not any(self._depends(value) for value in self._outside(op))

    def _is_work(self, op: NodeOp) -> bool:
        if isinstance(op, Sums):
            return summed_rows(op) == self.space
        if isinstance(op, glow.ReshapeOp):
            inside = op.input.owner in self.ops or shape_of(op.input)[-1:] == (1,)
            return inside and self._is_row(op.input) and self._is_row(op.result)
        if not has_scalar_body(op):
            return False
        values = [*op.inputs, *op.results]
        if any(element_type(value) not in (f32, i1) for value in values):
            return False
        varying = [value for value in op.inputs if scalar_constant(value) is None]
        if shape_of(op.results[0]) == self.space:
            return all(map(self._is_read, varying))
        return self._is_row(op.results[0]) and all(
            shape_of(value) == shape_of(op.results[0])
            and (value.owner in self.ops or shape_of(value)[-1] == 1)
            for value in varying
        )

    def _is_read(self, value: SSAValue) -> bool:
        """Whether work on all elements can read an operand."""
        if value.owner in self.ops and shape_of(value) != self.space:
            return shape_of(value) == (*self.space[:-1], 1)
        return rows_of_operand(shape_of(value), self.space) is not None

    def _is_row(self, value: SSAValue) -> bool:
        """Whether a tensor has one number for each row."""
        return shape_of(value) in (self.space[:-1], (*self.space[:-1], 1))

    def _outside(self, op: NodeOp) -> list[SSAValue]:
        return [value for value in op.inputs if value.owner not in self.ops]

    def _depends(self, value: SSAValue) -> bool:
        """Whether a value is computed from what a member computes."""
        first = min(map(self.order.__getitem__, self.ops))
        left, seen = [value.owner], set[Operation]()
        while left:
            op = left.pop()
            if not isinstance(op, Operation) or op in seen:
                continue
            if op in self.ops:
                return True
            if self.order.get(op, -1) > first:
                seen.add(op)
                left += [v.owner for inner in op.walk() for v in inner.operands]
        return False

    def _arguments(self, more: set[Operation]) -> list[SSAValue]:
        """What the members and some other nodes read from outside, without numbers."""
        ops = self.ops | more
        found: dict[SSAValue, None] = {}
        for op in sorted(ops, key=self.order.__getitem__):
            assert isinstance(op, NodeOp)
            for value in op.inputs:
                if value.owner not in ops and scalar_constant(value) is None:
                    found[value] = None
        return list(found)

    @property
    def arguments(self) -> list[SSAValue]:
        """What the members read from outside."""
        return self._arguments(set())

    @property
    def results(self) -> list[SSAValue]:
        """What others read of the members' values."""
        return [
            result
            for op in self.in_order
            for result in op.results
            if any(use.operation not in self.ops for use in result.uses)
        ]

    @property
    def is_worthwhile(self) -> bool:
        """Whether there is element-wise work on all elements, and a result."""
        work = [
            op
            for op in self.ops
            if has_scalar_body(op) and shape_of(op.results[0]) == self.space
        ]
        spaces = [shape_of(value) for value in self.arguments]
        return bool(work and self.results) and self.space in spaces


def region_of(group: RowGroup) -> Region:
    """The members as scalar code."""
    arguments = group.arguments
    block = Block(arg_types=[element_type(value) for value in arguments])
    builder = ScalarBuilder(block)
    elements: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))

    def element(value: SSAValue) -> SSAValue:
        if value not in elements:
            number = scalar_constant(value)
            assert number is not None
            elements[value] = builder.constant(number, element_type(value))
        return elements[value]

    for op in group.in_order:
        operands = [element(value) for value in op.inputs]
        if isinstance(op, glow.ReshapeOp):
            elements[op.result] = operands[0]
        elif isinstance(op, Sums):
            total = builder.append(
                RowSumOp.create(operands=operands, result_types=[f32])
            )
            if isinstance(op, glow.ReduceMeanOp):
                total = builder.mul(total, builder.constant(1 / group.space[-1], f32))
            elements[op.result] = total
        else:
            results = emit_node(builder, op, operands)
            elements.update(zip(op.results, results, strict=True))
    builder.yield_(*(elements[value] for value in group.results))
    return Region(block)


def fuse(group: RowGroup) -> None:
    """Replace the members of a group by one node."""
    last, results = group.in_order[-1], group.results
    builder = NodeBuilder(last)
    row = (*group.space[:-1], 1)
    types = [
        tensor_type(shape_of(v) if shape_of(v) == group.space else row, element_type(v))
        for v in results
    ]
    regions = [region_of(group)]
    first = builder.create(
        cpu.FusedRowsOp, group.arguments, {}, types=types, regions=regions
    )
    node = first.owner
    assert isinstance(node, Operation)
    node.location = last.location
    for old, new in zip(results, node.results, strict=True):
        new.name_hint = old.name_hint
        value = new
        if shape_of(old) != shape_of(new):
            value = builder.reshape(new, shape_of(old))
        old.replace_uses_with_if(value, lambda use: use.operation not in group.ops)
    first = group.in_order[0].prev_op
    for op in reversed(group.in_order):
        op.detach()
        op.erase(safe_erase=False)
    block = node.parent
    assert block is not None
    move_readers(node, block.first_op if first is None else first.next_op)


def move_readers(node: Operation, first: Operation | None) -> None:
    """Move what reads a node's results, or the reshapes right behind it, behind these, if it
    stands from `first` on before the node.
    """
    last, moved = node, list[Operation]()
    behind = {node}
    while isinstance(last.next_op, glow.ReshapeOp) and last.next_op.input.owner is node:
        last = last.next_op
        behind.add(last)
    while first is not None and first is not node:
        operands = [value for inner in first.walk() for value in inner.operands]
        if any(value.owner in behind for value in operands):
            behind.add(first)
            moved.append(first)
        first = first.next_op
    block = node.parent
    assert block is not None
    for op in moved:
        op.detach()
        block.insert_op_after(op, last)
        last = op


class FuseRowsPass(ModulePass):
    """Fuse sums over rows with the element-wise nodes around them."""

    name = "fuse-rows"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        for block in [
            block for inner in op.walk() for r in inner.regions for block in r.blocks
        ]:
            self._apply(block)

    def _apply(self, block: Block) -> None:
        order = {child: number for number, child in enumerate(block.ops)}
        for child in list(order):
            space = summed_rows(child) if child.parent is block else None
            if space is None:
                continue
            group = RowGroup(child, space, order)
            if group.is_worthwhile:
                fuse(group)
                order = {child: number for number, child in enumerate(block.ops)}
