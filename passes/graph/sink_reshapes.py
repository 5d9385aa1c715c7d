"""Moves nodes that only move elements out of the way of arithmetic.

| before                          | after                                           |
|---------------------------------|-------------------------------------------------|
| `relu(reshape(x))`              | `reshape(relu(x))`: the producer absorbs it     |
| `softmax(reshape(x) * 0.5)`     | `softmax(reshape(x * 0.5))`, for a single number |
| `batch_norm(reshape(x))`        | `reshape(batch_norm(x))`, where channels stay   |
| `reshape(softmax(reshape(x)))`  | `softmax(x)`, of x's shape and rows             |
| `relu(tile(x))`, of broadcast   | `tile(relu(x))`: fewer elements                 |
| `slice(relu(x))`, one reader    | `relu(slice(x))`: fewer elements                |
| `slice(batch_norm(x))`          | `batch_norm(slice(x))`, where channels stay     |
| `concat(f(x), f(y))`            | `f(concat(x, y))`: one node, where no product   |
|                                 | would absorb f                                  |
| `reshape(reshape(x))`           | `reshape(x)`                                    |
| `reshape(layer(reshape(x)) + c)`| `matmul(x, w) + c`, where the first axes are     |
|                                 | merged and split again                          |
| `op(slice(x), c), op(slice(x), d)`, joined again | `op(x, concat(c, d))`          |
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.passes.graph.fuse_activation import PRODUCERS
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, element_type
from glow.passes.rewriting.patterns import RewritePass

GROWING = (glow.TileOp, glow.BroadcastOp)
FUNCTIONS = (*glow.UNARY, glow.ConvertOp)


def retyped(builder: NodeBuilder, op: NodeOp, operand: SSAValue) -> SSAValue:
    """A node of one operand on another one, with the element type of its result."""
    result = tensor_type(shape_of(operand), element_type(op.results[0]))
    return builder.create(type(op), [operand], attributes_of(op), types=[result])


def below_function(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`move(f(x))` for `f(move(x))`."""
    move = op.inputs[0].owner
    if not isinstance(move, (glow.ReshapeOp, *GROWING)):
        return None
    if isinstance(move, glow.ReshapeOp) and not op.inputs[0].has_one_use():
        return None
    computed = retyped(builder, op, move.operands[0])
    return builder.create(
        type(move), [computed], attributes_of(move), types=[_type_of(op)]
    )


def merge(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """One reshape for two."""
    first = op.inputs[0].owner
    if not isinstance(first, glow.ReshapeOp):
        return None
    return builder.reshape(first.input, shape_of(op.results[0]))


def below_batch_norm(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`reshape(batch_norm(x))` for `batch_norm(reshape(x))`, which has x's channels."""
    move = op.inputs[0].owner
    if not isinstance(move, glow.ReshapeOp) or not op.inputs[0].has_one_use():
        return None
    shape = shape_of(move.input)
    if len(shape) < 2 or shape[:2] != shape_of(op.results[0])[:2]:
        return None
    operands = [move.input, *op.inputs[1:]]
    normalized = builder.create(type(op), operands, attributes_of(op))
    return builder.reshape(normalized, shape_of(op.results[0]))


def below_number(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`reshape(x * c)` for `reshape(x) * c` of scores, where c is a single number."""
    reader = op.results[0].get_user_of_unique_use()
    if not isinstance(reader, glow.SoftmaxOp):
        return None
    moves = [isinstance(value.owner, glow.ReshapeOp) for value in op.inputs]
    if moves.count(True) != 1 or not isinstance(op, glow.BinaryOp):
        return None
    at = moves.index(True)
    move, number = op.inputs[at].owner, op.inputs[1 - at]
    is_number = isinstance(number.owner, glow.SplatOp) and not shape_of(number)
    if not is_number or not op.inputs[at].has_one_use():
        return None
    assert isinstance(move, glow.ReshapeOp)
    operands = [number, number]
    operands[at] = move.input
    result = tensor_type(shape_of(move.input), element_type(op.results[0]))
    moved = builder.create(type(op), operands, attributes_of(op), types=[result])
    return builder.reshape(moved, shape_of(op.results[0]))


def below_softmax(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`reshape(softmax(x))` for `softmax(reshape(x))` of the same rows, where x's shape returns."""
    move, shape = op.inputs[0].owner, shape_of(op.inputs[0])
    if not isinstance(move, glow.ReshapeOp) or not op.inputs[0].has_one_use():
        return None
    back, before = op.results[0].get_user_of_unique_use(), shape_of(move.input)
    if not isinstance(back, glow.ReshapeOp) or shape_of(back.result) != before:
        return None
    axis = op.attributes_view().int("axis")
    if axis != len(shape) - 1 or before[-1:] != shape[-1:]:
        return None
    attributes = {**attributes_of(op), "axis": len(before) - 1}
    result = builder.create(type(op), [move.input], attributes)
    return builder.reshape(result, shape)


def _type_of(op: NodeOp) -> TensorType[Attribute]:
    return cast("TensorType[Attribute]", op.results[0].type)


def slice_first(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`f(slice(x))` for `slice(f(x))`, where nothing else reads f."""
    function = op.inputs[0].owner
    if not op.inputs[0].has_one_use() or shape_of(op.results[0]) == shape_of(
        op.inputs[0]
    ):
        return None
    if isinstance(function, glow.BatchNormOp):
        return _slice_of_norm(op, function, builder)
    if not isinstance(function, FUNCTIONS) or isinstance(
        function.operands[0].owner, PRODUCERS
    ):
        return None
    part = builder.node(glow.SliceOp, function.operands[0], **attributes_of(op))
    return retyped(builder, function, part)


def _slice_of_norm(
    op: NodeOp, norm: glow.BatchNormOp, builder: NodeBuilder
) -> SSAValue | None:
    view, shape = op.attributes_view(), shape_of(norm.input)
    if view.ints("sizes")[1] != shape[1] or view.ints("steps")[1] != 1:
        return None
    part = builder.node(glow.SliceOp, norm.input, **attributes_of(op))
    return builder.create(
        glow.BatchNormOp, [part, *norm.inputs[1:]], attributes_of(norm)
    )


def concat_first(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`f(concat(x, y))` for `concat(f(x), f(y))`, where no producer absorbs f."""
    functions = [value.owner for value in op.inputs]
    first = functions[0]
    if len(functions) < 2 or not isinstance(first, FUNCTIONS) or first.regions:
        return None
    attributes = attributes_of(first)
    source = element_type(first.operands[0])
    operands: list[SSAValue] = []
    for value, function in zip(op.inputs, functions, strict=True):
        if type(function) is not type(first) or not value.has_one_use():
            return None
        assert isinstance(function, NodeOp)
        x = function.operands[0]
        same = attributes_of(function) == attributes and element_type(x) == source
        if not same or isinstance(x.owner, PRODUCERS):
            return None
        operands.append(x)
    joined = builder.node(glow.ConcatOp, *operands, **attributes_of(op))
    return retyped(builder, first, joined)


def join_arithmetic(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`f(concat(x, y), concat(c, d))` for `concat(f(x, c), f(y, d))` with constants."""
    nodes = [value.owner for value in op.inputs if value.has_one_use()]
    first = nodes[0] if nodes else None
    alike = all(isinstance(n, glow.BinaryOp) and type(n) is type(first) for n in nodes)
    if not alike or not len(nodes) == len(op.inputs) > 1:
        return None
    pairs = [(n.operands[0], n.operands[1]) for n in nodes if isinstance(n, NodeOp)]
    axis = op.attributes_view().int("axis")
    if not all(_is_sliced(part, number, axis) for part, number in pairs):
        return None
    (part, number), *others = pairs
    source = part.owner.operands[0] if isinstance(part.owner, NodeOp) else None
    back = len(shape_of(part)) - axis
    for other, constant in others:
        same = isinstance(other.owner, NodeOp) and other.owner.operands[0] is source
        if not same or not _joins(number, constant, back):
            return None
    assert isinstance(first, NodeOp)
    joined = builder.node(glow.ConcatOp, *(part for part, _ in pairs), axis=axis)
    place = len(shape_of(number)) - back
    numbers = builder.node(glow.ConcatOp, *(number for _, number in pairs), axis=place)
    return builder.create(
        type(first), [joined, numbers], attributes_of(first), types=[_type_of(op)]
    )


def _is_sliced(part: SSAValue, constant: SSAValue, axis: int) -> bool:
    """Whether a node computes on a slice and a constant with an axis of its size."""
    back = len(shape_of(part)) - axis
    return (
        isinstance(part.owner, glow.SliceOp)
        and isinstance(constant.owner, glow.ConstantOp | glow.SplatOp)
        and len(shape_of(part)) >= len(shape_of(constant)) >= back
        and shape_of(constant)[-back] == shape_of(part)[axis]
    )


def _joins(one: SSAValue, other: SSAValue, back: int) -> bool:
    """Whether two constants of one element type differ along one axis (from the end)
    at most.
    """
    sizes, others = list(shape_of(one)), list(shape_of(other))
    if len(sizes) != len(others) or element_type(one) != element_type(other):
        return False
    sizes[-back] = others[-back]
    return sizes == others


def layer_of_all_axes(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A product of all of x's axes for a layer whose rows are x's first axes merged."""
    value, addend = op.inputs[0], None
    total = value.owner
    if isinstance(total, glow.AddOp) and value.has_one_use():
        value, addend = total.inputs
        if not isinstance(addend.owner, glow.ConstantOp) or len(shape_of(addend)) > 1:
            return None
    layer = value.owner
    if not isinstance(layer, glow.FullyConnectedOp) or not value.has_one_use():
        return None
    flat = layer.inputs[0].owner
    is_plain = not (layer.bias or layer.activation or layer.is_quantized)
    if not isinstance(flat, glow.ReshapeOp) or not is_plain:
        return None
    rows, size = shape_of(layer.inputs[0])
    shape = shape_of(op.results[0])
    ends = (at for at in range(1, len(shape)) if prod(shape[:at]) == rows)
    outer = shape[: next(ends, 0)]
    if len(outer) < 2:
        return None
    x = builder.reshape(flat.input, (*outer, size))
    result = builder.node(glow.MatmulOp, x, layer.inputs[1])
    if addend is not None:
        result = builder.node(glow.AddOp, result, addend)
    return builder.reshape(result, shape_of(op.results[0]))


class SinkReshapesPass(RewritePass):
    """Move reshapes, tiles, slices and concatenations out of the way of arithmetic."""

    name = "sink-reshapes"
    preserves = VALUES  # a product on other axes may be summed in another order
    rewrites = {
        **dict.fromkeys(FUNCTIONS, (below_function,)),
        **dict.fromkeys(glow.BINARY, (below_number,)),
        glow.SoftmaxOp: (below_softmax,),
        glow.BatchNormOp: (below_batch_norm,),
        glow.ReshapeOp: (merge, layer_of_all_axes),
        glow.SliceOp: (slice_first,),
        glow.ConcatOp: (concat_first, join_arithmetic),
    }
