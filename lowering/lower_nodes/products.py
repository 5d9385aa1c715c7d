"""Matrix products, grouped and pointwise convolutions as plain products."""

from __future__ import annotations

from collections.abc import Sequence

from numpy import ndindex
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, shape_of
from glow.passes.rewriting.absorbed_activation import (
    activation_attributes,
    activation_class,
    attributes_without_activation,
)
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, element_type


def scaled(builder: NodeBuilder, value: SSAValue, factor: float) -> SSAValue:
    """The value times a number; itself where that is 1."""
    if factor == 1.0:
        return value
    number = builder.splat(factor, element_type(value))
    return builder.node(glow.MulOp, value, number)


def gemm(op: Operation) -> None:
    """alpha * A x B + beta * C as matmul, mul and add."""
    assert isinstance(op, glow.GemmOp)
    builder, attributes = NodeBuilder(op), op.attributes_view()
    product = builder.node(
        glow.MatmulOp,
        op.lhs,
        op.rhs,
        transpose_lhs=attributes.has("transpose_lhs"),
        transpose_rhs=attributes.has("transpose_rhs"),
    )
    result = scaled(builder, product, attributes.float("alpha"))
    if op.addend is not None:
        addend = scaled(builder, op.addend, attributes.float("beta"))
        result = builder.node(glow.AddOp, result, addend)
    builder.replace(result)


def activated(builder: NodeBuilder, op: NodeOp, value: SSAValue) -> SSAValue:
    """The value under the activation that `op` absorbed, as a node of its own."""
    activation = activation_class(op)
    if activation is None:
        return value
    return builder.create(activation, [value], activation_attributes(op))


def fully_connected(op: Operation) -> None:
    """input x weights + bias."""
    assert isinstance(op, glow.FullyConnectedOp)
    builder = NodeBuilder(op)
    result = builder.node(glow.MatmulOp, op.input, op.weights)
    if op.bias is not None:
        result = builder.node(glow.AddOp, result, op.bias)
    builder.replace(activated(builder, op, result))


def conv2d(op: Operation) -> None:
    """Groups become convolutions of their own; integers add their bias apart."""
    assert isinstance(op, glow.Conv2dOp)
    if isinstance(element_type(op.input), IntegerType):
        _integer_conv2d(op)
    elif op.attributes_view().int("group") > 1:
        _grouped_conv2d(op)
    elif is_pointwise(op):
        _pointwise_conv2d(op)


def is_pointwise(op: glow.Conv2dOp) -> bool:
    """Whether a convolution mixes the channels of each pixel, and no more."""
    view = op.attributes_view()
    return (
        shape_of(op.weights)[2:] == (1, 1)
        and view.int("group") == 1
        and view.ints("strides") == (1, 1)
        and not any(view.ints("pads"))
    )


def _pointwise_conv2d(op: glow.Conv2dOp) -> None:
    """The weights [O, C] times the pixels [N, C, H * W]."""
    builder = NodeBuilder(op)
    batch, channels, height, width = shape_of(op.input)
    outputs = shape_of(op.weights)[0]
    weights = builder.reshape(op.weights, (outputs, channels))
    pixels = builder.reshape(op.input, (batch, channels, height * width))
    result = builder.node(glow.MatmulOp, weights, pixels)
    if op.bias is not None:
        bias = builder.reshape(op.bias, (outputs, 1))
        result = builder.node(glow.AddOp, result, bias)
    result = builder.reshape(result, shape_of(op.result))
    builder.replace(activated(builder, op, result))


def matmul(op: Operation) -> None:
    """A product of matrices for each element of the batch, and their concatenation."""
    assert isinstance(op, glow.MatmulOp)
    *batch, rows, columns = shape_of(op.result)
    if not batch or 0 in batch:
        return
    builder, attributes = NodeBuilder(op), attributes_of(op)
    products: list[SSAValue] = []
    for index in ndindex(*batch):
        operands = [_matrix(builder, value, index) for value in op.inputs]
        product = builder.create(glow.MatmulOp, operands, attributes)
        products.append(builder.reshape(product, (1, rows, columns)))
    joined = products[0]
    if len(products) > 1:
        joined = builder.node(glow.ConcatOp, *products, axis=0)
    builder.replace(builder.reshape(joined, shape_of(op.result)))


def _matrix(builder: NodeBuilder, value: SSAValue, index: Sequence[int]) -> SSAValue:
    """The matrix at an index of the batch, which broadcasts."""
    *batch, rows, columns = shape_of(value)
    if not batch:
        return value
    own = index[len(index) - len(batch) :]
    starts = [0 if size == 1 else place for size, place in zip(batch, own, strict=True)]
    part = builder.node(
        glow.SliceOp,
        value,
        starts=[*starts, 0, 0],
        sizes=[*[1] * len(batch), rows, columns],
        steps=[1] * (len(batch) + 2),
    )
    return builder.reshape(part, (rows, columns))


def _integer_conv2d(op: glow.Conv2dOp) -> None:
    """The plain sums, then bias and activation; there is one kernel for the sums."""
    if op.bias is None and op.activation is None:
        return
    builder, attributes = NodeBuilder(op), attributes_without_activation(op)
    result = builder.create(glow.Conv2dOp, [op.input, op.weights], attributes)
    if op.bias is not None:
        bias = builder.reshape(op.bias, (shape_of(op.bias)[0], 1, 1))
        result = builder.node(glow.AddOp, result, bias)
    builder.replace(activated(builder, op, result))


def _grouped_conv2d(op: glow.Conv2dOp) -> None:
    """A slice, a convolution for each group, and their concatenation."""
    group = op.attributes_view().int("group")
    builder = NodeBuilder(op)
    attributes = {**attributes_of(op), "group": 1}
    operands = [(op.input, 1), (op.weights, 0)]
    if op.bias is not None:
        operands.append((op.bias, 0))
    pieces = [
        builder.create(
            glow.Conv2dOp,
            [_part(builder, value, axis, index, group) for value, axis in operands],
            attributes,
        )
        for index in range(group)
    ]
    builder.replace(builder.node(glow.ConcatOp, *pieces, axis=1))


def _part(
    builder: NodeBuilder, value: SSAValue, axis: int, index: int, count: int
) -> SSAValue:
    """The `index`-th of `count` equal parts along an axis."""
    sizes = list(shape_of(value))
    sizes[axis] //= count
    starts = [0] * len(sizes)
    starts[axis] = index * sizes[axis]
    steps = [1] * len(sizes)
    return builder.node(glow.SliceOp, value, starts=starts, sizes=sizes, steps=steps)


LOWERINGS = {
    glow.GemmOp: gemm,
    glow.MatmulOp: matmul,
    glow.FullyConnectedOp: fully_connected,
    glow.Conv2dOp: conv2d,
}
