"""Blocks inside of a graph under construction, and `scf` operations around them.

    with graph.inside(block):            # nodes go into the block,
        ...                              # constants before all blocks, where each sees them
    counted_loop(graph, 10, states, step)

Conditions and numbers of iterations leave the world of tensors by `tensor.extract`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from glow.dialects import arith
from glow.dialects.glow import DynamicSliceOp, DynamicUpdateOp, ReshapeOp
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant, Graph

INDEX = IndexType()

Bound = int | SSAValue
"""A number of iterations: known, or a tensor of one integer."""

Step = Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue | Constant]]
"""`step(index, states)`: the next states."""


def insert(graph: Graph, op: Operation) -> Operation:
    """Append an operation that is no node."""
    graph.append(op)
    return op


def number(graph: Graph, value: int) -> SSAValue:
    """A constant index."""
    op = arith.ConstantOp(IntegerAttr(value, INDEX))
    return insert(graph, op).results[0]


def scalar(graph: Graph, value: SSAValue) -> SSAValue:
    """The element of a tensor of one element."""
    if shape_of(value):
        shape = tensor_type([], element_of(value))
        value = graph.add(ReshapeOp, [value], [shape]).results[0]
    op = tensor.ExtractOp(value, [], element_of(value))
    return insert(graph, op).results[0]


def bound(graph: Graph, value: Bound) -> SSAValue:
    """A number of iterations as an index."""
    if isinstance(value, int):
        return number(graph, value)
    cast = arith.IndexCastOp(scalar(graph, value), INDEX)
    return insert(graph, cast).results[0]


def ending(graph: Graph, values: Sequence[SSAValue | Constant]) -> scf.YieldOp:
    """The terminator of a block that gives these values."""
    return scf.YieldOp(*(graph.value_of(value) for value in values))


def counted_loop(
    graph: Graph,
    bounds: tuple[Bound, Bound],
    initial: Sequence[SSAValue | Constant],
    step: Step,
) -> Sequence[SSAValue]:
    """The last states of an `scf.for` over the indices from the first bound on."""
    values = [graph.value_of(value) for value in initial]
    block = Block(arg_types=[INDEX, *(value.type for value in values)])
    with graph.inside(block):
        insert(graph, ending(graph, step(block.args[0], block.args[1:])))
    return loop_around(graph, bounds, values, block)


def loop_around(
    graph: Graph, bounds: tuple[Bound, Bound], initial: Sequence[SSAValue], block: Block
) -> Sequence[SSAValue]:
    """The results of an `scf.for` with a finished body."""
    lower, upper = (bound(graph, value) for value in bounds)
    loop = scf.ForOp(lower, upper, number(graph, 1), initial, Region(block))
    return insert(graph, loop).results


def element(graph: Graph, stack: SSAValue, index: SSAValue) -> SSAValue:
    """`stack[index]`."""
    return graph.add(DynamicSliceOp, [stack, index]).results[0]


def updated(
    graph: Graph, stack: SSAValue, value: SSAValue | Constant, index: SSAValue
) -> SSAValue:
    """The stack with `value` at the index."""
    return graph.add(DynamicUpdateOp, [stack, value, index]).results[0]


def empty_stack(count: int, value_type: Attribute) -> Constant:
    """Zeros in the shape of `count` values."""
    dtype = dtype_of(element_of(value_type))
    zeros = np.broadcast_to(np.zeros((), dtype), (count, *shape_of(value_type)))
    return Constant(zeros, "stack")


def downwards(graph: Graph, index: SSAValue, count: int) -> SSAValue:
    """The index counted from the end: `count - 1 - index`."""
    op = arith.SubiOp(number(graph, count - 1), index)
    return insert(graph, op).results[0]
