"""A graph under construction: the part of `onnx.helper` that names things."""

from collections.abc import Sequence

import numpy as np
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from benchmarks.networks.inputs import Array
from benchmarks.networks.weights import Fill

OPSET = 17
IR_VERSION = 8

Sizes = Sequence[int | str]
"""A shape, with names for sizes that are open."""

Attribute = int | float | list[int] | TensorProto


class GraphBuilder:
    """Collects the nodes and weights of one network; values are their names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []

    def input(self, name: str, element_type: int, shape: Sizes) -> str:
        """Declare an input of the network; returns its value."""
        self.inputs.append(helper.make_tensor_value_info(name, element_type, shape))
        return name

    def output(self, value: str, shape: Sizes) -> None:
        """Declare `value`, of 32-bit floats, an output of the network."""
        info = helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)
        self.outputs.append(info)

    def weight(self, name: str, fill: Fill, *shape: int) -> str:
        """Returns a weight that `fill` draws for this network and `name`."""
        return self.stored(name, fill(f"{self.name}/{name}", shape))

    def stored(self, name: str, values: Array | Sequence[int]) -> str:
        """Returns an initializer of the given values (a list: 64-bit integers)."""
        array = values if isinstance(values, np.ndarray) else np.array(values, np.int64)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def scalar(self, name: str, value: float) -> str:
        """Returns a scalar held by a `Constant` node, where exporters put it."""
        tensor = numpy_helper.from_array(np.array(value, np.float32))
        return self.node("Constant", name, value=tensor)

    def node(
        self, op_type: str, name: str, *operands: str, **attributes: Attribute
    ) -> str:
        """Append a node of one result; returns the result, named as the node."""
        self._append(op_type, name, operands, [name], attributes)
        return name

    def product(
        self, name: str, value: str, fill: Fill, inputs: int, outputs: int
    ) -> str:
        """Append a product with a weight `[inputs, outputs]`; returns the result."""
        weight = self.weight(f"{name}.weight", fill, inputs, outputs)
        return self.node("MatMul", name, value, weight)

    def results(
        self,
        op_type: str,
        name: str,
        operands: Sequence[str],
        count: int,
        **attributes: Attribute,
    ) -> list[str]:
        """Append a node of `count` results; returns them."""
        names = [f"{name}.{index}" for index in range(count)]
        self._append(op_type, name, operands, names, attributes)
        return names

    def _append(
        self,
        op_type: str,
        name: str,
        operands: Sequence[str],
        results: Sequence[str],
        attributes: dict[str, Attribute],
    ) -> None:
        node = helper.make_node(op_type, operands, results, f"{name}/{op_type}")
        node.attribute.extend(
            helper.make_attribute(*item) for item in attributes.items()
        )
        self.nodes.append(node)

    def model(self) -> ModelProto:
        """Returns the network, and lets go of the weights, which it has copied."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="glow",
        )
        while self.weights:
            model.graph.initializer.append(self.weights.pop(0))
        return model
