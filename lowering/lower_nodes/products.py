"""Matrix products and grouped convolutions as plain products."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp, shape_of
from glow.passes.graph.fuse_activation import ACTIVATIONS
from glow.passes.graph.node_builder import NodeBuilder, attributes_of, element_type


def _scaled(builder: NodeBuilder, value: SSAValue, factor: float) -> SSAValue:
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
    result = _scaled(builder, product, attributes.float("alpha"))
    if op.addend is not None:
        addend = _scaled(builder, op.addend, attributes.float("beta"))
        result = builder.node(glow.AddOp, result, addend)
    builder.replace(result)


def activated(builder: NodeBuilder, op: NodeOp, value: SSAValue) -> SSAValue:
    """The value under the activation that `op` absorbed, as a node of its own."""
    attributes = op.attributes_view()
    if not attributes.has("activation"):
        return value
    name = f"glow.{attributes.string('activation')}"
    op_class = next(candidate for candidate in ACTIVATIONS if candidate.name == name)
    return builder.create(op_class, [value], activation_attributes(op))


def activation_attributes(op: NodeOp) -> dict[str, AttributeValue]:
    """The attributes of the node whose function `op` absorbed."""
    attributes = op.attributes_view()
    names = ACTIVATION_ARGUMENTS.get(attributes.string("activation"), ())
    values = attributes.floats("activation_args") if names else ()
    return dict(zip(names, values, strict=True))


ACTIVATION_ARGUMENTS = {"clip": ("low", "high"), "leaky_relu": ("alpha",)}
"""What the numbers in `activation_args` mean."""


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


def _integer_conv2d(op: glow.Conv2dOp) -> None:
    """The plain sums, then bias and activation; there is one kernel for the sums."""
    if op.bias is None and op.activation is None:
        return
    builder, attributes = NodeBuilder(op), attributes_of(op)
    for name in ("activation", "activation_args"):
        attributes.pop(name, None)
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
    glow.FullyConnectedOp: fully_connected,
    glow.Conv2dOp: conv2d,
}
