"""Runs an ONNX graph by a table of functions, for peers that do not read ONNX themselves."""

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

Attributes = dict[str, Any]
Emit = Callable[[list[Any], Attributes], Any]
"""From the operands and attributes of a node to its first result."""


COMMON: Mapping[str, Emit] = {
    "Add": lambda operands, _: operands[0] + operands[1],
    "Dropout": lambda operands, _: operands[0],
    "Mul": lambda operands, _: operands[0] * operands[1],
    "Sum": lambda operands, _: reduce(operator.add, operands),
}
"""What any library's tensors do by themselves."""


class GraphWalk:
    """A network of one output, whose nodes `emitters` and what is common run.

    Raises ValueError that names the operators that have no translation.
    """

    def __init__(self, model: onnx.ModelProto, emitters: Mapping[str, Emit]) -> None:
        graph, emitters = model.graph, COMMON | dict(emitters)
        if missing := sorted({n.op_type for n in graph.node} - emitters.keys()):
            raise ValueError(f"no translation of {', '.join(missing)}")
        self.weights = {w.name: _array(w) for w in graph.initializer}
        self.inputs = [i.name for i in graph.input if i.name not in self.weights]
        self.output = graph.output[0].name
        self.nodes = [
            (emitters[n.op_type], [*filter(None, n.input)], _attributes(n), n.output[0])
            for n in graph.node
        ]

    def run(self, values: dict[str, Any]) -> Any:
        """Returns the output; `values` holds weights and inputs, and gets the others."""
        for emit, operands, attributes, result in self.nodes:
            values[result] = emit([values[name] for name in operands], attributes)
        return values[self.output]


def _array(weight: onnx.TensorProto) -> np.ndarray:
    return np.array(numpy_helper.to_array(weight))


def _attributes(node: onnx.NodeProto) -> Attributes:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
