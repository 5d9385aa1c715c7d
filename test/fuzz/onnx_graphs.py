"""Random ONNX models, made node by node: ONNX Runtime computes each node as it is added.

So every value has its array while the graph grows: scales can be chosen for what they
scale, a node that ONNX Runtime refuses is left out, and the results of the whole model, and
of each of its nodes, are what ONNX Runtime gives without optimization.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, helper, numpy_helper
from random_graphs import F32, Array, Choices, Shape
from support.onnx_models.onnxruntime_testing import exact_outputs

CONTRIB = "com.microsoft"
OPSET = 19
OPSETS = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
RUNTIME_ERRORS = (
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph,
    onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
    onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
)


class Misfit(Exception):
    """ONNX Runtime does not run a node, or gives no element; another one is tried."""


@dataclass(eq=False)
class Value:
    """A tensor of the graph: its name, and what it is in this run."""

    name: str
    array: Array
    is_constant: bool = False
    scale: Array | None = None
    """Of integers that stand for numbers, their scale and zero point."""
    point: Array | None = None

    @property
    def shape(self) -> Shape:
        """The sizes."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.array.dtype

    @property
    def numbers(self) -> Array:
        """What the elements stand for."""
        if self.scale is None or self.point is None:
            return self.array.astype(np.float64)
        whole = self.array.astype(np.float64) - self.point.astype(np.float64)
        return whole * self.scale.astype(np.float64)


@dataclass(frozen=True)
class Made:
    """A node, and its values."""

    node: NodeProto
    inputs: list[Value]
    outputs: list[Value]


class OnnxMaker(Choices):
    """A model under construction."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.inputs: list[Value] = []
        self.constants: list[Value] = []
        self.made: list[Made] = []
        self.values: list[Value] = []

    def argument(self, array: Array, **parameters: Array) -> Value:
        """A new input of the model."""
        value = Value(f"x{len(self.inputs)}", array, **parameters)
        self.inputs.append(value)
        self.values.append(value)
        return value

    def constant(self, array: Any, **parameters: Array) -> Value:
        """A new initializer."""
        name = f"c{len(self.constants)}"
        value = Value(name, np.asarray(array), is_constant=True, **parameters)
        self.constants.append(value)
        return value

    def new(self, shape: Shape) -> Value:
        """New floats: an input or a constant."""
        array = self.array(shape)
        return self.constant(array) if self.chance(0.5) else self.argument(array)

    def pick(self, wanted: Callable[[Value], bool], make: Callable[[], Value]) -> Value:
        """A value that is wanted, mostly a late one; else a new one."""
        found = [value for value in self.values if wanted(value)]
        if not found or self.chance(0.1):
            return make()
        return found[-1] if self.chance(0.5) else self.one_of(found)

    def floats(self, rank: int | None = None) -> Value:
        """Floats of a rank, or of any."""
        size = self.integer(0, 5) if rank is None else rank

        def fits(value: Value) -> bool:
            return value.dtype == F32 and rank in (None, len(value.shape))

        return self.pick(fits, lambda: self.argument(self.array(self.shape(size))))

    def beside(self, x: Value) -> Value:
        """Floats that broadcast with others."""
        same = [v for v in self.values if (v.shape, v.dtype) == (x.shape, x.dtype)]
        if same and self.chance(0.5):
            return self.one_of(same)
        first = self.integer(0, len(x.shape))
        return self.new(
            tuple(1 if self.chance(0.3) else size for size in x.shape[first:])
        )

    def nodes(
        self,
        operator: str,
        inputs: Sequence[Value | None],
        outputs: int = 1,
        domain: str = "",
        **attributes: Any,
    ) -> list[Value]:
        """All results of a new node; raises Misfit where ONNX Runtime does not take it."""
        start = len(self.values)
        names = [f"v{start + number}" for number in range(outputs)]
        given = [value.name if value else "" for value in inputs]
        node = helper.make_node(operator, given, names, domain=domain, **attributes)
        used = list({v.name: v for v in inputs if v is not None}.values())
        arrays = run_model(model_of([node], used, names), used)
        if not all(array.size for array in arrays):
            raise Misfit("nothing is left")
        results = [
            Value(name, array) for name, array in zip(names, arrays, strict=True)
        ]
        self.made.append(Made(node, used, results))
        self.values += results
        return results

    def node(
        self, operator: str, *inputs: Value | None, domain: str = "", **attributes: Any
    ) -> Value:
        """The only result of a new node."""
        return self.nodes(operator, inputs, domain=domain, **attributes)[0]

    def quantized(
        self, operator: str, *inputs: Value | None, domain: str = "", **attributes: Any
    ) -> Value:
        """The result of a node that keeps the quantization of its first input."""
        result = self.node(operator, *inputs, domain=domain, **attributes)
        source = next(value for value in inputs if value is not None)
        result.scale, result.point = source.scale, source.point
        return result

    def finish(self) -> tuple[ModelProto, list[Value]]:
        """The model and its results: what nothing reads, and a few other values."""
        read = {name for made in self.made for name in made.node.input}
        results = [
            value
            for made in self.made
            for value in made.outputs
            if value.name not in read or self.chance(0.1)
        ]
        nodes = [made.node for made in self.made]
        values = [*self.inputs, *self.constants]
        return model_of(nodes, values, [value.name for value in results]), results


def model_of(
    nodes: Sequence[NodeProto], values: Sequence[Value], results: Sequence[str]
) -> ModelProto:
    """A model of nodes, of inputs and initializers, and of the names of its results."""
    graph = helper.make_graph(
        nodes,
        "random",
        [
            helper.make_tensor_value_info(
                value.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for value in values
            if not value.is_constant
        ],
        [helper.make_empty_tensor_value_info(name) for name in results],
        [numpy_helper.from_array(v.array, v.name) for v in values if v.is_constant],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=10)


INTEGER_PRODUCTS = frozenset(
    (
        "ConvInteger", "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat",
        "QGemm", "QLinearConv", "QLinearMatMul",
    )
)  # fmt: skip
"""Operators of ONNX Runtime whose usual sums may saturate."""


def run_model(model: ModelProto, values: Sequence[Value]) -> list[Array]:
    """What ONNX Runtime makes of a node, without optimization; raises Misfit if it refuses."""
    inputs = {value.name: value.array for value in values if not value.is_constant}
    try:
        if model.graph.node[0].op_type in INTEGER_PRODUCTS:
            return exact_outputs(model, inputs)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        )
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return [np.asarray(array) for array in session.run(None, inputs)]
    except RUNTIME_ERRORS as error:
        raise Misfit(str(error)) from error


OnnxStep = Callable[[OnnxMaker], object]


def random_model(seed: int, steps: Sequence[OnnxStep]) -> OnnxMaker:
    """The model of a seed, of one to seven random steps."""
    maker = OnnxMaker(seed)
    for _ in range(1 + seed % 7):
        try:
            maker.one_of(steps)(maker)
        except Misfit:
            continue
    if not maker.made:
        maker.node("Relu", maker.argument(maker.array((2, 3))))
    return maker
