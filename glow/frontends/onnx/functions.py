"""Operators that are defined by a body of simpler ones.

ONNX gives many operators such a body, and a model may define its own (`functions`).
An operator without a handler is imported as its body.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.frame import names_read
from glow.frontends.onnx.lists import Absent, Held, ListValue
from glow.frontends.onnx.loader import opset_imports
from glow.frontends.onnx.messages import (
    AttributeProto,
    FunctionProto,
    NodeProto,
    TypeProto,
)
from glow.frontends.onnx.node import OnnxNode, element_type, shape

if TYPE_CHECKING:
    import onnx

Functions = Mapping[tuple[str, str], FunctionProto]
Opsets = Mapping[str, int]


class BodySchema(Protocol):
    """What ONNX's operator schemas offer beyond their type stubs."""

    has_function: bool
    has_context_dependent_function: bool
    context_dependent_function_opset_versions: Sequence[int]
    function_body: FunctionProto
    attributes: Mapping[str, onnx.defs.OpSchema.Attribute]

    def get_context_dependent_function_with_opset_version(
        self, opset: int, node: bytes, input_types: Sequence[bytes], /
    ) -> bytes:
        """The serialized body for a node and its inputs' types."""
        ...


@dataclass
class Body:
    """The nodes that stand for one node, with their parameters' names."""

    nodes: Sequence[NodeProto]
    inputs: Sequence[str]
    outputs: Sequence[str]
    opsets: Opsets

    def used_names(self) -> set[str]:
        """The names that are read inside or are results."""
        return names_read(self.nodes) | set(self.outputs)


def has_body(proto: NodeProto, functions: Functions, opsets: Opsets) -> bool:
    """Whether the node's operator is defined by a body."""
    if (proto.domain, proto.op_type) in functions:
        return True
    schema = _schema(proto, opsets)
    return schema is not None and (
        schema.has_function or schema.has_context_dependent_function
    )


def function_body(node: OnnxNode, functions: Functions, opsets: Opsets) -> Body | None:
    """The body of the node's operator with the node's attributes filled in, or None."""
    proto = node.proto
    function = functions.get((proto.domain, proto.op_type))
    defaults: list[AttributeProto] = []
    if function is not None:
        defaults = list(function.attribute_proto)
    else:
        schema = _schema(proto, opsets)
        if schema is None:
            return None
        function = _schema_function(schema, node, opsets.get(proto.domain, 1))
        if function is None:
            return None
        defaults = [a.default_value for a in schema.attributes.values()]
    attributes = {a.name: a for a in defaults if a.name and a.type}
    attributes.update({a.name: a for a in proto.attribute})
    return Body(
        [_with_attributes(inner, attributes) for inner in function.node],
        function.input,
        function.output,
        {**opsets, **opset_imports(function.opset_import)},
    )


def _schema(proto: NodeProto, opsets: Opsets) -> BodySchema | None:
    from onnx import defs

    domain = "" if proto.domain == "ai.onnx" else proto.domain
    try:
        schema = defs.get_schema(proto.op_type, opsets.get(domain, 1), domain)
        return cast(BodySchema, schema)
    except defs.SchemaError:
        return None


def _schema_function(
    schema: BodySchema, node: OnnxNode, opset: int
) -> FunctionProto | None:
    """The body that ONNX gives an operator, which may depend on the inputs' types."""
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    types = [_type_proto(value).SerializeToString() for value in node.inputs]
    versions = [
        v for v in schema.context_dependent_function_opset_versions if v <= opset
    ]
    body = schema.get_context_dependent_function_with_opset_version(
        max(versions, default=opset), node.proto.SerializeToString(), types
    )
    return FunctionProto.FromString(body)


def _type_proto(value: Held | None) -> TypeProto:
    if value is None or isinstance(value, Absent):
        return TypeProto()
    if isinstance(value, ListValue):
        result = TypeProto()
        for one in value.elements[:1]:
            result.sequence_type.elem_type.CopyFrom(_type_proto(one))
        return result
    from onnx.helper import make_tensor_type_proto, np_dtype_to_tensor_dtype

    dtype = dtype_of(element_type(value))
    return make_tensor_type_proto(np_dtype_to_tensor_dtype(dtype), shape(value))


def _with_attributes(
    node: NodeProto, attributes: Mapping[str, AttributeProto]
) -> NodeProto:
    """The node with references to the function's attributes replaced by their values."""
    if not any(_references(node)):
        return node
    result = NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        reference = attribute.ref_attr_name
        if reference and reference not in attributes:
            continue
        filled = result.attribute.add()
        filled.CopyFrom(attributes[reference] if reference else attribute)
        filled.name = attribute.name
        if filled.type == AttributeProto.GRAPH:
            nodes = [_with_attributes(inner, attributes) for inner in filled.g.node]
            del filled.g.node[:]
            filled.g.node.extend(nodes)
    return result


def _references(node: NodeProto) -> Iterable[bool]:
    for attribute in node.attribute:
        yield bool(attribute.ref_attr_name)
        if attribute.type == AttributeProto.GRAPH:
            yield from (any(_references(inner)) for inner in attribute.g.node)
