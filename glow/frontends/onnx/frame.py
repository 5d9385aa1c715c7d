"""What the nodes of a graph see: the values of names, and who reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects.errors import GlowError
from glow.frontends.onnx.graph import Constant, value_name
from glow.frontends.onnx.lists import Held
from glow.frontends.onnx.messages import AttributeProto, GraphProto, NodeProto
from glow.frontends.onnx.node import Value

Scope = dict[str, Held]
"""The values by ONNX name."""

UNKNOWN = Constant(np.empty(0), "unknown")
"""Stands for the results of a node that is not supported."""


@dataclass
class Frame:
    """What the nodes of one graph or function body see."""

    scope: Scope
    used: set[str]
    opsets: Mapping[str, int]
    owner: str | None = None
    """The node that stands for all nodes of a function body."""
    optional: set[str] = field(default_factory=set[str])
    """The parameters of a function body that may be left out."""
    operator: NodeProto | None = None
    """The operator that the model has, where these nodes are the body that ONNX gives it."""

    def blamed(self, proto: NodeProto) -> NodeProto:
        """The operator to name in an error about a node: the one that the model has."""
        return self.operator or proto

    def reason(self, proto: NodeProto, why: str) -> str:
        """Why that operator is not supported, where a node of its body is not."""
        if self.operator is None:
            return why
        needed = f"its body needs '{proto.op_type}'"
        return f"{needed}: {why}" if why else needed

    def read(self, name: str, reader: str) -> Held:
        """The value of a name; GlowError where nothing has defined it."""
        if name not in self.scope:
            raise GlowError(f"'{name}' is read before it is defined", node=reader)
        return self.scope[name]

    def read_inputs(self, proto: NodeProto, reader: str) -> list[Held | None]:
        """The inputs of a node; None for those that are left out."""
        return [
            None
            if not name or (name in self.optional and name not in self.scope)
            else self.read(name, reader)
            for name in proto.input
        ]

    def define(
        self, names: Sequence[str], values: Sequence[Value | Held], node: str
    ) -> None:
        """Bind a node's results to the names of its outputs."""
        for name, value in zip(names, values, strict=False):
            if not name:
                continue
            if name in self.scope:
                raise GlowError(f"'{name}' is defined twice", node=node)
            if isinstance(value, np.ndarray):
                value = Constant(value, name)
            elif isinstance(value, SSAValue) and value.name_hint is None:
                value.name_hint = value_name(name)
            self.scope[name] = value


def used_names(graph: GraphProto) -> set[str]:
    """The names that the nodes, inner graphs and outputs of a graph read."""
    return names_read(graph.node) | {output.name for output in graph.output}


def names_read(nodes: Iterable[NodeProto]) -> set[str]:
    """The names that nodes and their inner graphs read."""
    names: set[str] = set()
    for node in nodes:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                names |= used_names(attribute.g)
    return names
