"""Operations that move elements, reductions along an axis, and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp, element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import dense_to_numpy
from glow.frontends.tosa.quantized import as_quantized, element, quantized_node
from glow.frontends.tosa.tosa_builder import Handlers, TosaBuilder
from glow.passes.quantization.integer.fold_storage_casts import behind


def constant(builder: TosaBuilder) -> SSAValue:
    """A constant, in the weight table if it is not small."""
    value = builder.op.properties.get("values")
    if isinstance(value, DenseResourceAttr):
        key = value.resource_handle.data
        raise GlowError(f"the resource '{key}' is missing from the text")
    if not isa(value, DenseIntOrFPElementsAttr):
        raise GlowError("a constant that is no dense tensor")
    array = dense_to_numpy(value)
    is_splat = bool(value.data.data) and value.is_splat()
    if is_splat and array.dtype != np.bool_ and array.size > 1:
        array = np.broadcast_to(array.flat[0], array.shape)
    return builder.put(array, builder.op.results[0].name_hint or "constant")


def reshape(builder: TosaBuilder) -> SSAValue:
    """The elements in order under another shape."""
    value, shape = builder.op.operands[0], builder.result.get_shape()
    return _strided(builder, value, shape) or builder.reshape(value, shape)


def _strided(
    builder: TosaBuilder, value: SSAValue, shape: Sequence[int]
) -> SSAValue | None:
    """One place of groups along an axis: a slice with steps, which TOSA has not."""
    part = value.owner
    if not isinstance(part, glow.SliceOp) or not isinstance(
        part.input.owner, glow.ReshapeOp
    ):
        return None
    whole, groups = part.input.owner.input, shape_of(part.input)
    view, sizes = part.attributes_view(), shape_of(whole)
    taken, starts = view.ints("sizes"), view.ints("starts")
    cut = [at for at, size in enumerate(groups) if taken[at] != size]
    if len(cut) != 1 or cut[0] == 0 or taken[cut[0]] != 1:
        return None
    (at,) = cut
    step, joined = groups[at], groups[at - 1] * groups[at]
    if tuple(sizes) != (*groups[: at - 1], joined, *groups[at + 1 :]):
        return None
    if tuple(shape) != (*groups[:at], *groups[at + 1 :]):
        return None
    first, steps = [0] * len(sizes), [1] * len(sizes)
    first[at - 1], steps[at - 1] = starts[at], step
    return builder.slice(whole, first, shape, steps)


def transpose(builder: TosaBuilder) -> SSAValue:
    """The axes in another order."""
    return builder.transpose(builder.op.operands[0], builder.op.integers("perms"))


def reverse(builder: TosaBuilder) -> SSAValue:
    """One axis backwards."""
    (value,) = builder.op.operands
    axis, shape = builder.op.integer("axis"), shape_of(value)
    starts = [size - 1 if at == axis else 0 for at, size in enumerate(shape)]
    steps = [-1 if at == axis else 1 for at in range(len(shape))]
    return builder.slice(value, starts, shape, steps)


def take_slice(builder: TosaBuilder) -> SSAValue:
    """From starts on, so many elements."""
    value, starts, sizes = builder.op.operands
    first, count = builder.sizes(starts), builder.sizes(sizes)
    return builder.slice(value, first, count, [1] * len(first))


def concatenate(builder: TosaBuilder) -> SSAValue:
    """The operands one behind the other along an axis."""
    axis, operands = builder.op.integer("axis"), list(builder.op.operands)
    if len(operands) == 1:
        return operands[0]
    return builder.node(glow.ConcatOp, *operands, axis=axis)


def pad(builder: TosaBuilder) -> SSAValue:
    """A border; the shape has a pair for each axis."""
    value, pads, *filling = builder.op.operands
    number = builder.known_number(filling[0], "the padding") if filling else 0.0
    pairs = np.array(builder.sizes(pads)).reshape(-1, 2)
    return builder.pad(value, pairs[:, 0].tolist(), pairs[:, 1].tolist(), number)


def tile(builder: TosaBuilder) -> SSAValue:
    """Repeated so many times along each axis."""
    value, counts = builder.op.operands
    repeats = builder.sizes(counts)
    if set(repeats) <= {1}:
        return value
    return builder.node(glow.TileOp, value, repeats=repeats)


def gather(builder: TosaBuilder) -> SSAValue:
    """[N, K, C] at [N, W]: rows of each batch."""
    values, indices = builder.op.operands
    (batch, rows, channels), (_, count) = shape_of(values), shape_of(indices)
    flat = builder.reshape(values, [batch * rows, channels])
    if batch > 1:
        offsets = np.arange(batch, dtype=np.int32).reshape(-1, 1) * rows
        known = builder.put(offsets.astype(dtype_of(element_of(indices))))
        indices = builder.node(glow.AddOp, indices, known)
    places = builder.reshape(indices, [batch * count])
    taken = builder.node(glow.GatherOp, flat, places, axis=0)
    return builder.reshape(taken, [batch, count, channels])


def scatter(builder: TosaBuilder) -> SSAValue:
    """[N, K, C] with the rows at [N, W] replaced by [N, W, C]."""
    values, indices, updates = builder.op.operands
    (batch, rows, channels), (_, count) = shape_of(values), shape_of(indices)
    numbers = builder.convert(indices, i32)
    offsets = np.arange(batch, dtype=np.int32).reshape(-1, 1) * rows
    places = builder.node(glow.AddOp, numbers, builder.put(offsets))
    result = builder.node(
        glow.ScatterOp,
        builder.reshape(values, [batch * rows, channels]),
        builder.reshape(places, [batch * count, 1]),
        builder.reshape(updates, [batch * count, channels]),
        coordinates=[-1, 1],
    )
    return builder.reshape(result, [batch, rows, channels])


def table(builder: TosaBuilder) -> SSAValue:
    """Any function of a byte: entry `x + 128` of 256."""
    value, entries = builder.op.operands
    if dtype_of(element_of(value)) != np.int8:
        raise GlowError(f"a table for {element_of(value)} is not supported")
    kind = element(value, 0)
    target, source = tensor_type(shape_of(value), kind), behind(value)
    source = source or as_quantized(builder, value, kind)
    return quantized_node(builder, glow.LookupTableOp, [source, entries], target)


REDUCTIONS: Mapping[str, type[NodeOp]] = {
    "reduce_max": glow.ReduceMaxOp,
    "reduce_min": glow.ReduceMinOp,
    "reduce_product": glow.ReduceProdOp,
    "reduce_sum": glow.ReduceSumOp,
}

OF_TRUTH: Mapping[str, type[NodeOp]] = {
    "reduce_all": glow.ReduceMinOp,
    "reduce_any": glow.ReduceMaxOp,
}


def reduce(builder: TosaBuilder) -> SSAValue:
    """A reduction along an axis, which stays; sums of sums are one."""
    builder.propagate_nan()
    name = builder.op.name.partition(".")[2]
    (value,) = builder.op.operands
    axes = [builder.op.integer("axis")]
    if name in OF_TRUTH:
        numbers = builder.convert(value, i32)
        found = builder.node(OF_TRUTH[name], numbers, axes=axes, keepdims=True)
        return builder.convert(found, i1)
    node = REDUCTIONS[name]
    before = value.owner
    if isinstance(before, glow.ReduceOp) and type(before) is node and before.keepdims:
        value = before.input
        axes = sorted({*axes, *before.attributes_view().ints("axes")})
    return builder.node(node, value, axes=axes, keepdims=True)


def arg_max(builder: TosaBuilder) -> SSAValue:
    """Where the first largest element of an axis is."""
    builder.propagate_nan()
    (value,) = builder.op.operands
    place = builder.node(glow.ArgMaxOp, value, axis=builder.op.integer("axis"))
    return builder.convert(place, builder.result.element_type)


HANDLERS: Handlers = {
    **dict.fromkeys((*REDUCTIONS, *OF_TRUTH), reduce),
    "argmax": arg_max,
    "concat": concatenate,
    "const": constant,
    "gather": gather,
    "pad": pad,
    "reshape": reshape,
    "reverse": reverse,
    "scatter": scatter,
    "slice": take_slice,
    "table": table,
    "tile": tile,
    "transpose": transpose,
}
