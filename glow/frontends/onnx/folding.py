"""Computes nodes whose inputs are all known, so that shape computations leave no trace.

The operators of shape subgraphs and of weight preparation have a NumPy function here;
others go to ONNX's reference evaluator where they are small or have no handler. What is
larger than the budget stays a node of the program, as does what cannot be computed: its
handler reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import ceil, prod
from typing import cast

import numpy as np

from glow.dialects.weight_table import Array
from glow.frontends.onnx.graph import BUDGET, Constant
from glow.frontends.onnx.messages import AttributeProto
from glow.frontends.onnx.node import OnnxNode
from glow.frontends.onnx.registry import HANDLERS
from glow.frontends.onnx.tensors import dtype_of_onnx

SMALL = 1024
"""Operators with a handler but without a function here are computed up to this size."""

OWN = frozenset(
    ("CenterCropPad", "ConstantOfShape", "DequantizeLinear", "Expand", "EyeLike",
     "Flatten", "Identity", "OneHot", "Pad", "Reshape", "Resize", "Shape", "Size",
     "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze", "Upsample")
)  # fmt: skip
"""Operators whose handlers compute constants themselves, as views, and those that could
turn small inputs into huge results."""

RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike")
)
"""Operators whose result is another one at every run."""

Folder = Callable[[OnnxNode, list[Array]], "Array | None"]


def fold(node: OnnxNode) -> list[Array] | None:
    """The results of a node whose inputs are all known; None to import it as usual."""
    if not node.inputs or not all(isinstance(v, Constant | None) for v in node.inputs):
        return None
    arrays = [v.array for v in node.inputs if isinstance(v, Constant)]
    folder = FOLDERS.get(node.proto.op_type)
    if folder is not None and len(arrays) == len(node.inputs):
        # Division by zero and overflow give what they would give at run time.
        with np.errstate(all="ignore"), suppress(ValueError):
            result = folder(node, arrays)
            return None if result is None else [np.asarray(result)]
    operator = node.proto.op_type
    limit = SMALL if operator in HANDLERS else BUDGET
    if operator in OWN or operator in RANDOM or _size(arrays) > limit:
        return None
    # Nodes with graphs see names outside of them, and loops may never end.
    if any(a.type == AttributeProto.GRAPH for a in node.proto.attribute):
        return None
    return _evaluate(node)


def _size(arrays: list[Array]) -> int:
    return sum(array.size for array in arrays)


def _evaluate(node: OnnxNode) -> list[Array] | None:
    """The results by ONNX's reference evaluator, or None where it fails."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    inputs = {
        name: value.array
        for name, value in zip(node.proto.input, node.inputs, strict=True)
        if isinstance(value, Constant)
    }
    graph = helper.make_graph(
        [node.proto],
        "node",
        [helper.make_empty_tensor_value_info(name) for name in inputs],
        [
            helper.make_empty_tensor_value_info(name)
            for name in node.proto.output
            if name
        ],
    )
    opsets = [helper.make_opsetid("", node.opset)]
    try:
        evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))
        found = iter(evaluator.run(None, inputs))  # pyright: ignore[reportUnknownMemberType]
        results = [next(found) if name else np.empty(0) for name in node.proto.output]
    except Exception:
        # Whatever the evaluator cannot do is left to the handlers, which report it.
        return None
    if all(isinstance(result, np.ndarray | np.generic) for result in results):
        return [np.asarray(result) for result in results]
    return None


def _small(function: Callable[..., object]) -> Folder:
    """A folder that applies a NumPy function to inputs within the budget."""

    def folder(node: OnnxNode, arrays: list[Array]) -> Array | None:
        if _size(arrays) > BUDGET:
            return None
        return np.asarray(function(*arrays))

    return folder


def _divide(lhs: Array, rhs: Array) -> Array | None:
    """A quotient; integers round towards zero."""
    if lhs.dtype.kind not in "iu":
        return np.divide(lhs, rhs).astype(lhs.dtype)
    if not rhs.all():
        return np.zeros(np.broadcast_shapes(lhs.shape, rhs.shape), lhs.dtype)
    quotient, remainder = np.divmod(lhs, rhs)
    return (quotient + ((quotient < 0) & (remainder != 0))).astype(lhs.dtype)


def _cast(node: OnnxNode, arrays: list[Array]) -> Array | None:
    if arrays[0].size > BUDGET:
        return None
    return arrays[0].astype(dtype_of_onnx(node.attr_int("to", 0)))


def _range(node: OnnxNode, arrays: list[Array]) -> Array | None:
    start, limit, step = (array.item() for array in arrays)
    if step == 0 or abs((limit - start) / step) > BUDGET:
        return None
    count = max(ceil((limit - start) / step), 0)
    numbers = cast(Array, start + step * np.arange(count))
    return numbers.astype(arrays[0].dtype)


def _tile(node: OnnxNode, arrays: list[Array]) -> Array | None:
    array, repeats = arrays
    if array.size * prod(repeats.tolist()) > BUDGET:
        return None
    return np.tile(array, repeats.astype(np.int64))


def _concat(node: OnnxNode, arrays: list[Array]) -> Array | None:
    if _size(arrays) > BUDGET:
        return None
    return np.concatenate(arrays, node.attr_int("axis", 0))


def _gather(node: OnnxNode, arrays: list[Array]) -> Array | None:
    data, indices = arrays
    axis = node.attr_int("axis", 0)
    if not -data.ndim <= axis < data.ndim:
        return None
    size = data.shape[axis]
    if indices.size and not (-size <= indices.min() and indices.max() < size):
        return None
    count = prod(data.shape) // max(size, 1) * indices.size
    return None if count > BUDGET else np.take(data, indices.astype(np.int64), axis)


FOLDERS: dict[str, Folder] = {
    "Abs": _small(np.abs),
    "Add": _small(np.add),
    "And": _small(np.logical_and),
    "Cast": _cast,
    "Ceil": _small(np.ceil),
    "Concat": _concat,
    "Div": _small(_divide),
    "Equal": _small(np.equal),
    "Floor": _small(np.floor),
    "Gather": _gather,
    "Greater": _small(np.greater),
    "GreaterOrEqual": _small(np.greater_equal),
    "Less": _small(np.less),
    "LessOrEqual": _small(np.less_equal),
    "Mul": _small(np.multiply),
    "Neg": _small(np.negative),
    "Not": _small(np.logical_not),
    "Or": _small(np.logical_or),
    "Range": _range,
    "Sqrt": _small(np.sqrt),
    "Sub": _small(np.subtract),
    "Tile": _tile,
    "Where": _small(np.where),
}
"""NumPy functions of operators; reshapes and the like fold in their handlers."""
