"""What goes back through regions builds with: copies of blocks, walked back in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from glow.dialects import arith
from glow.dialects.node import shape_of
from glow.passes.graph.differentiate.gradient_builder import GradientBuilder
from glow.passes.graph.differentiate.reverse_walk import (
    GradientSums,
    dependents,
    inputs_of,
    walk_back,
)
from glow.passes.rewriting.node_builder import NodeBuilder, like

INDEX = IndexType()

Values = dict[SSAValue, SSAValue]


def captured_by(builder: GradientBuilder, op: Operation) -> list[SSAValue]:
    """What the regions use from around them and needs a gradient."""
    used = inputs_of(op)[len(op.operands) :]
    return [value for value in used if value in builder.needed]


Replacement = Callable[[Operation, Sequence[SSAValue]], "SSAValue | None"]
"""The result of an operation on other operands, where a copy of it is not what is wanted."""


def copy_ops(
    builder: NodeBuilder,
    block: Block,
    values: Iterable[SSAValue],
    replace: Replacement = lambda op, operands: None,
) -> tuple[list[Operation], list[SSAValue]]:
    """The operations of a block on other arguments, and what it ends with."""
    last, before = block.last_op, builder.anchor.prev_op
    assert last is not None
    copied: Values = dict(zip(block.args, values, strict=True))
    for op in block.ops:
        if op is last:
            break
        new = replace(op, [copied.get(value, value) for value in op.operands])
        results = (
            (new,) if new is not None else builder.insert(op.clone(copied)).results
        )
        copied.update(zip(op.results, results, strict=True))
    return ops_since(before, builder), [copied.get(v, v) for v in last.operands]


def ops_since(before: Operation | None, builder: NodeBuilder) -> list[Operation]:
    """What was built behind an operation, or from the beginning of the block on."""
    block = builder.anchor.parent
    assert block is not None
    op = block.first_op if before is None else before.next_op
    ops: list[Operation] = []
    while op is not None and op is not builder.anchor:
        ops.append(op)
        op = op.next_op
    return ops


def go_back(
    builder: GradientBuilder,
    ops: Sequence[Operation],
    sources: Sequence[SSAValue],
    given: Iterable[tuple[SSAValue, SSAValue | None]],
    known: Mapping[SSAValue, SSAValue],
) -> list[SSAValue]:
    """The gradients of sources, from those that are given of what the operations compute.

    `known` are parts of the sources' gradients from elsewhere. What has none gets zeros.
    """
    builder.needed |= dependents(ops, sources)
    sums = GradientSums(builder)
    sums.sums.update(known)
    for value, gradient in given:
        if gradient is not None and value in builder.needed:
            sums.add(value, gradient)
    walk_back(sums, ops)
    found = [sums.get(source) for source in sources]
    return [
        zeros_like(builder, source) if gradient is None else gradient
        for source, gradient in zip(sources, found, strict=True)
    ]


def zeros_like(builder: GradientBuilder, value: SSAValue) -> SSAValue:
    """Zeros of a value's type."""
    return builder.full(0.0, like(value, shape_of(value)))


def builder_in(block: Block, builder: GradientBuilder) -> GradientBuilder:
    """A builder in a new block, before the yield that is to end it."""
    end = scf.YieldOp()
    block.add_op(end)
    inner = GradientBuilder(end, set(), builder.rules)
    inner.location = builder.location
    return inner


def index_constant(builder: NodeBuilder, number: int) -> SSAValue:
    """A number that counts iterations."""
    constant = arith.ConstantOp(IntegerAttr(number, INDEX))
    return builder.insert(constant).results[0]
