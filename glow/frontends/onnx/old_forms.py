"""Operators of opsets 1 to 6 as those of opset 7, where a rule suffices.

Before opset 7 operands were broadcast on demand, along a given axis; some operands were
attributes. `consumed_inputs`, a hint about memory, means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from glow.dialects.node import fail_unless
from glow.frontends.onnx.lists import Held
from glow.frontends.onnx.messages import AttributeProto, NodeProto, TensorProto
from glow.frontends.onnx.node import Constant, OnnxNode
from glow.frontends.onnx.refusal import refuse_if

OLDEST_OPSET = 7
"""From this opset on every definition is known; before it, those of `FORMS`."""


def _with(
    node: OnnxNode, inputs: Sequence[Held | None], *attributes: AttributeProto
) -> OnnxNode:
    """The node with other inputs, and with attributes that replace those of their names."""
    proto = NodeProto()
    proto.CopyFrom(node.proto)
    names = {attribute.name for attribute in attributes}
    kept = [each for each in node.proto.attribute if each.name not in names]
    del proto.attribute[:]
    proto.attribute.extend([*kept, *attributes])
    return node.replaced(proto, inputs)


def _ints(name: str, numbers: Sequence[int]) -> AttributeProto:
    return AttributeProto(name=name, type=AttributeProto.INTS, ints=numbers)


def _int(name: str, number: int) -> AttributeProto:
    return AttributeProto(name=name, type=AttributeProto.INT, i=number)


def _float(name: str, number: float) -> AttributeProto:
    return AttributeProto(name=name, type=AttributeProto.FLOAT, f=number)


def same(node: OnnxNode) -> OnnxNode:
    """The definition has changed in element types and `consumed_inputs` only."""
    return node


def aligned(node: OnnxNode) -> OnnxNode:
    """The second operand's axes are some of the first one's, from `axis` on."""
    first, second = node.shape(0), node.shape(1)
    if not node.attr_int("broadcast", 0):
        fail_unless(
            first == second,
            f"shapes {list(first)} and {list(second)} differ without broadcast",
        )
        return node
    end = len(first) - len(second)
    axis = node.attr_int("axis", end)
    axis += len(first) if axis < 0 else 0
    fail_unless(  # A scalar may stand behind the last axis, as exporters write it.
        0 <= axis <= end,
        f"{list(second)} does not fit {list(first)} from axis {axis} on",
    )
    shape = (*second, *[1] * (end - axis))
    return _with(node, [node.value(0), node.reshape(node.value(1), shape)])


def inference(node: OnnxNode) -> OnnxNode:
    """Only what is said to be a test is no training."""
    refuse_if(not node.attr_int("is_test", 0), "is_test 0")
    return node


def cast(node: OnnxNode) -> OnnxNode:
    """The element type was a name."""
    name = node.attr_string("to", "")
    known = TensorProto.DataType.keys()
    fail_unless(name.upper() in known, f"the element type '{name}' is unknown")
    return _with(
        node, node.inputs, _int("to", TensorProto.DataType.Value(name.upper()))
    )


def concat(node: OnnxNode) -> OnnxNode:
    """The axis was 1 unless given."""
    return _with(node, node.inputs, _int("axis", node.attr_int("axis", 1)))


def pad(node: OnnxNode) -> OnnxNode:
    """The pads had a longer name."""
    paddings = node.attr_ints("paddings")
    return (
        node if paddings is None else _with(node, node.inputs, _ints("pads", paddings))
    )


def prelu(node: OnnxNode) -> OnnxNode:
    """Slopes along one axis were those of the channels."""
    first, second = node.shape(0), node.shape(1)
    if len(second) != 1 or len(first) < 2 or second == (1,):
        return node
    slopes = node.reshape(node.value(1), (*second, *[1] * (len(first) - 2)))
    return _with(node, [node.value(0), slopes])


def reshape(node: OnnxNode) -> OnnxNode:
    """The shape was an attribute."""
    target = node.attr_ints("shape")
    if target is None:
        return node
    return _with(node, [node.value(0), Constant(np.array(target, np.int64), "shape")])


def selu(node: OnnxNode) -> OnnxNode:
    """Both factors were shorter."""
    alpha, gamma = node.attr_float("alpha", 1.6732), node.attr_float("gamma", 1.0507)
    return _with(node, node.inputs, _float("alpha", alpha), _float("gamma", gamma))


def split(node: OnnxNode) -> OnnxNode:
    """The sizes could be an input."""
    if not node.has(1):
        return node
    return _with(node, [node.value(0)], _ints("split", node.integers(1, "split")))


def tile(node: OnnxNode) -> OnnxNode:
    """One axis was repeated."""
    if len(node.inputs) != ONE_AXIS:
        return node
    (count,), (axis,) = node.integers(1, "tiles"), node.integers(2, "axis")
    repeats = np.ones(node.rank(0), np.int64)
    repeats[node.positive(axis, node.rank(0))] = count
    return _with(node, [node.value(0), Constant(repeats, "repeats")])


ONE_AXIS = 3


def upsample(node: OnnxNode) -> OnnxNode:
    """The scales of height and width were two attributes."""
    scales = [node.attr_float(f"{side}_scale", 0.0) for side in ("height", "width")]
    numbers = [1.0, 1.0, *scales]
    given = AttributeProto(name="scales", type=AttributeProto.FLOATS, floats=numbers)
    return _with(node, node.inputs, given)


FORMS: Mapping[str, Callable[[OnnxNode], OnnxNode]] = {
    **dict.fromkeys(
        (
            "Abs", "AveragePool", "Ceil", "Clip", "Elu", "Exp", "Floor", "GRU", "Gemm",
            "GlobalLpPool", "HardSigmoid", "InstanceNormalization", "LSTM", "LeakyRelu",
            "Log", "LpPool", "Max", "Mean", "Min", "Neg", "RNN", "Reciprocal", "Relu",
            "Sigmoid", "Sqrt", "Sum", "Tanh",
        ),
        same,
    ),
    **dict.fromkeys(
        (
            "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub",
            "Xor",
        ),
        aligned,
    ),
    "BatchNormalization": inference,
    "Cast": cast,
    "Concat": concat,
    "Dropout": inference,
    "PRelu": prelu,
    "Pad": pad,
    "Reshape": reshape,
    "Selu": selu,
    "Split": split,
    "Tile": tile,
    "Upsample": upsample,
}  # fmt: skip
"""What makes an operator of an opset before 7 one of opset 7."""

CHANGED_ONCE = {
    "Cast": 6,
    "Concat": 4,
    "Pad": 2,
    "Reshape": 5,
    "Selu": 6,
    "Split": 2,
    "Tile": 6,
}
"""The opset from which an operator is that of opset 7, of those that changed earlier."""


def modern_form(node: OnnxNode) -> OnnxNode:
    """A node of the default domain as one of opset 7 or later."""
    operator = node.proto.op_type
    if node.opset >= CHANGED_ONCE.get(operator, OLDEST_OPSET) or operator not in FORMS:
        return node
    return FORMS[operator](node)
