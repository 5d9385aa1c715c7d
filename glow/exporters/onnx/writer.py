"""The ONNX graph under construction: names of values, constants, nodes and types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from glow.dialects.attributes import array_values
from glow.dialects.node import GlowOp, element_of, shape_of
from glow.dialects.text import unused_name
from glow.dialects.weight_table import Array, dtype_of
from glow.exporters.failures import CannotExport

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

OPSET = 21
"""The newest that is needed by most; single operators and types ask for more."""

OnnxValue: TypeAlias = (
    "int | float | str | Sequence[int] | Sequence[float] | GraphProto | None"
)
"""A value of an attribute; None leaves it out."""


class Writer:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.opset = OPSET
        self._names: dict[SSAValue, str] = {}
        self._arguments: list[ValueInfoProto] = []
        self._results: list[ValueInfoProto] = []
        self._preferred: dict[SSAValue, str] = {}
        self._taken: set[str] = set()

    def need(self, opset: int) -> None:
        """Ask for an opset that has an operator or a type."""
        self.opset = max(self.opset, opset)

    # Names

    def fresh(self, hint: str) -> str:
        """A name that no other value has."""
        name = unused_name(hint, self._taken)
        self._taken.add(name)
        return name

    def bind(self, value: SSAValue, name: str) -> None:
        """Say which ONNX value a value is."""
        self._names[value] = name

    def name(self, value: SSAValue) -> str:
        """The ONNX name of a value that was written."""
        return self._names[value]

    def prefer(self, value: SSAValue, name: str) -> None:
        """Say which name a value gets once it is declared."""
        self._preferred.setdefault(value, name)

    def declare(self, value: SSAValue, hint: str) -> str:
        """Give a value a name of its own."""
        preferred = self._preferred.get(value)
        self.bind(value, preferred or self.fresh(value.name_hint or hint))
        return self.name(value)

    # Content

    def constant(self, array: Array, hint: str = "constant") -> str:
        """An initializer."""
        from onnx import numpy_helper

        name = self.fresh(hint)
        self.need_type(array.dtype)
        contiguous = np.ascontiguousarray(array).reshape(array.shape)
        self.constants.append(numpy_helper.from_array(contiguous, name))
        return name

    def integers(self, numbers: Sequence[int], hint: str) -> str:
        """A constant list of i64."""
        return self.constant(np.array(numbers, np.int64), hint)

    def scalar(self, number: float, like: Attribute, hint: str = "number") -> str:
        """A constant number of an element type."""
        return self.constant(np.array(number).astype(dtype_of(like)), hint)

    def emit(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: str | Sequence[str] | None = None,
        **attributes: OnnxValue,
    ) -> str:
        """Append a node; its first output, which has a new name where none is given."""
        from onnx import helper

        outputs = self.fresh(operator.lower()) if outputs is None else outputs
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        node = helper.make_node(operator, list(inputs), names)
        for name, value in sorted(attributes.items()):
            if value is not None:
                node.attribute.append(helper.make_attribute(name, value))
        self.nodes.append(node)
        return names[0]

    # Bodies

    def graph(self, region: Region, write: Callable[[Region], None]) -> GraphProto:
        """The graph of a body, whose nodes `write` adds and ends with `end_graph`."""
        from onnx import helper

        outer = self.nodes, self._arguments, self._results
        self.nodes, self._arguments, self._results = [], [], []
        write(region)
        name = self.fresh("body")
        graph = helper.make_graph(self.nodes, name, self._arguments, self._results)
        self.nodes, self._arguments, self._results = outer
        return graph

    def argument(self, hint: str, dtype: type[np.generic]) -> str:
        """An input without axes of the body that is being written."""
        from onnx import helper

        name = self.fresh(hint)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._arguments.append(helper.make_tensor_value_info(name, kind, ()))
        return name

    def argument_like(self, tensor: Attribute) -> str:
        """An input of the body that is being written."""
        name = self.fresh("state")
        self._arguments.append(self.info(name, tensor))
        return name

    def end_graph(
        self, results: Sequence[tuple[str, Attribute]], condition: str = ""
    ) -> None:
        """Give a body its outputs: the condition to go on, if any, and values."""
        from onnx import TensorProto, helper

        if condition:
            name = self.emit("Identity", [condition], self.fresh("go_on"))
            info = helper.make_tensor_value_info(name, TensorProto.BOOL, ())
            self._results.append(info)
        for value, tensor in results:
            name = self.emit("Identity", [value], self.fresh("result"))
            self._results.append(self.info(name, tensor))

    # Types

    def need_type(self, dtype: np.dtype[np.generic]) -> None:
        """Ask for the opset that has a type."""
        self.need(OPSET_OF_TYPE.get(dtype.name, OPSET))

    def info(self, name: str, tensor: Attribute) -> ValueInfoProto:
        """The declaration of an input or output."""
        from onnx import helper

        element = element_of(tensor)
        return helper.make_tensor_value_info(
            name, self.data_type(element), shape_of(tensor)
        )

    def data_type(self, element: Attribute) -> int:
        """ONNX's number for an element type."""
        from onnx import helper

        dtype = dtype_of(element)
        self.need_type(dtype)
        return helper.np_dtype_to_tensor_dtype(dtype)


OPSET_OF_TYPE = {
    "bfloat16": 22,
    "float4_e2m1fn": 23,
    "float8_e8m0fnu": 24,
    "int2": 25,
    "uint2": 25,
}
"""Dtypes to the opset that takes them in all operators that we write."""


def tensor_of(value: SSAValue) -> TensorType[Attribute]:
    """The tensor type of a value."""
    return cast("TensorType[Attribute]", value.type)


def attribute_of(op: Operation, name: str) -> OnnxValue:
    """A node's property as the value of an attribute; flags are 0 or 1."""
    assert isinstance(op, GlowOp)
    match op.attributes_view().get(name):
        case None:
            return 0
        case UnitAttr():
            return 1
        case IntegerAttr() | FloatAttr() as number:
            return number.value.data
        case StringAttr() as text:
            return text.data
        case DenseArrayBase() as array:
            return list(array_values(array))
        case other:
            raise CannotExport(f"{name} = {other}")
