"""What the operators with bodies share: their blocks, and loops that stack results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Block

from glow.dialects.glow import GatherOp, LessOp, SelectOp
from glow.dialects.node import fail_unless
from glow.frontends.onnx.control_flow.regions import (
    Bound,
    downwards,
    empty_stack,
    ending,
    insert,
    loop_around,
    updated,
)
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.graph import Constant, Graph
from glow.frontends.onnx.lists import Held
from glow.frontends.onnx.messages import GraphProto
from glow.frontends.onnx.node import OnnxNode, Operand, element_type, shape

Results = list[Operand]
HeldResults = list[Held]
"""Sequences and optionals among them."""


class Bodies(Protocol):
    """The import, as far as bodies need it."""

    graph: Graph
    copied: int
    """The nodes of bodies that were written out for each iteration."""

    def import_body(
        self, body: GraphProto, arguments: Sequence[Held], frame: Frame
    ) -> HeldResults:
        """The outputs of a graph whose inputs are the arguments."""
        ...


def type_text(value: Operand) -> str:
    """`2x3xf32`."""
    return "x".join(map(str, (*shape(value), element_type(value))))


def discard(block: Block) -> None:
    """Give up a block that was imported; an import that ended early has left it already."""
    for op in reversed(list(block.ops)):
        if op.parent is block:
            op.detach()
            op.erase(safe_erase=False)


def unknown(node: OnnxNode) -> HeldResults:
    """The results of a node whose body holds something that is not supported."""
    return [UNKNOWN] * len(node.proto.output)


def flag(node: OnnxNode, value: Operand) -> Operand:
    """A condition as a tensor without axes; GlowError for one that is no truth value."""
    is_flag = element_type(value) == i1 and set(shape(value)) <= {1}
    fail_unless(is_flag, f"a condition of type {type_text(value)}, not one i1")
    return node.reshape(value, ())


@dataclass
class Iteration:
    """What a loop's body [index, *states] gives."""

    block: Block
    initial: Sequence[Operand]
    """The states before the first iteration."""
    states: Sequence[Operand]
    outputs: Sequence[Operand]
    """What is stacked along a new axis 0."""
    backwards: Sequence[bool] = ()
    """Which outputs are stacked from the end on."""


def stacking_loop(
    graph: Graph, iteration: Iteration, size: int, count: Bound
) -> Results:
    """The last states, and stacks of `size` outputs, of which the first `count` are set."""
    block, outputs = iteration.block, iteration.outputs
    stacks = [empty_stack(size, graph.value_of(value).type) for value in outputs]
    if count == 0:
        discard(block)
        return [*iteration.initial, *stacks]
    last, index = list(iteration.states), block.args[0]
    backwards = iteration.backwards or [False] * len(outputs)
    with graph.inside(block):
        for stack, value, back in zip(stacks, outputs, backwards, strict=True):
            stack_type = graph.value_of(stack).type
            argument = block.insert_arg(stack_type, len(block.args))
            place = downwards(graph, index, size) if back else index
            last.append(updated(graph, argument, value, place))
        insert(graph, ending(graph, last))
    values = [graph.value_of(value) for value in (*iteration.initial, *stacks)]
    return list(loop_around(graph, (0, count), values, block))


def checked_index(node: OnnxNode, value: Operand, most: int) -> Operand:
    """The same numbers of i64; a program that is given others than 0 to `most` tells of an
    index out of range.
    """
    known = Constant(np.arange(most + 1), "known")
    beyond, zero = (
        Constant(np.array(most + 1), "beyond"),
        Constant(np.array(0), "zero"),
    )
    is_negative = node.emit(LessOp, value, zero)
    index = node.emit(SelectOp, is_negative, beyond, value)
    return node.emit(GatherOp, known, index, axis=0)
