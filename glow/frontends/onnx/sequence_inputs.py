"""A model whose inputs are the elements of its sequences.

For sequences of known lengths, and optionals that are known to have a value or none, the
inputs become tensors, and nodes in front of all others make the sequences of them:

    x: sequence of 2 tensors      x[0], x[1]: tensors;  x = SequenceConstruct(x[0], x[1])
    o: optional without a value   o = Optional()

What comes out of such a model as `y[0]`, `y[1]` are the elements of its output `y`.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from glow.frontends.onnx.loader import load_model
from glow.frontends.onnx.messages import (
    ModelProto,
    NodeProto,
    TypeProto,
    ValueInfoProto,
)


def whole_model(model: str | bytes | ModelProto) -> ModelProto:
    """The model with its external data, in memory."""
    if isinstance(model, ModelProto):
        return model
    if isinstance(model, bytes):
        return load_model(model).proto
    return onnx.load(model)  # pyright: ignore[reportUnknownMemberType]


def element_type(declared: TypeProto) -> TypeProto:
    """The type of the tensors in a type."""
    while not declared.HasField("tensor_type"):
        if declared.HasField("optional_type"):
            declared = declared.optional_type.elem_type
        elif declared.HasField("sequence_type"):
            declared = declared.sequence_type.elem_type
        else:
            break
    return declared


def with_forms(model: ModelProto, forms: Mapping[str, int | None]) -> ModelProto:
    """The model for lists of these lengths, None for no value, negative for a tensor."""
    result = ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    declared = list(model.graph.input)
    del graph.input[:]
    made: list[NodeProto] = []
    for value in declared:
        form = forms.get(value.name, -1)
        if form is not None and form < 0:
            graph.input.append(_tensor(value, value.name))
            continue
        names = [f"{value.name}[{number}]" for number in range(form or 0)]
        graph.input.extend(_tensor(value, name) for name in names)
        operator = "Optional" if form is None else "SequenceConstruct"
        made.append(NodeProto(op_type=operator, input=names, output=[value.name]))
    nodes = [*made, *model.graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for output in graph.output:
        if not output.type.HasField("tensor_type"):
            output.ClearField("type")
    return result


def _tensor(value: ValueInfoProto, name: str) -> ValueInfoProto:
    """An input; the open sizes of a sequence are those of each element for itself."""
    result = ValueInfoProto(name=name)
    result.type.CopyFrom(element_type(value.type))
    if not value.type.HasField("tensor_type"):
        for size in result.type.tensor_type.shape.dim:
            size.ClearField("dim_param")
    return result
