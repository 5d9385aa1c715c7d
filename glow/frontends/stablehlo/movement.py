"""Operations that move elements, and constants."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, shape_of, tensor_type
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import dense_to_numpy
from glow.frontends.stablehlo.hlo_builder import BUDGET, Handlers, HloBuilder


def constant(builder: HloBuilder) -> SSAValue:
    """A constant, in the weight table if it is not small."""
    value = builder.op.properties.get("value")
    if isinstance(value, DenseResourceAttr):
        key = value.resource_handle.data
        raise GlowError(f"the resource '{key}' is missing from the text")
    if not isa(value, DenseIntOrFPElementsAttr):
        raise GlowError("a constant that is no dense tensor")
    name = builder.op.results[0].name_hint or "constant"
    is_splat = bool(value.data.data) and value.is_splat()
    if is_splat and value.get_element_type() != builder.result.element_type:
        raise GlowError("the elements of a constant have another type than it says")
    array = dense_to_numpy(value)
    if is_splat and array.dtype != np.bool_ and array.size > 1:
        array = np.broadcast_to(array.flat[0], array.shape)
    return builder.put(array, name)


def iota(builder: HloBuilder) -> SSAValue:
    """The position along an axis, a constant."""
    result = builder.result
    shape, axis = result.get_shape(), builder.op.integer("iota_dimension")
    count = np.arange(shape[axis]).astype(dtype_of(result.element_type))
    line = count.reshape([-1 if at == axis else 1 for at in range(len(shape))])
    check_budget(shape)
    return builder.put(np.ascontiguousarray(np.broadcast_to(line, shape)), "iota")


def dynamic_iota(builder: HloBuilder) -> SSAValue:
    """The same, where the size that is an operand is known."""
    (size,) = builder.op.operands
    known = builder.known(size)
    if known is None or known.tolist() != [*builder.result.get_shape()]:
        raise GlowError("the size is computed")
    return iota(builder)


def check_budget(shape: tuple[int, ...]) -> None:
    """Raise GlowError for a constant that is too large to be made here."""
    if np.prod(shape, dtype=float) > BUDGET:
        raise GlowError(f"a computed constant of {list(shape)} is too large")


def broadcast_in_dim(builder: HloBuilder) -> SSAValue:
    """The operand's axes at `broadcast_dimensions` of the result, repeated where they are 1."""
    (value,) = builder.op.operands
    return spread(builder, value, builder.op.integers("broadcast_dimensions"))


def spread(builder: HloBuilder, value: SSAValue, places: list[int]) -> SSAValue:
    """The value with its axes at these places of the operation's result."""
    result = builder.result
    shape = result.get_shape()
    array = builder.known(value)
    if array is not None and array.size == 1 and array.dtype != np.bool_:
        number = np.broadcast_to(array.reshape(()), shape)
        return builder.put(number)
    order = sorted(range(len(places)), key=places.__getitem__)
    value = builder.transpose(value, order)
    sizes = [1] * len(shape)
    for place, size in zip(sorted(places), shape_of(value), strict=True):
        sizes[place] = size
    if sizes == list(shape):
        return builder.reshape(value, sizes)
    # Axes in front come by themselves; a constant's have the size 1 from another broadcast.
    first = min(places, default=len(shape))
    if array is not None:
        first = next((at for at, size in enumerate(sizes) if size != 1), len(shape))
    value = builder.reshape(value, sizes[first:])
    wanted = tensor_type(shape, element_of(value))
    return builder.create(glow.BroadcastOp, [value], {}, types=[wanted])


def reshape(builder: HloBuilder) -> SSAValue:
    """The elements in order under another shape."""
    (value,) = builder.op.operands
    if prod(shape_of(value)) != prod(builder.result.get_shape()):
        raise GlowError(f"{value.type} and {builder.result} differ in size")
    array = builder.known(value)
    if array is not None and array.size == 1 and array.dtype != np.bool_:
        return builder.put(array.reshape(builder.result.get_shape()))
    return builder.reshape(value, builder.result.get_shape())


def transpose(builder: HloBuilder) -> SSAValue:
    """The axes in another order."""
    (value,) = builder.op.operands
    return builder.transpose(value, builder.op.integers("permutation"))


def reverse(builder: HloBuilder) -> SSAValue:
    """Some axes backwards."""
    (value,) = builder.op.operands
    axes, shape = builder.op.integers("dimensions"), shape_of(value)
    starts = [size - 1 if at in axes else 0 for at, size in enumerate(shape)]
    steps = [-1 if at in axes else 1 for at in range(len(shape))]
    return builder.slice(value, starts, shape, steps)


def slice_static(builder: HloBuilder) -> SSAValue:
    """From starts up to limits, by strides."""
    (value,) = builder.op.operands
    starts, steps = (
        builder.op.integers("start_indices"),
        builder.op.integers("strides", ()),
    )
    sizes = builder.result.get_shape()
    return builder.slice(value, starts, sizes, steps or [1] * len(starts))


def concatenate(builder: HloBuilder) -> SSAValue:
    """The operands one behind the other along an axis."""
    axis = builder.op.integer("dimension")
    operands = list(builder.op.operands)
    if len(operands) == 1:
        return operands[0]
    return builder.node(glow.ConcatOp, *operands, axis=axis)


def pad(builder: HloBuilder) -> SSAValue:
    """A border, negative where it crops, and a distance between elements."""
    value, filling = builder.op.operands
    number = builder.known_number(filling, "the padding")
    op = builder.op
    value = builder.dilate(value, op.integers("interior_padding", ()), number)
    low, high = op.integers("edge_padding_low"), op.integers("edge_padding_high")
    return builder.pad(value, low, high, number)


HANDLERS: Handlers = {
    "chlo.constant": constant,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.concatenate": concatenate,
    "stablehlo.constant": constant,
    "stablehlo.dynamic_iota": dynamic_iota,
    "stablehlo.iota": iota,
    "stablehlo.pad": pad,
    "stablehlo.reshape": reshape,
    "stablehlo.reverse": reverse,
    "stablehlo.slice": slice_static,
    "stablehlo.transpose": transpose,
}
