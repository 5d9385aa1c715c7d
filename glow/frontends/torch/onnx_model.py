"""The ONNX model that a program of `torch.operator "onnx.X"` stands for.

The importer of ONNX models takes it from there, so that its handlers, its errors and its open
sizes are those of any model. Constants become weights; a node has its place for a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects.errors import GlowError
from glow.dialects.glow import ConstantOp
from glow.dialects.locations import place_of
from glow.dialects.torch import (
    ConstantNoneOp,
    FromBuiltinTensorOp,
    OperatorOp,
    TensorType,
    TerminatorOp,
)
from glow.dialects.weight_table import Array
from glow.dialects.weights import constant_value, dense_to_numpy
from glow.frontends.inline_calls import inline_calls
from glow.frontends.onnx.messages import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)

META = "torch.onnx_meta."
OPERATOR = "onnx."
ATTRIBUTE = "torch.onnx."

ELEMENTS: Mapping[str, str] = {
    "bf16": "BFLOAT16",
    "f16": "FLOAT16",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "i1": "BOOL",
    "si16": "INT16",
    "si32": "INT32",
    "si64": "INT64",
    "si8": "INT8",
    "ui16": "UINT16",
    "ui32": "UINT32",
    "ui64": "UINT64",
    "ui8": "UINT8",
}
"""ONNX's names of element types."""

OF_ARRAYS: Mapping[str, str] = {
    "bfloat16": "BFLOAT16",
    "bool": "BOOL",
    "float16": "FLOAT16",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    **{f"int{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT{bits}" for bits in (8, 16, 32, 64)},
}


def has_operators(module: ModuleOp) -> bool:
    """Whether a program has operators of ONNX in torch."""
    return any(isinstance(op, OperatorOp) for op in module.walk())


def onnx_model(module: ModuleOp) -> ModelProto:
    """The model; GlowError with the places of all that is no operator of ONNX."""
    inline_calls(module)
    functions = [one for one in module.ops if isinstance(one, FuncOp)]
    if len(functions) != 1:
        raise GlowError(f"{len(functions)} public functions, where a model has one")
    (function,) = functions
    model = ModelProto(ir_version=8)
    _add_opsets(model, function)
    _Graph(model.graph, {}).fill(function)
    return model


def _add_opsets(model: ModelProto, function: FuncOp) -> None:
    version = function.attributes.get(f"{META}opset_version")
    number = version.value.data if isinstance(version, IntegerAttr) else 0
    opsets = {"": number or 1}
    more = function.attributes.get(f"{META}opset_versions")
    if isinstance(more, DictionaryAttr):
        opsets |= {
            name: one.value.data
            for name, one in more.data.items()
            if isinstance(one, IntegerAttr)
        }
    for domain, number in opsets.items():
        model.opset_import.add(domain=domain, version=number)
    if "com.microsoft" not in opsets:
        model.opset_import.add(domain="com.microsoft", version=1)


class _Graph:
    """A graph under construction, and the names of values, those around it among them."""

    def __init__(self, graph: GraphProto, names: dict[SSAValue, str]) -> None:
        self.graph = graph
        self.names = names
        self.wrong: list[str] = []

    def fill(self, function: FuncOp) -> None:
        """Inputs, nodes and outputs of a function."""
        block = function.body.block
        self.graph.name = function.sym_name.data
        for argument in block.args:
            self._declare(self.graph.input.add(), argument)
        self._nodes(block)
        last = block.last_op
        assert isinstance(last, ReturnOp)
        for number, value in enumerate(last.arguments):
            output = f"output{number}"
            self.graph.node.add(
                op_type="Identity", input=[self._name(value)], output=[output]
            )
            self._declare(self.graph.output.add(), value, output)
        if self.wrong:
            count = len(self.wrong)
            listed = "; ".join(self.wrong)
            what = "operation is" if count == 1 else "operations are"
            raise GlowError(f"{count} {what} not supported: {listed}")

    def _nodes(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, OperatorOp) and op.operator.data.startswith(OPERATOR):
                self._node(op)
            elif isinstance(op, ConstantNoneOp):
                self.names[op.results[0]] = ""
            elif isinstance(op, FromBuiltinTensorOp):
                self._parameter(op)
            elif not isinstance(op, ConstantOp | ReturnOp | TerminatorOp):
                self.wrong.append(f"'{_spelled(op)}' at {place_of(op)}")

    def _node(self, op: OperatorOp) -> None:
        kind = op.operator.data.removeprefix(OPERATOR)
        given = {
            name.removeprefix(ATTRIBUTE): value
            for name, value in op.attributes.items()
            if name.startswith(ATTRIBUTE)
        }
        if kind == "Constant" and set(given) == {"value"}:
            name = self._name(op.results[0])
            self.graph.initializer.append(tensor(_array(given["value"]), name))
            return
        domain, _, kind = kind.rpartition(".")
        node = self.graph.node.add(
            op_type=kind,
            domain=domain or _domain(kind),
            name=str(place_of(op)),
            input=[self._name(value) for value in op.operands],
            output=[self._name(value) for value in op.results],
        )
        for name, value in given.items():
            node.attribute.append(attribute(name, value))
        self._bodies(op, node)

    def _parameter(self, op: FromBuiltinTensorOp) -> None:
        """The weight that `frontends/parameters.py` has made of a global."""
        array = constant_value(op.operands[0])
        if array is None:
            self.wrong.append(f"'{op.name}' of no weight at {place_of(op)}")
            return
        message = tensor(array, self._name(op.results[0]))
        message.data_type = _element_of(op.results[0])
        self.graph.initializer.append(message)

    def _bodies(self, op: OperatorOp, node: NodeProto) -> None:
        """The graphs of `If` and `Loop`, which read values from around them."""
        names = {"If": ("then_branch", "else_branch")}.get(node.op_type, ("body",))
        for name, region in zip(names, op.regions, strict=False):
            body = node.attribute.add(name=name, type=AttributeProto.GRAPH).g
            inner = _Graph(body, self.names)
            body.name = name
            for argument in region.block.args:
                inner._declare(body.input.add(), argument)
            inner._nodes(region.block)
            last = region.block.last_op
            for value in last.operands if last is not None else ():
                inner._declare(body.output.add(), value)
            self.wrong += inner.wrong

    def _name(self, value: SSAValue) -> str:
        found = self.names.get(value)
        if found is None:
            hint = value.name_hint or "v"
            taken = set(self.names.values())
            found = hint if hint not in taken else f"{hint}_{len(taken)}"
            self.names[value] = found
        return found

    def _declare(self, info: ValueInfoProto, value: SSAValue, name: str = "") -> None:
        info.name = name or self._name(value)
        held = info.type.tensor_type
        held.elem_type = _element_of(value)
        kind = value.type
        assert isinstance(kind, TensorType)
        if kind.sizes is None:
            return
        held.shape.SetInParent()
        for size in kind.sizes:
            dimension = held.shape.dim.add()
            if size >= 0:
                dimension.dim_value = size


def _element_of(value: SSAValue) -> TensorProto.DataType.ValueType:
    """ONNX's number of the element type."""
    kind = value.type
    if not isinstance(kind, TensorType):
        raise GlowError(f"a value of type {kind}, not a tensor")
    element = ELEMENTS.get(str(kind.element))
    if element is None:
        raise GlowError(f"elements of type {kind.element} are not supported")
    return TensorProto.DataType.Value(element)


def _domain(kind: str) -> str:
    """The domain of an operator that torch-mlir prints without it."""
    from glow.frontends.onnx.importer import handler_of

    for domain in ("", "com.microsoft"):
        if handler_of(NodeProto(op_type=kind, domain=domain)) is not None:
            return domain
    return ""


def _spelled(op: Operation) -> str:
    return op.operator.data if isinstance(op, OperatorOp) else op.name


def tensor(array: Array, name: str = "") -> TensorProto:
    """The message of an array."""
    kind = OF_ARRAYS.get(array.dtype.name)
    if kind is None:
        raise GlowError(f"a constant of {array.dtype} elements is not supported")
    return TensorProto(
        name=name,
        data_type=TensorProto.DataType.Value(kind),
        dims=array.shape,
        raw_data=np.ascontiguousarray(array).tobytes(),
    )


def _array(value: Attribute) -> Array:
    if isinstance(value, DenseResourceAttr):
        key = value.resource_handle.data
        raise GlowError(f"the resource '{key}' is missing from the text")
    if not isa(value, DenseIntOrFPElementsAttr):
        raise GlowError("a constant that is no dense tensor")
    return dense_to_numpy(value)


def attribute(name: str, value: Attribute) -> AttributeProto:
    """The message of an attribute; GlowError for what ONNX has none for."""
    made = AttributeProto(name=name)
    if isinstance(value, IntegerAttr):
        made.type, made.i = AttributeProto.INT, value.value.data
    elif isinstance(value, FloatAttr):
        made.type, made.f = AttributeProto.FLOAT, value.value.data
    elif isinstance(value, StringAttr):
        made.type, made.s = AttributeProto.STRING, value.data.encode()
    elif isinstance(value, DenseResourceAttr) or isa(value, DenseIntOrFPElementsAttr):
        made.type = AttributeProto.TENSOR
        made.t.CopyFrom(tensor(_array(value)))
    elif isinstance(value, DenseArrayBase):
        made.type = AttributeProto.INTS
        made.ints.extend(int(one) for one in value.get_values())
    elif isa(value, ArrayAttr):
        _set_list(made, list(value))
    else:
        raise GlowError(f"the attribute '{name}' is {value}, which ONNX has not")
    return made


def _set_list(made: AttributeProto, values: Sequence[Attribute]) -> None:
    if all(isinstance(one, FloatAttr) for one in values) and values:
        made.type = AttributeProto.FLOATS
        made.floats.extend(
            one.value.data for one in values if isinstance(one, FloatAttr)
        )
    elif all(isinstance(one, StringAttr) for one in values) and values:
        made.type = AttributeProto.STRINGS
        made.strings.extend(
            one.data.encode() for one in values if isinstance(one, StringAttr)
        )
    else:
        made.type = AttributeProto.INTS
        made.ints.extend(
            one.value.data for one in values if isinstance(one, IntegerAttr)
        )
