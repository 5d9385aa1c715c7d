"""Operators over sequences and optionals: lists of values, of which no program hears."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from glow.dialects.errors import GlowError
from glow.dialects.glow import ConcatOp, SliceOp
from glow.dialects.node import fail_unless
from glow.frontends.onnx.control_flow.bodies import Bodies, HeldResults
from glow.frontends.onnx.frame import UNKNOWN, Frame
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.lists import Absent, Held, ListValue
from glow.frontends.onnx.node import OnnxNode, Operand, shape

Handler = Callable[[OnnxNode], Held]


def sequence(node: OnnxNode) -> ListValue:
    """The first input, which must be a sequence."""
    value = node.inputs[0] if node.inputs else None
    if not isinstance(value, ListValue):
        what = (
            "an optional without a value" if isinstance(value, Absent) else "a tensor"
        )
        raise GlowError(f"{node.proto.op_type}: input 0 is {what}, not a sequence")
    return value


def position(node: OnnxNode, index: int, size: int) -> int:
    """A place in a sequence, which may count from the end."""
    place = int(node.array(index, "position").item())
    fail_unless(
        -size <= place < max(size, 1), f"position {place} of a sequence of {size}"
    )
    return place + size if place < 0 else place


def empty(node: OnnxNode) -> Held:
    """SequenceEmpty-11."""
    return ListValue(())


def construct(node: OnnxNode) -> Held:
    """SequenceConstruct-11."""
    return ListValue(tuple(node.values()))


def insert(node: OnnxNode) -> Held:
    """SequenceInsert-11: at the end unless there is a position."""
    elements = list(sequence(node).elements)
    place = len(elements)
    if node.has(2):
        given = int(node.array(2, "position").item())
        place = position(node, 2, len(elements)) if given != len(elements) else given
    elements.insert(place, node.value(1))
    return ListValue(tuple(elements))


def at(node: OnnxNode) -> Held:
    """SequenceAt-11."""
    elements = sequence(node).elements
    place = position(node, 1, len(elements))
    fail_unless(bool(elements), "the sequence is empty")
    return elements[place]


def erase(node: OnnxNode) -> Held:
    """SequenceErase-11: the last element unless there is a position."""
    elements = list(sequence(node).elements)
    fail_unless(bool(elements), "the sequence is empty")
    del elements[position(node, 1, len(elements)) if node.has(1) else -1]
    return ListValue(tuple(elements))


def length(node: OnnxNode) -> Held:
    """SequenceLength-11."""
    return Constant(np.array(len(sequence(node).elements)), "length")


def split(node: OnnxNode) -> Held:
    """SplitToSequence-24: by sizes, by one size, or into single elements."""
    value = node.value(0)
    axis = node.positive(node.attr_int("axis", 0), len(shape(value)))
    extent = shape(value)[axis]
    if not node.has(1):
        parts = _parts(node, value, axis, [1] * extent)
        if node.attr_int("keepdims", 1):
            return ListValue(tuple(parts))
        rest = [size for number, size in enumerate(shape(value)) if number != axis]
        return ListValue(tuple(node.reshape(part, rest) for part in parts))
    sizes = node.integers(1, "split")
    if node.rank(1) == 0:
        (chunk,) = sizes
        fail_unless(chunk > 0, f"split is {chunk}, not positive")
        sizes = [min(chunk, extent - start) for start in range(0, extent, chunk)]
    fail_unless(
        sum(sizes) == extent and min(sizes, default=0) >= 0,
        f"split {sizes} of an axis of {extent}",
    )
    return ListValue(tuple(_parts(node, value, axis, sizes)))


def _parts(
    node: OnnxNode, value: Operand, axis: int, sizes: Sequence[int]
) -> list[Operand]:
    """Runs along an axis."""
    parts: list[Operand] = []
    start = 0
    for size in sizes:
        extents = list(shape(value))
        starts, steps = [0] * len(extents), [1] * len(extents)
        starts[axis], extents[axis] = start, size
        parts.append(
            Constant(np.take(value.array, range(start, start + size), axis), "part")
            if isinstance(value, Constant)
            else node.emit(SliceOp, value, starts=starts, sizes=extents, steps=steps)
        )
        start += size
    return parts


def concatenate(node: OnnxNode) -> Held:
    """ConcatFromSequence-11: along an axis, or along a new one."""
    elements = sequence(node).elements
    fail_unless(bool(elements), "the sequence is empty")
    rank, axis = len(shape(elements[0])), node.attr_int("axis", 0)
    if node.attr_int("new_axis", 0):
        axis = node.positive(axis, rank + 1)
        elements = tuple(
            node.reshape(one, [*shape(one)[:axis], 1, *shape(one)[axis:]])
            for one in elements
        )
    else:
        axis = node.positive(axis, rank)
    if len(elements) == 1:
        return elements[0]
    return node.emit(ConcatOp, *elements, axis=axis)


def optional(node: OnnxNode) -> Held:
    """Optional-15: the value, or none."""
    value = node.inputs[0] if node.inputs else None
    return Absent() if value is None else value


def get_element(node: OnnxNode) -> Held:
    """OptionalGetElement-18."""
    value = optional(node)
    if isinstance(value, Absent):
        raise GlowError("OptionalGetElement: the optional has no value")
    return value


def has_element(node: OnnxNode) -> Held:
    """OptionalHasElement-18."""
    is_there = not isinstance(optional(node), Absent)
    return Constant(np.array(is_there), "is_there")


def identity(node: OnnxNode) -> Held:
    """Identity-24 of anything."""
    return optional(node)


HANDLERS: Mapping[str, Handler] = {
    "ConcatFromSequence": concatenate,
    "Identity": identity,
    "Optional": optional,
    "OptionalGetElement": get_element,
    "OptionalHasElement": has_element,
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
    "SplitToSequence": split,
}


def import_map(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """SequenceMap-17: the body on the elements of all sequences, tensors as they are."""
    body, count = node.attr_graph("body"), len(sequence(node).elements)
    results: list[list[Operand]] = [[] for _ in body.output]
    for number in range(count):
        arguments: list[Held] = []
        for index, value in enumerate(node.inputs):
            if not isinstance(value, ListValue):
                arguments.append(node.value(index))
                continue
            fail_unless(
                len(value.elements) == count,
                f"input {index} has {len(value.elements)} elements, not {count}",
            )
            arguments.append(value.elements[number])
        outputs = bodies.import_body(body, arguments, frame)
        for found, value in zip(results, outputs, strict=True):
            fail_unless(
                not isinstance(value, ListValue | Absent), f"the body gives {value}"
            )
            if not isinstance(value, ListValue | Absent):
                found.append(value)
    return [
        UNKNOWN if UNKNOWN in found else ListValue(tuple(found)) for found in results
    ]


def import_sequence(bodies: Bodies, node: OnnxNode, frame: Frame) -> HeldResults:
    """An operator of the table."""
    return [HANDLERS[node.proto.op_type](node)]
