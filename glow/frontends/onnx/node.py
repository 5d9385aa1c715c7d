"""One ONNX node as its handler sees it: inputs, attributes, and how to emit results."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.glow import BroadcastOp, ConvertOp, ReshapeOp, TransposeOp
from glow.dialects.node import NodeOp, Types, shape_of, tensor_type
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.graph import BUDGET, Constant, Graph
from glow.frontends.onnx.lists import Absent, Held, ListValue, Operand
from glow.frontends.onnx.messages import (
    AttributeProto,
    GraphProto,
    NodeProto,
    TensorProto,
)
from glow.frontends.onnx.refusal import NeedsValue, UnsupportedError, refuse_if
from glow.interpreter.array_functions import convert

Value = SSAValue | Constant | Array
"""A result of a handler; an array is a result that is known at import."""


def element_type(value: Operand) -> Attribute:
    """The element type of a value."""
    if isinstance(value, Constant):
        from glow.dialects.weight_table import element_type_of

        return element_type_of(value.array.dtype)
    return cast(TensorType[Attribute], value.type).element_type


def shape(value: Operand) -> tuple[int, ...]:
    """The static shape of a value."""
    return value.array.shape if isinstance(value, Constant) else shape_of(value)


class OnnxNode:
    """An ONNX node with its inputs; `None` stands for an input that is left out."""

    def __init__(
        self,
        proto: NodeProto,
        inputs: Sequence[Held | None],
        graph: Graph,
        opset: int,
        used: frozenset[str] | set[str],
        rows_read: int | None = None,
    ) -> None:
        """`rows_read` of the first result are all that the model reads, where that is known."""
        self.proto = proto
        self.inputs = inputs
        self.graph = graph
        self.opset = opset
        self._used = used
        self.rows_read = rows_read
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    def in_graph(self, graph: Graph) -> OnnxNode:
        """The same node, to be added to another graph."""
        return OnnxNode(
            self.proto, self.inputs, graph, self.opset, self._used, self.rows_read
        )

    def replaced(self, proto: NodeProto, inputs: Sequence[Held | None]) -> OnnxNode:
        """A node in its place, with other attributes and inputs."""
        return OnnxNode(proto, inputs, self.graph, self.opset, self._used)

    # Inputs and outputs

    def has(self, index: int) -> bool:
        """Whether the optional input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Operand:
        """An input, computed or constant."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise UnsupportedError(f"input {index} missing")
        if isinstance(value, ListValue | Absent):
            raise GlowError(
                f"{self.proto.op_type}: input {index} is {value}, not a tensor"
            )
        return value

    def values(self) -> list[Operand]:
        """All inputs, which must be given."""
        return [self.value(index) for index in range(len(self.inputs))]

    def shape(self, index: int) -> tuple[int, ...]:
        """The shape of an input."""
        return shape(self.value(index))

    def rank(self, index: int) -> int:
        """The number of axes of an input."""
        return len(self.shape(index))

    def array(self, index: int, what: str) -> Array:
        """The value of an input that must be known at import."""
        return self.known(self.value(index), what)

    def integers(self, index: int, what: str) -> list[int]:
        """The numbers of an integer input that must be known at import, in order."""
        return [int(number) for number in self.array(index, what).ravel().tolist()]

    def constant(self, index: int, what: str) -> Array:
        """The array of an input that must be a constant, whatever is known at a call."""
        value = self.value(index)
        if not isinstance(value, Constant):
            raise UnsupportedError(f"{what} computed at run time")
        return value.array

    def integer(self, index: int, what: str) -> int:
        """The number of an integer input that must be known at import."""
        numbers = self.integers(index, what)
        if len(numbers) != 1:
            raise GlowError(f"{what} is not one number, but {len(numbers)}")
        return numbers[0]

    def known(self, value: Operand, what: str) -> Array:
        """The array of a value on which the shapes of results depend; `what` names it.

        NeedsValue for one that the program computes, an input or the result of a node
        that was added: the import goes on from here when it is known.
        """
        if isinstance(value, Constant):
            return value.array
        found = self.graph.array_of(value)
        if found is None:
            raise NeedsValue(value, what)
        return found

    def uses(self, output: int) -> bool:
        """Whether a result of the node is read anywhere."""
        outputs = self.proto.output
        given = output < len(outputs) and bool(outputs[output])
        return given and outputs[output] in self._used

    def refuse_outputs_from(self, output: int, what: str) -> None:
        """Raise UnsupportedError where a result from `output` on is read."""
        for index in range(output, len(self.proto.output)):
            refuse_if(self.uses(index), what)

    # Attributes

    def has_attribute(self, name: str) -> bool:
        """Whether the attribute is given."""
        return name in self._attributes

    def _attribute(self, name: str, kind: int) -> AttributeProto | None:
        """The attribute, None where it is left out; GlowError for one of another type.

        The oldest files leave an attribute's type out.
        """
        found = self._attributes.get(name)
        if found is not None and found.type not in (AttributeProto.UNDEFINED, kind):
            types = AttributeProto.AttributeType
            given, wanted = (
                types.Name(number).lower() for number in (found.type, kind)
            )
            raise GlowError(f"attribute '{name}' is of type {given}, not {wanted}")
        return found

    def attr_int(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = self._attribute(name, AttributeProto.INT)
        return default if found is None else found.i

    def attr_float(self, name: str, default: float) -> float:
        """A floating-point attribute."""
        found = self._attribute(name, AttributeProto.FLOAT)
        return default if found is None else found.f

    def attr_string(self, name: str, default: str) -> str:
        """A string attribute."""
        found = self._attribute(name, AttributeProto.STRING)
        return default if found is None else found.s.decode("utf-8", "replace")

    def attr_ints(self, name: str) -> list[int] | None:
        """An attribute of several integers, or None where it is left out."""
        found = self._attribute(name, AttributeProto.INTS)
        return None if found is None else list(found.ints)

    def attr_floats(self, name: str) -> list[float] | None:
        """An attribute of several numbers, or None where it is left out."""
        found = self._attribute(name, AttributeProto.FLOATS)
        return None if found is None else list(found.floats)

    def attr_strings(self, name: str) -> list[str] | None:
        """An attribute of several strings, or None where it is left out."""
        found = self._attribute(name, AttributeProto.STRINGS)
        return found and [text.decode("utf-8", "replace") for text in found.strings]

    def attr_tensor(self, name: str) -> TensorProto | None:
        """A tensor attribute, or None where it is left out."""
        found = self._attribute(name, AttributeProto.TENSOR)
        return None if found is None else found.t

    def attr_graph(self, name: str) -> GraphProto:
        """A graph attribute, which must be given."""
        found = self._attribute(name, AttributeProto.GRAPH)
        if found is None:
            raise GlowError(f"attribute '{name}' is missing")
        return found.g

    def axes(self, input_index: int, rank: int) -> list[int] | None:
        """The sorted axes of an attribute `axes` or, in newer opsets, of an input."""
        axes = self.attr_ints("axes")
        if axes is None and self.has(input_index):
            axes = self.integers(input_index, "axes")
        return None if axes is None else sorted(self.positive(a, rank) for a in axes)

    def positive(self, axis: int, rank: int) -> int:
        """An axis counted from the front; VerifyException where there is none."""
        from glow.dialects.node import fail_unless

        fail_unless(
            -rank <= axis < max(rank, 1), f"axis {axis} of a rank-{rank} tensor"
        )
        return axis + rank if axis < 0 else axis

    # Results

    def emit(
        self,
        op_class: type[NodeOp],
        *operands: Operand,
        types: Types | None = None,
        **attributes: AttributeValue,
    ) -> SSAValue:
        """Append a node with one result, and return that."""
        return self.graph.add(op_class, operands, types, **attributes).results[0]

    def reshape(self, value: Operand, new_shape: Sequence[int]) -> Operand:
        """The value in another shape; a constant stays one."""
        new_shape = tuple(new_shape)
        if new_shape == shape(value):
            return value
        if isinstance(value, Constant) and value.array.size == prod(new_shape):
            array = value.array.reshape(new_shape)
            return Constant(array, value.name, is_weight=value.is_weight)
        result = tensor_type(new_shape, element_type(value))
        return self.emit(ReshapeOp, value, types=[result])

    def transpose(self, value: Operand, permutation: Sequence[int]) -> Operand:
        """The value with its axes permuted; a constant stays one."""
        if list(permutation) == list(range(len(shape(value)))):
            return value
        if isinstance(value, Constant):
            array = value.array.transpose(permutation)
            return Constant(array, value.name, is_weight=value.is_weight)
        return self.emit(TransposeOp, value, permutation=permutation)

    def broadcast(self, value: Operand, new_shape: Sequence[int]) -> Operand:
        """The value repeated to a shape; a constant becomes a view."""
        new_shape = tuple(new_shape)
        if new_shape == shape(value):
            return value
        small = prod(new_shape) <= BUDGET
        if isinstance(value, Constant) and (small or value.array.size == 1):
            return Constant(np.broadcast_to(value.array, new_shape), value.name)
        result = tensor_type(new_shape, element_type(value))
        return self.emit(BroadcastOp, value, types=[result])

    def convert(self, value: Operand, to: Attribute) -> Operand:
        """The value in another element type; a constant stays one."""
        if element_type(value) == to:
            return value
        if isinstance(value, Constant):
            array, every = value.array, (slice(0, 1),) * value.array.ndim
            is_one_number = array.size > BUDGET and not any(array.strides)
            with np.errstate(all="ignore"):
                numbers = convert(
                    array[every] if is_one_number else array, dtype_of(to)
                )
            return Constant(np.broadcast_to(numbers, array.shape), value.name)
        return self.emit(ConvertOp, value, types=[tensor_type(shape(value), to)])

    def number(self, number: float, like: Operand) -> Constant:
        """A scalar constant in the element type of `like`."""
        return Constant(np.array(number, dtype_of(element_type(like))), "number")
