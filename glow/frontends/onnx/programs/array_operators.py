"""Common operators as functions of arrays, for nodes that are evaluated one by one.

To import and to interpret a node takes fifty microseconds, of which NumPy's part is a few. These
functions compute the plain forms of operators that move, compare or count elements, or round
once, bit for bit as the importer and the interpreter do:

    Gather<axis = 1>(scores, label)  ->  scores.take(label, 1)

A function leaves what is not plain, and whatever is wrong, to them: they know all rules, and
say which one is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block

from glow.dialects.errors import GlowError
from glow.dialects.weight_table import Array, WeightTable
from glow.frontends.onnx.frame import Scope
from glow.frontends.onnx.graph import Constant, Graph
from glow.frontends.onnx.messages import NodeProto
from glow.frontends.onnx.node import OnnxNode
from glow.frontends.onnx.old_forms import OLDEST_OPSET
from glow.frontends.onnx.registry import DEFAULT_DOMAINS
from glow.frontends.onnx.tensors import dtype_of_onnx, to_array
from glow.interpreter.array_functions import convert
from glow.interpreter.indexing import top_places

Results = Array | tuple[Array, ...]
Function = Callable[..., Results]
"""From the arrays of a node's inputs, None for one that is left out."""

Indices = NDArray[np.int64]
"""Operands that say where, of any integer type."""

FLOATS = frozenset(map(np.dtype, ("f4", "f8")))
INTEGERS = frozenset(np.dtype(sign + size) for sign in "iu" for size in "1248")
NUMBERS = FLOATS | INTEGERS
BOOLEAN = frozenset((np.dtype(bool),))
PLAIN = NUMBERS | BOOLEAN
"""The element types of plain forms: NumPy rounds as the interpreter does."""


class NotPlainError(Exception):
    """A node is left to the importer."""


@dataclass(frozen=True)
class ArrayOperator:
    """A node as a function of arrays."""

    inputs: Sequence[str]
    outputs: Sequence[str]
    function: Function

    def run(self, scope: Scope) -> bool:
        """Whether the node's results are now in the scope; False leaves it to the importer.

        They may be views. NumPy's warnings are the caller's to silence.
        """
        arrays: list[Array | None] = []
        for name in self.inputs:
            value = scope.get(name) if name else None
            if isinstance(value, Constant) and value.array.dtype in PLAIN:
                arrays.append(value.array)
            elif name:
                return False
            else:
                arrays.append(None)
        try:
            results = self.function(*arrays)
        except (NotPlainError, ArithmeticError, IndexError, TypeError, ValueError):
            return False
        found = results if isinstance(results, tuple) else (results,)
        return self._define(found, scope)

    def _define(self, results: tuple[Array, ...], scope: Scope) -> bool:
        """Bind the results to their names, none of which is bound."""
        for name, array in zip(self.outputs, results, strict=False):
            if name in scope:
                return False
            if name:  # NumPy may give a number.
                scope[name] = Constant(np.asarray(array), name)
        return True


def array_operator(proto: NodeProto, opset: int) -> ArrayOperator | None:
    """A node of the default domain as a function; None where only the importer knows it."""
    maker = MAKERS.get(proto.op_type)
    if maker is None or proto.domain not in DEFAULT_DOMAINS or opset < OLDEST_OPSET:
        return None
    node = OnnxNode(proto, [], Graph(Block(), WeightTable()), opset, frozenset())
    try:
        function = maker(node)
    except GlowError:  # The importer has more to say about it, if the node is computed.
        return None
    if function is None:
        return None
    return ArrayOperator(list(proto.input), list(proto.output), function)


def plain_if(condition: bool) -> None:
    """Leave a node to the importer unless it is plain."""
    if not condition:
        raise NotPlainError


def numbers_of(array: Array) -> list[int]:
    """The numbers of an operand that says where, or how many."""
    plain_if(array.dtype in INTEGERS)
    return array.ravel().tolist()


def pointwise(
    function: Callable[..., Array], types: frozenset[np.dtype[Any]]
) -> Callable[[OnnxNode], Function]:
    """A function of operands of one type."""

    def run(first: Array, *others: Array) -> Array:
        dtype = first.dtype
        plain_if(dtype in types and all(one.dtype == dtype for one in others))
        return function(first, *others)

    return lambda node: run


def joined(ufunc: np.ufunc) -> Callable[..., Array]:
    """A function of any number of operands, from the first to the last."""
    return lambda *operands: reduce(ufunc, operands)


def reduced(ufunc: np.ufunc) -> Callable[[OnnxNode], Function]:
    """A reduction of integers, in their own type."""

    def make(node: OnnxNode) -> Function:
        given = node.attr_ints("axes")
        keeps = bool(node.attr_int("keepdims", 1))

        def run(x: Array, axes: Array | None = None) -> Array:
            wanted = given if axes is None else numbers_of(axes)
            plain_if(x.dtype in INTEGERS and x.size > 0 and wanted != [])
            axis = None if wanted is None else tuple(wanted)
            return ufunc.reduce(x, axis=axis, dtype=x.dtype, keepdims=keeps)

        return run

    return make


def cast(node: OnnxNode) -> Function | None:
    """`Cast` between plain types."""
    dtype = dtype_of_onnx(node.attr_int("to", 0))
    return partial(convert, dtype=dtype) if dtype in PLAIN else None


def concat(node: OnnxNode) -> Function:
    """`Concat` of one type."""
    axis = node.attr_int("axis", 1)

    def run(first: Array, *others: Array) -> Array:
        plain_if(all(one.dtype == first.dtype for one in others))
        return np.concatenate((first, *others), axis)

    return run


def constant_of_shape(node: OnnxNode) -> Function | None:
    """`ConstantOfShape` as a view of one number."""
    value = node.attr_tensor("value")
    number: Array = np.zeros(1, np.float32) if value is None else to_array(value)
    if number.size != 1 or number.dtype not in PLAIN:
        return None

    def run(sizes: Array) -> Array:
        return np.broadcast_to(number.reshape(()), numbers_of(sizes))

    return run


def expand(x: Array, sizes: Array) -> Array:
    """`Expand`, in which the smaller of two sizes may be that of the array."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(numbers_of(sizes))))


def gather(node: OnnxNode) -> Function:
    """`Gather`."""
    axis = node.attr_int("axis", 0)

    def run(x: Array, indices: Indices) -> Array:
        plain_if(indices.dtype in INTEGERS)
        return x.take(indices, axis)

    return run


def gather_elements(node: OnnxNode) -> Function:
    """`GatherElements` of indices whose other sizes are those of the data."""
    axis = node.attr_int("axis", 0)

    def run(x: Array, indices: Indices) -> Array:
        beside = list(x.shape)
        beside[axis] = indices.shape[axis]
        plain_if(indices.dtype in INTEGERS and indices.shape == tuple(beside))
        return np.take_along_axis(x, indices, axis)

    return run


def gather_nd(node: OnnxNode) -> Function | None:
    """`GatherND` without batches."""
    if node.attr_int("batch_dims", 0):
        return None

    def run(x: Array, indices: Indices) -> Array:
        count = indices.shape[-1]
        plain_if(indices.dtype in INTEGERS and 0 < count <= x.ndim)
        if count == 1:
            return x.take(indices[..., 0], 0)
        return x[tuple(indices[..., axis] for axis in range(count))]

    return run


def identity(x: Array) -> Array:
    """`Identity`."""
    return x


def nonzero(x: Array) -> Array:
    """`NonZero`."""
    plain_if(x.ndim > 0)
    return np.array(x.nonzero(), np.int64)


def reshape(node: OnnxNode) -> Function:
    """`Reshape`."""
    allows_zero = node.attr_int("allowzero", 0)

    def run(x: Array, sizes: Array) -> Array:
        wanted = numbers_of(sizes)
        if 0 in wanted and not allows_zero:
            wanted = [size or x.shape[axis] for axis, size in enumerate(wanted)]
        lowest = (
            -1 if x.size else 0
        )  # NumPy takes any negative size for one to compute.
        plain_if(min(wanted, default=0) >= lowest)
        return x.reshape(wanted)

    return run


def shape_of(node: OnnxNode) -> Function:
    """`Shape`, of some axes."""
    start = node.attr_int("start", 0)
    end = node.attr_int("end", 1 << 31)

    def run(x: Array) -> Array:
        return np.array(x.shape[start:end], np.int64)

    return run


def slice_axes(node: OnnxNode) -> Function | None:
    """`Slice` forwards, by operands."""
    if node.has_attribute("starts"):
        return None

    def run(
        x: Array,
        starts: Array,
        ends: Array,
        axes: Array | None = None,
        steps: Array | None = None,
    ) -> Array:
        first, last = numbers_of(starts), numbers_of(ends)
        where = range(len(first)) if axes is None else numbers_of(axes)
        step = [1] * len(first) if steps is None else numbers_of(steps)
        plain_if(all(one > 0 for one in step))
        plain_if(len({axis % x.ndim for axis in where}) == len(first))
        places = [slice(None)] * x.ndim
        for axis, *place in zip(where, first, last, step, strict=True):
            places[axis] = slice(*place)
        return x[tuple(places)]

    return run


def squeeze(node: OnnxNode) -> Function:
    """`Squeeze`."""
    given = node.attr_ints("axes")

    def run(x: Array, axes: Array | None = None) -> Array:
        wanted = given if axes is None else numbers_of(axes)
        return x.squeeze(None if wanted is None else tuple(wanted))

    return run


def top_k(node: OnnxNode) -> Function | None:
    """`TopK` along the last axis."""
    if node.has_attribute("k"):
        return None
    axis, smallest = node.attr_int("axis", -1), not node.attr_int("largest", 1)

    def run(x: Array, k: Array) -> Results:
        (count,) = numbers_of(k)
        plain_if(axis in (-1, x.ndim - 1) and 0 <= count <= x.shape[-1])
        places = top_places(x, count, smallest=smallest)
        return np.take_along_axis(x, places, -1), places

    return run


def transpose(node: OnnxNode) -> Function | None:
    """`Transpose`."""
    order = node.attr_ints("perm")
    if order and min(order) < 0:
        return None

    def run(x: Array) -> Array:
        return x.transpose(order)

    return run


def unsqueeze(node: OnnxNode) -> Function:
    """`Unsqueeze`."""
    given = node.attr_ints("axes")

    def run(x: Array, axes: Array | None = None) -> Array:
        wanted = given if axes is None else numbers_of(axes)
        return np.expand_dims(x, tuple(wanted or ()))

    return run


def where(condition: Array, x: Array, y: Array) -> Array:
    """`Where`."""
    plain_if(condition.dtype in BOOLEAN and x.dtype == y.dtype)
    return np.where(condition, x, y)


MAKERS: dict[str, Callable[[OnnxNode], Function | None]] = {
    "Add": pointwise(np.add, NUMBERS),
    "And": pointwise(np.logical_and, BOOLEAN),
    "Cast": cast,
    "Ceil": pointwise(np.ceil, FLOATS),
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "Div": pointwise(np.divide, FLOATS),
    "Equal": pointwise(np.equal, PLAIN),
    "Expand": lambda node: expand,
    "Floor": pointwise(np.floor, FLOATS),
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Greater": pointwise(np.greater, NUMBERS),
    "GreaterOrEqual": pointwise(np.greater_equal, NUMBERS),
    "Identity": pointwise(identity, PLAIN),
    "Less": pointwise(np.less, NUMBERS),
    "LessOrEqual": pointwise(np.less_equal, NUMBERS),
    "Max": pointwise(joined(np.maximum), NUMBERS),
    "Min": pointwise(joined(np.minimum), NUMBERS),
    "Mul": pointwise(np.multiply, NUMBERS),
    "NonZero": lambda node: nonzero,
    "Not": pointwise(np.logical_not, BOOLEAN),
    "Or": pointwise(np.logical_or, BOOLEAN),
    "ReduceMax": reduced(np.maximum),
    "ReduceMin": reduced(np.minimum),
    "ReduceProd": reduced(np.multiply),
    "ReduceSum": reduced(np.add),
    "Reshape": reshape,
    "Shape": shape_of,
    "Slice": slice_axes,
    "Sqrt": pointwise(np.sqrt, FLOATS),
    "Squeeze": squeeze,
    "Sub": pointwise(np.subtract, NUMBERS),
    "TopK": top_k,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Where": lambda node: where,
}
"""What makes the function of a node, by operator."""
