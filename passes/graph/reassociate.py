"""Gathers constants along chains of scales and shifts, and puts scales into weights.

| before                           | after                                          |
|----------------------------------|------------------------------------------------|
| `(x * a) * b`                    | `x * (a * b)`                                  |
| `(x + a) + b`, `(x - a) + b`     | `x + (a + b)`, `x + (b - a)`                   |
| `layer(x * a)`, constant weights | `layer'(x)`: a multiplies the weights' inputs  |
| `layer(x + a)`, fully connected  | `layer'(x)`: a times the weights joins the bias|
| `conv_transpose(x) + a`          | with the bias a, and so for `conv3d`           |

What follows a layer is `fold-batch-norm`'s. Constants are only combined where their
product or sum is no larger than they are.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of, shape_of
from glow.dialects.weight_table import Array, dtype_of
from glow.dialects.weights import constant_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.patterns import RewritePass

MAX_WEIGHTS = 1 << 24
"""Elements of weights that are worth scaling at compile time."""


def constant_beside(op: NodeOp) -> tuple[SSAValue, Array] | None:
    """x and c of `x op c` with a float constant c that does not widen x."""
    for index in (1, 0):
        x, constant = op.inputs[1 - index], op.inputs[index]
        array = constant_value(constant)
        if array is None or x.type != op.results[0].type:
            continue
        if array.dtype.kind != "f" or constant_value(x) is not None:
            continue
        return x, array
    return None


def merge_scales(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`x * (a * b)` for `(x * a) * b`."""
    return _merged(op, builder, glow.MulOp, np.multiply)


def merge_shifts(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`x + (a + b)` for `(x + a) + b`."""
    return _merged(op, builder, glow.AddOp, np.add)


def _merged(
    op: NodeOp, builder: NodeBuilder, kind: type[NodeOp], combine: np.ufunc
) -> SSAValue | None:
    outer = constant_beside(op)
    inner = outer[0].owner if outer is not None else None
    if outer is None or not isinstance(inner, kind) or not outer[0].has_one_use():
        return None
    found = constant_beside(inner)
    if found is None:
        return None
    x, first = found
    total = _combined(combine, first, outer[1])
    if total is None:
        return None
    return builder.node(
        kind, x, builder.constant(total, f"{name_of(op.results[0])}.constant")
    )


def _combined(combine: np.ufunc, one: Array, other: Array) -> Array | None:
    """The combination, in the constants' type; None where it is larger or overflows."""
    shape = np.broadcast_shapes(one.shape, other.shape)
    if int(np.prod(shape)) > max(one.size, other.size):
        return None
    with np.errstate(all="ignore"):
        total = combine(one.astype(np.float64), other.astype(np.float64)).astype(
            one.dtype
        )
    return total if np.all(np.isfinite(total)) else None


def difference(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """`x + (-c)` for `x - c`, the form in which shifts are gathered."""
    x, constant = op.inputs
    array = constant_value(constant)
    if array is None or array.dtype.kind != "f" or x.type != op.results[0].type:
        return None
    if not _is_link(x) and not _is_link(op.results[0].get_user_of_unique_use()):
        return None
    return builder.node(
        glow.AddOp,
        x,
        builder.constant(np.negative(array), f"{name_of(constant)}.negated"),
    )


def _is_link(value: object) -> bool:
    """Whether a value comes from a sum (or a user is one)."""
    owner = value.owner if isinstance(value, SSAValue) else value
    return isinstance(owner, glow.AddOp) and constant_beside(owner) is not None


def scale_into_layer(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A layer with scaled weights for a layer of a scaled input."""
    scale = op.inputs[0].owner
    weights = _constant_weights(op)
    if not isinstance(scale, glow.MulOp) or weights is None:
        return None
    found = constant_beside(scale)
    if found is None or not scale.results[0].has_one_use():
        return None
    factor = _input_factor(op, found[1])
    if factor is None:
        return None
    scaled = np.multiply(weights, factor.astype(np.float64)).astype(weights.dtype)
    value = builder.constant(scaled, f"{name_of(op.inputs[1])}.scaled")
    return builder.create(
        type(op), [found[0], value, *op.inputs[2:]], attributes_of(op)
    )


def _constant_weights(op: NodeOp) -> Array | None:
    weights = constant_value(op.inputs[1])
    if weights is None or weights.size > MAX_WEIGHTS or weights.dtype.kind != "f":
        return None
    plain = not isinstance(op, glow.MatmulOp) or (
        weights.ndim == 2 and op.transpose_lhs is None and op.transpose_rhs is None
    )
    return weights if plain else None


def _input_factor(op: NodeOp, array: Array) -> Array | None:
    """The factor as it multiplies weights; None where it differs along another axis."""
    rank = len(shape_of(op.inputs[0]))
    if array.size == 1:
        return array.reshape(())
    channel = 1 if isinstance(op, glow.Conv2dOp) else rank - 1
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != channel):
        return None
    if not isinstance(op, glow.Conv2dOp):
        return array.reshape(-1, 1)
    if op.attributes_view().int("group") != 1:
        return None
    return array.reshape(1, -1, 1, 1)


def shift_into_layer(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A fully connected layer with another bias for a layer of a shifted input."""
    assert isinstance(op, glow.FullyConnectedOp)
    shift, weights = op.input.owner, _constant_weights(op)
    if not isinstance(shift, glow.AddOp) or weights is None:
        return None
    found = constant_beside(shift)
    bias = None if op.bias is None else constant_value(op.bias)
    if found is None or (op.bias is not None and bias is None):
        return None
    factor = _input_factor(op, found[1])
    if factor is None or not shift.results[0].has_one_use():
        return None
    row = np.broadcast_to(factor.reshape(-1), weights.shape[:1]).astype(np.float64)
    total = row @ weights.astype(np.float64)
    if bias is not None:
        total = np.add(total, bias.astype(np.float64))
    rounded = total.astype(dtype_of(element_of(op.results[0])))
    value = builder.constant(rounded, f"{name_of(op.weights)}.bias")
    return builder.create(type(op), [found[0], op.weights, value], attributes_of(op))


def shift_into_bias(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A convolution with another bias for one whose channels are shifted afterwards.

    `fold-batch-norm` does so for plain convolutions.
    """
    found = constant_beside(op)
    conv = found[0].owner if found is not None else None
    if found is None or not isinstance(conv, SPATIAL) or not found[0].has_one_use():
        return None
    shape, array = shape_of(found[0]), found[1]
    full = (1,) * (len(shape) - array.ndim) + array.shape
    old = None if conv.bias is None else constant_value(conv.bias)
    is_vector = all(size == 1 for axis, size in enumerate(full) if axis != 1)
    if not is_vector or (conv.bias is not None and old is None):
        return None
    total = np.broadcast_to(array.reshape(-1), shape[1:2]).astype(np.float64)
    if old is not None:
        total = np.add(total, old.astype(np.float64))
    bias = builder.constant(total.astype(array.dtype), f"{name_of(conv.weights)}.bias")
    return builder.create(
        type(conv), [conv.input, conv.weights, bias], attributes_of(conv)
    )


SPATIAL = (glow.Conv3dOp, glow.ConvTransposeOp)


class ReassociatePass(RewritePass):
    """Gather constants along chains, and fold scales into the layers after them."""

    name = "reassociate"
    preserves = VALUES
    rewrites = {
        glow.MulOp: (merge_scales,),
        glow.AddOp: (merge_shifts, shift_into_bias),
        glow.SubOp: (difference,),
        glow.Conv2dOp: (scale_into_layer,),
        glow.MatmulOp: (scale_into_layer,),
        glow.FullyConnectedOp: (scale_into_layer, shift_into_layer),
    }
