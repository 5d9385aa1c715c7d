"""A `Loop` whose values have another form in each iteration, written out at import.

Sequences that grow, states that change their shape, and slices whose size is counted by the
iterations have no form in a program of static shapes. Such a loop is as many copies of its body
as it has iterations, which must be known, as every condition on the way.
"""

from __future__ import annotations

from itertools import count as counting

import numpy as np

from glow.dialects.glow import ConcatOp
from glow.dialects.node import fail_unless
from glow.frontends.onnx.control_flow.bodies import Bodies, HeldResults, flag, unknown
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.lists import Held, ListValue, elements_of
from glow.frontends.onnx.messages import GraphProto
from glow.frontends.onnx.node import OnnxNode, Operand, element_type, shape
from glow.frontends.onnx.refusal import UnsupportedError, refuse_if
from glow.frontends.onnx.tensors import dtype_of_onnx

MOST_ITERATIONS = 1024
"""Of which each is a copy of the body."""

MOST_COPIED = 1 << 14
"""Nodes of all copies; loops in loops have the product of their iterations."""

WHAT = "number of iterations of a loop whose values change their form"


def unrolled_loop(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """The last states and the stacked outputs."""
    body = node.attr_graph("body")
    trips = _trips(node)
    states: HeldResults = [_given(value) for value in node.inputs[2:]]
    stacks: list[list[Held]] = [[] for _ in body.output[1 + len(states) :]]
    goes_on: Held = node.value(1) if node.has(1) else Constant(np.array(True), "true")
    for iteration in counting():
        if trips is not None and iteration >= trips:
            break
        if UNKNOWN in (goes_on, *elements_of(states)):
            return unknown(node)
        assert not isinstance(goes_on, ListValue)
        if not bool(node.known(flag(node, _tensor(goes_on)), WHAT)):
            break
        if not bodies.graph.computes:
            _check_copies(bodies, body, iteration)
        number = Constant(np.array(iteration), "iteration")
        goes_on, *results = bodies.import_body(body, [number, goes_on, *states], frame)
        states = results[: len(states)]
        for stack, value in zip(stacks, results[len(states) :], strict=True):
            stack.append(value)
    outputs = body.output[1 + len(states) :]
    return [
        *states,
        *(
            _stacked(node, [_tensor(value) for value in stack], body, output.name)
            for stack, output in zip(stacks, outputs, strict=True)
        ),
    ]


def _check_copies(bodies: Bodies, body: GraphProto, iteration: int) -> None:
    """Refuse more copies of a body than a program should have."""
    refuse_if(
        iteration >= MOST_ITERATIONS, f"more than {MOST_ITERATIONS} iterations of it"
    )
    bodies.copied += len(body.node)
    refuse_if(bodies.copied > MOST_COPIED, f"more than {MOST_COPIED} copied nodes")


def _trips(node: OnnxNode) -> int | None:
    return int(node.array(0, WHAT).item()) if node.has(0) else None


def _given(value: Held | None) -> Held:
    if value is None:
        raise UnsupportedError("a state is missing")
    return value


def _tensor(value: Held) -> Operand:
    tensors = elements_of([value])
    fail_unless(
        not isinstance(value, ListValue) and len(tensors) == 1,
        f"an output of each iteration is {value}, not a tensor",
    )
    return tensors[0]


def _stacked(
    node: OnnxNode, values: list[Operand], body: GraphProto, name: str
) -> Operand:
    """The outputs of all iterations along a new axis 0."""
    if not values:
        return _nothing(body, name)
    if UNKNOWN in values:
        return UNKNOWN
    shapes = {(shape(value), str(element_type(value))) for value in values}
    fail_unless(len(shapes) == 1, f"the iterations give '{name}' in different shapes")
    rows = [node.reshape(value, (1, *shape(value))) for value in values]
    return rows[0] if len(rows) == 1 else node.emit(ConcatOp, *rows, axis=0)


def _nothing(body: GraphProto, name: str) -> Operand:
    """No elements, of the shape that the body declares."""
    (declared,) = (output for output in body.output if output.name == name)
    tensor = declared.type.tensor_type
    sizes = [dim.dim_value for dim in tensor.shape.dim]
    return Constant(np.empty((0, *sizes), dtype_of_onnx(tensor.elem_type)), name)
