"""Finds layer normalization and softmax in the nodes that exporters spell them with.

    %m = glow.reduce_mean %x axes [2] keepdims
    %c = glow.sub %x, %m
    %s = glow.mul %c, %c                        (or pow 2)
    %v = glow.reduce_mean %s axes [2] keepdims
    %d = glow.sqrt (%v + epsilon)
    %n = glow.div %c, %d
    %y = glow.add (glow.mul %n, %scale), %bias
  becomes
    %y = glow.layer_norm %x, %scale, %bias axis 2 epsilon ...

    (or %n = glow.mul %c, (glow.rsqrt %v + epsilon), maybe times %scale;
     torch-mlir computes %v in f64, of a converted %x;
     Flax as glow.relu (mean(x * x) - %m * %m))

    the same over axes [1, 2] of [N, H, W, C], or [1, 2, 4] of [N, H, W, G, C / G]
  becomes
    glow.layer_norm of %x as [N, G, C / G, H, W], axis 2, between transposes

    %e = glow.exp %x                            (or of x - max(x))
    %y = glow.div %e, (glow.reduce_sum %e axes [1] keepdims)
  becomes
    %y = glow.softmax %x axis 1

    %y = glow.sub %x, (glow.log (glow.reduce_sum (glow.exp %x) axes [1] keepdims))
  becomes
    %y = glow.log_softmax %x axis 1

Scales and shifts after a layer normalization multiply into its own (`fold-layer-norm`).
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of, tensor_type
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.matching import is_number, number_of
from glow.passes.rewriting.node_builder import NodeBuilder, element_type
from glow.passes.rewriting.patterns import RewritePass


def reduced(
    value: SSAValue, op_class: type[glow.ReduceOp]
) -> tuple[SSAValue, tuple[int, ...]] | None:
    """The operand and the axes of a reduction that keeps its axes, or loses the first ones."""
    owner = value.owner
    if not isinstance(owner, op_class):
        return None
    axes = owner.attributes_view().ints("axes")
    if owner.keepdims is None and list(axes) != list(range(len(axes))):
        return None
    return owner.input, axes


def _trailing_axis(x: SSAValue, axes: tuple[int, ...]) -> int | None:
    """The first of the axes, if they are the last ones."""
    rank = len(shape_of(x))
    return axes[0] if axes and axes == tuple(range(rank - len(axes), rank)) else None


def _is_square(value: SSAValue, x: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, glow.MulOp):
        return owner.operands[0] is x and owner.operands[1] is x
    return (
        isinstance(owner, glow.PowOp)
        and owner.operands[0] is x
        and is_number(owner.operands[1], 2.0)
    )


def normalized(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A layer normalization without scale for `(x - mean) / sqrt(variance + epsilon)`."""
    centred, deviation = op.inputs
    return _normalized(builder, centred, deviation, glow.SqrtOp)


def normalized_product(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The same for `(x - mean) * rsqrt(variance + epsilon)`, which may come times a scale."""
    for centred, factor in (op.inputs, op.inputs[::-1]):
        root, scale = _scaled_root(factor)
        found = _normalized(builder, centred, root, glow.RsqrtOp)
        if found is not None:
            return found if scale is None else builder.node(glow.MulOp, found, scale)
    return None


def _scaled_root(factor: SSAValue) -> tuple[SSAValue, SSAValue | None]:
    """A factor without the constant that it is multiplied by, and the constant."""
    owner = factor.owner
    if isinstance(owner, glow.MulOp):
        for root, scale in (owner.inputs, owner.inputs[::-1]):
            if isinstance(root.owner, glow.RsqrtOp) and _is_parameter(scale):
                return root, scale
    return factor, None


def _normalized(
    builder: NodeBuilder, centred: SSAValue, deviation: SSAValue, kind: type[NodeOp]
) -> SSAValue | None:
    difference, root = centred.owner, deviation.owner
    if not isinstance(difference, glow.SubOp) or not isinstance(root, kind):
        return None
    x = difference.operands[0]
    mean = reduced(difference.operands[1], glow.ReduceMeanOp)
    total = root.operands[0].owner
    if mean is None or mean[0] is not x or not isinstance(total, glow.AddOp):
        return None
    for variance, epsilon in (total.operands[:2], total.operands[1::-1]):
        number = number_of(epsilon)
        if number is not None and _is_variance(variance, centred, mean):
            axis = _trailing_axis(x, mean[1])
            if axis is not None:
                return _layer_norm(builder, x, axis, number)
            return _group_norm(builder, x, mean[1], number)
    return None


def _is_variance(
    value: SSAValue, centred: SSAValue, mean: tuple[SSAValue, tuple[int, ...]]
) -> bool:
    """Whether a value is mean((x - mean(x))^2), or mean(x^2) - mean(x)^2 that is not negative."""
    found = reduced(_wide(value), glow.ReduceMeanOp)
    if found is not None:
        return found[1] == mean[1] and _is_square_of_centred(found[0], centred, mean)
    subtraction = centred.owner
    assert isinstance(subtraction, glow.SubOp)
    subtrahend = subtraction.operands[1]
    positive = _unshaped(value).owner
    if not isinstance(positive, glow.ReluOp) or value.type != subtrahend.type:
        return False
    difference = _unshaped(positive.operands[0]).owner
    if not isinstance(difference, glow.SubOp):
        return False
    squares, subtracted = (_unshaped(one).owner for one in difference.inputs)
    return (
        isinstance(squares, glow.ReduceMeanOp)
        and squares.attributes_view().ints("axes") == mean[1]
        and _is_square(squares.input, mean[0])
        and isinstance(subtracted, glow.MulOp)
        and {_unshaped(one) for one in subtracted.inputs} == {_unshaped(subtrahend)}
    )


def _unshaped(value: SSAValue) -> SSAValue:
    """The value before reshapes: statistics lose the axes that they are over, and get them back."""
    while isinstance(owner := value.owner, glow.ReshapeOp):
        value = owner.input
    return value


def _wide(value: SSAValue) -> SSAValue:
    """A number of twice the width that a value was rounded from; else the value."""
    owner = value.owner
    if isinstance(owner, glow.ConvertOp) and _is_widened(value, owner.operands[0]):
        return owner.operands[0]
    return value


def _is_widened(narrow: SSAValue, wide: SSAValue) -> bool:
    return (element_type(narrow), element_type(wide)) == (f32, f64)


def _is_square_of_centred(
    value: SSAValue, centred: SSAValue, mean: tuple[SSAValue, tuple[int, ...]]
) -> bool:
    """Whether a value is the square of x - mean(x), maybe of an x that was widened."""
    if _is_square(value, centred):
        return True
    factor = value.owner.operands[0] if isinstance(value.owner, glow.MulOp) else None
    other = factor.owner if factor is not None else None
    if factor is None or not isinstance(other, glow.SubOp):
        return False
    wide, subtracted = other.operands
    converted = wide.owner
    return (
        _is_square(value, factor)
        and isinstance(converted, glow.ConvertOp)
        and converted.operands[0] is mean[0]
        and _is_widened(mean[0], wide)
        and reduced(subtracted, glow.ReduceMeanOp) == (wide, mean[1])
    )


def _layer_norm(
    builder: NodeBuilder, x: SSAValue, axis: int, epsilon: float
) -> SSAValue:
    ones = glow.SplatOp.from_number(
        1.0, tensor_type(shape_of(x)[axis:], element_type(x))
    )
    scale = builder.insert(ones).results[0]
    return builder.node(glow.LayerNormOp, x, scale, axis=axis, epsilon=epsilon)


def _group_norm(
    builder: NodeBuilder, x: SSAValue, axes: tuple[int, ...], epsilon: float
) -> SSAValue | None:
    """Channels that come last, normalized one by one or in groups, each over its plane."""
    shape = shape_of(x)
    batch, *plane = shape[: len(shape) - 1]
    channels, groups = shape[-1], shape[-1]
    if axes == (*range(1, len(shape) - 2), len(shape) - 1):
        groups, channels = plane.pop(), shape[-1] * shape[-2]
    elif axes != tuple(range(1, len(shape) - 1)):
        return None
    if not plane:
        return None
    source = x.owner.input if isinstance(x.owner, glow.ReshapeOp) else x
    flat = builder.reshape(source, [batch, *plane, channels])
    rank = len(plane) + 2
    moved = builder.transpose(flat, [0, rank - 1, *range(1, rank - 1)])
    grouped = builder.reshape(moved, [batch, groups, channels // groups, *plane])
    normal = _layer_norm(builder, grouped, 2, epsilon)
    back = builder.reshape(normal, [batch, channels, *plane])
    back = builder.transpose(back, [0, *range(2, rank), 1])
    return builder.reshape(back, shape)


def softmax(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A softmax for exponentials by their sum."""
    powers, total = op.inputs
    found = reduced(total, glow.ReduceSumOp)
    owner = powers.owner
    if found is None or found[0] is not powers or not isinstance(owner, glow.ExpOp):
        return None
    axes = found[1]
    if len(axes) != 1:
        return None
    x = _unshifted(owner.operands[0], axes)
    return builder.node(glow.SoftmaxOp, x, axis=axes[0])


def log_softmax(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A logarithm of a softmax for x minus the logarithm of the sum of exponentials of x."""
    x, subtracted = op.inputs
    logarithm = subtracted.owner
    if not isinstance(logarithm, glow.LogOp):
        return None
    found = reduced(logarithm.operands[0], glow.ReduceSumOp)
    if found is None or len(found[1]) != 1:
        return None
    power = found[0].owner
    if not isinstance(power, glow.ExpOp) or power.operands[0] is not x:
        return None
    axes = found[1]
    return builder.node(glow.LogSoftmaxOp, _unshifted(x, axes), axis=axes[0])


def _unshifted(value: SSAValue, axes: tuple[int, ...]) -> SSAValue:
    """x of `x - max(x)`, which has the same softmax; else the value."""
    owner = value.owner
    if isinstance(owner, glow.SubOp):
        largest = reduced(owner.operands[1], glow.ReduceMaxOp)
        if largest is not None and largest == (owner.operands[0], axes):
            return owner.operands[0]
    return value


def _normalization(value: SSAValue) -> glow.LayerNormOp | None:
    owner = value.owner
    if not value.has_one_use() or not isinstance(owner, glow.LayerNormOp):
        return None
    return owner


def _parameter(
    builder: NodeBuilder, value: SSAValue, norm: glow.LayerNormOp
) -> SSAValue | None:
    """A factor or addend as a value of the normalized shape; None if it has more axes."""
    wanted = cast("TensorType[Attribute]", norm.scale.type)
    shape = shape_of(value)
    while len(shape) > wanted.get_num_dims() and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > wanted.get_num_dims():
        return None
    value = builder.reshape(value, shape)
    if value.type == wanted:
        return value
    return builder.create(glow.BroadcastOp, [value], {}, types=[wanted])


def scaled(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A layer normalization's result times a vector: a part of its scale (and bias)."""
    return _folded(op, builder, glow.MulOp)


def shifted(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A layer normalization's result plus a vector: a part of its bias."""
    return _folded(op, builder, glow.AddOp)


def _folded(op: NodeOp, builder: NodeBuilder, kind: type[NodeOp]) -> SSAValue | None:
    for value, other in (op.inputs, op.inputs[::-1]):
        norm = _normalization(value)
        if norm is None or value.type != op.results[0].type or not _is_parameter(other):
            continue
        parameter = _parameter(builder, other, norm)
        if parameter is None:
            continue
        scale, bias = norm.scale, norm.bias
        if kind is glow.MulOp:
            scale = builder.node(glow.MulOp, scale, parameter)
            bias = None if bias is None else builder.node(glow.MulOp, bias, parameter)
        else:
            bias = (
                parameter if bias is None else builder.node(glow.AddOp, bias, parameter)
            )
        operands = [norm.input, scale, *([] if bias is None else [bias])]
        view = norm.attributes_view()
        return builder.node(
            glow.LayerNormOp,
            *operands,
            axis=view.int("axis"),
            epsilon=view.float("epsilon"),
        )
    return None


def _is_parameter(value: SSAValue) -> bool:
    """Whether a value is a constant, so that folding it costs nothing at run time."""
    return isinstance(value.owner, Operation) and isinstance(
        value.owner, glow.ConstantOp | glow.SplatOp
    )


class RecognizeNormalizationsPass(RewritePass):
    """Find layer normalization, softmax and its logarithm in their parts."""

    name = "recognize-normalizations"
    preserves = VALUES
    rewrites = {
        glow.DivOp: (normalized, softmax),
        glow.MulOp: (normalized_product, scaled),
        glow.SubOp: (log_softmax,),
        glow.AddOp: (shifted,),
    }
