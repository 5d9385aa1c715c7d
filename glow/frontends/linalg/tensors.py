"""Operations that move elements, constants, and named element-wise operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    TensorType,
    i1,
)
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from glow.dialects import arith, glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import dense_to_numpy
from glow.frontends.linalg.linalg_builder import Handlers, LinalgBuilder

NODES: Mapping[str, type[NodeOp]] = {
    "abs": glow.AbsOp,
    "add": glow.AddOp,
    "ceil": glow.CeilOp,
    "div": glow.DivOp,
    "erf": glow.ErfOp,
    "exp": glow.ExpOp,
    "floor": glow.FloorOp,
    "log": glow.LogOp,
    "max": glow.MaxOp,
    "min": glow.MinOp,
    "mul": glow.MulOp,
    "negf": glow.NegOp,
    "powf": glow.PowOp,
    "rsqrt": glow.RsqrtOp,
    "select": glow.SelectOp,
    "sqrt": glow.SqrtOp,
    "sub": glow.SubOp,
    "tanh": glow.TanhOp,
}


def named(builder: LinalgBuilder) -> SSAValue:
    """A node with the operation's operands."""
    return builder.node(NODES[builder.op.name.partition(".")[2]], *builder.ins)


def square(builder: LinalgBuilder) -> SSAValue:
    """`x * x`."""
    return builder.node(glow.MulOp, builder.ins[0], builder.ins[0])


def reciprocal(builder: LinalgBuilder) -> SSAValue:
    """1 / x."""
    (value,) = builder.ins
    return builder.node(glow.DivOp, builder.number(1, value), value)


def copy(builder: LinalgBuilder) -> SSAValue:
    """The operand."""
    return builder.convert(builder.ins[0], builder.result.element_type)


def softmax(builder: LinalgBuilder) -> SSAValue:
    """Softmax along a dimension."""
    axis = builder.op.integer("dimension")
    return builder.node(glow.SoftmaxOp, builder.ins[0], axis=axis)


def fill(builder: LinalgBuilder) -> SSAValue:
    """One number everywhere."""
    number, result = builder.scalar(builder.ins[0]), builder.result
    return _filled(builder, number, result)


def _filled(builder: LinalgBuilder, number: float, result: TensorType) -> SSAValue:
    dtype = dtype_of(result.element_type)
    if result.element_type == i1:
        return builder.put(np.full(result.get_shape(), bool(number)))
    array = np.broadcast_to(np.array(number, dtype), result.get_shape())
    return builder.put(array)


def transpose(builder: LinalgBuilder) -> SSAValue:
    """The axes in another order."""
    return builder.transpose(builder.ins[0], builder.op.integers("permutation"))


def broadcast(builder: LinalgBuilder) -> SSAValue:
    """Repeated along added dimensions."""
    (value,), shape = builder.ins, builder.result.get_shape()
    added = builder.op.integers("dimensions", ())
    sizes = [1 if at in added else size for at, size in enumerate(shape)]
    return builder.spread(builder.reshape(value, sizes), shape)


def constant(builder: LinalgBuilder) -> SSAValue:
    """A constant, in the weight table if it is not small."""
    op = builder.anchor
    assert isinstance(op, arith.ConstantOp)
    if isinstance(op.value, DenseResourceAttr):
        key = op.value.resource_handle.data
        raise GlowError(f"the resource '{key}' is missing from the text")
    if not isa(op.value, DenseIntOrFPElementsAttr):
        raise GlowError("a constant that is no dense tensor")
    array = dense_to_numpy(op.value)
    is_splat = bool(op.value.data.data) and op.value.is_splat()
    if is_splat and array.dtype != np.bool_ and array.size > 1:
        array = np.broadcast_to(array.flat[0], array.shape)
    return builder.put(array, op.result.name_hint or "constant")


def reshape(builder: LinalgBuilder) -> SSAValue:
    """The elements in order under another shape."""
    return builder.reshape(builder.anchor.operands[0], builder.result.get_shape())


def cast(builder: LinalgBuilder) -> SSAValue:
    """The same sizes, more or less of them known."""
    (value,) = builder.anchor.operands
    if value.type != builder.result:
        raise GlowError(f"a cast of {value.type} to {builder.result}")
    return value


def concatenate(builder: LinalgBuilder) -> SSAValue:
    """The operands one behind the other along an axis."""
    op, operands = builder.anchor, list(builder.anchor.operands)
    assert isinstance(op, tensor.ConcatOp)
    if len(operands) == 1:
        return operands[0]
    return builder.node(glow.ConcatOp, *operands, axis=op.dim.value.data)


def splat(builder: LinalgBuilder) -> SSAValue:
    """One number everywhere."""
    number = builder.scalar(builder.anchor.operands[0])
    return _filled(builder, number, builder.result)


def from_elements(builder: LinalgBuilder) -> SSAValue:
    """Numbers that are known."""
    numbers = [builder.scalar(one) for one in builder.anchor.operands]
    result = builder.result
    array = np.array(numbers, dtype_of(result.element_type))
    return builder.put(array.reshape(result.get_shape()))


def static(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> list[list[int]]:
    """Offsets, sizes and strides; GlowError where one is computed."""
    found: list[list[int]] = []
    for values in (op.static_offsets, op.static_sizes, op.static_strides):
        numbers = [int(one) for one in values.get_values()]
        if any(number < -(1 << 62) for number in numbers):
            raise GlowError("a slice at computed places")
        found.append(numbers)
    return found


def extract_slice(builder: LinalgBuilder) -> SSAValue:
    """Every stride-th element from the offsets on; axes of size 1 may be dropped."""
    op = builder.anchor
    assert isinstance(op, tensor.ExtractSliceOp)
    if op.offsets:
        row = builder.node(glow.DynamicSliceOp, op.source, *_row(op, op.source))
        return builder.reshape(row, builder.result.get_shape())
    starts, sizes, steps = static(op)
    value = builder.slice(op.source, starts, sizes, steps)
    return builder.reshape(value, builder.result.get_shape())


def _row(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, table: SSAValue
) -> Sequence[SSAValue]:
    """The index of the one row that a slice is; GlowError for other computed slices."""
    starts, sizes, steps = (
        [int(one) for one in values.get_values()]
        for values in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    is_row = sizes == [1, *shape_of(table)[1:]] and set(steps) <= {1}
    if len(op.offsets) != 1 or any(starts[1:]) or not is_row:
        raise GlowError("a slice at computed places")
    return op.offsets


def is_continued(op: Operation) -> bool:
    """Whether an insertion is only what the next one inserts into, which reads both."""
    use = op.results[0].get_user_of_unique_use() if op.results else None
    return (
        isinstance(op, tensor.InsertSliceOp)
        and isinstance(use, tensor.InsertSliceOp)
        and use.dest is op.result
        and not (op.offsets or use.offsets)
    )


def _joined(builder: LinalgBuilder, op: tensor.InsertSliceOp) -> SSAValue | None:
    """The sources, if they lie one behind the other and fill the result."""
    chain = [op]
    while isinstance(before := chain[-1].dest.owner, tensor.InsertSliceOp):
        chain.append(before)
    shape, places = builder.result.get_shape(), [static(one) for one in chain[::-1]]
    first = places[0][1]
    axes = [axis for axis, size in enumerate(shape) if first[axis] != size] or [0]
    ends, (axis, *others) = 0, axes
    for starts, sizes, steps in places:
        rest = [size for at, size in enumerate(sizes) if at != axis]
        full = [size for at, size in enumerate(shape) if at != axis]
        is_next = starts[axis] == ends and not any(starts[:axis] + starts[axis + 1 :])
        if others or rest != full or not is_next or set(steps) - {1}:
            return None
        ends += sizes[axis]
    if ends != shape[axis]:
        return None
    parts = [
        builder.reshape(one.source, sizes)
        for one, (_, sizes, _) in zip(chain[::-1], places, strict=True)
    ]
    return (
        parts[0] if len(parts) == 1 else builder.node(glow.ConcatOp, *parts, axis=axis)
    )


def insert_slice(builder: LinalgBuilder) -> SSAValue:
    """The destination with the source at its place: chosen by where that is."""
    op = builder.anchor
    assert isinstance(op, tensor.InsertSliceOp)
    if op.offsets:
        row = builder.reshape(op.source, shape_of(op.dest)[1:])
        return builder.node(glow.DynamicUpdateOp, op.dest, row, *_row(op, op.dest))
    joined = _joined(builder, op)
    if joined is not None:
        return joined
    starts, sizes, steps = static(op)
    shape = builder.result.get_shape()
    value = builder.reshape(op.source, sizes)
    value = builder.dilate(value, [step - 1 for step in steps])
    ends = [
        full - start - size
        for full, start, size in zip(shape, starts, shape_of(value), strict=True)
    ]
    value = builder.pad(value, starts, ends)
    is_full = list(sizes) == list(shape)
    if isinstance(op.dest.owner, tensor.EmptyOp) or is_full:
        return value
    known = builder.known(op.dest)
    if known is not None and not known.any():
        return value
    mask = np.zeros(shape, np.bool_)
    places = zip(starts, sizes, steps, strict=True)
    mask[tuple(slice(at, at + n * step, step) for at, n, step in places)] = True
    return builder.node(glow.SelectOp, builder.put(mask), value, op.dest)


def pad(builder: LinalgBuilder) -> SSAValue:
    """A border of one number, which the body yields."""
    op = builder.anchor
    assert isinstance(op, tensor.PadOp)
    low, high = (
        [int(one) for one in values.get_values()]
        for values in (op.static_low, op.static_high)
    )
    if any(number < -(1 << 62) for number in (*low, *high)):
        raise GlowError("a border of computed sizes")
    last = op.region.block.last_op
    if last is None or len(last.operands) != 1:
        raise GlowError("a border of computed numbers")
    number = builder.scalar(last.operands[0])
    return builder.pad(op.source, low, high, number)


HANDLERS: Handlers = {
    **{f"linalg.{name}": named for name in NODES},
    "arith.constant": constant,
    "linalg.broadcast": broadcast,
    "linalg.copy": copy,
    "linalg.fill": fill,
    "linalg.reciprocal": reciprocal,
    "linalg.softmax": softmax,
    "linalg.square": square,
    "linalg.transpose": transpose,
    "tensor.cast": cast,
    "tensor.collapse_shape": reshape,
    "tensor.concat": concatenate,
    "tensor.expand_shape": reshape,
    "tensor.extract_slice": extract_slice,
    "tensor.from_elements": from_elements,
    "tensor.insert_slice": insert_slice,
    "tensor.pad": pad,
    "tensor.reshape": reshape,
    "tensor.splat": splat,
}
