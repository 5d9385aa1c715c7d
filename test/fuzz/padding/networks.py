"""Random ONNX networks under construction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

Numbers = npt.ArrayLike


class Network:
    """The nodes and tables of a network."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.nodes: list[NodeProto] = []
        self.tables: list[TensorProto] = []

    def new(self) -> str:
        """A name that nothing has yet."""
        return f"t{len(self.nodes)}_{len(self.tables)}"

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        """The result of a node."""
        name = self.new()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def table(self, numbers: Numbers, dtype: str = "f4") -> str:
        """A constant."""
        name = self.new()
        self.tables.append(numpy_helper.from_array(np.asarray(numbers, dtype), name))
        self.nodes.append(helper.make_node("Identity", [name], [f"{name}i"]))
        return f"{name}i"

    def ints(self, *numbers: int) -> str:
        """A list of whole numbers."""
        return self.table(numbers, "i8")

    def weights(self, *shape: int) -> str:
        """Weights of about a half."""
        return self.table(self.random.standard_normal(shape) / 2)

    def below(self, end: int, start: int = 0) -> int:
        """A number of a range."""
        return int(self.random.integers(start, end))

    def one_of(self, *choices: str) -> str:
        """One of some names."""
        return str(self.random.choice(choices))
