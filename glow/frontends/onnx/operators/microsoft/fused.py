"""Operators that are several of ONNX's in one, as their unfused nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import i32

from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    AddOp,
    ClipOp,
    EqualOp,
    GatherOp,
    GeluOp,
    GeluTanhOp,
    GemmOp,
    HardSigmoidOp,
    LayerNormOp,
    LeakyReluOp,
    MatmulOp,
    MulOp,
    ReduceMeanOp,
    ReduceSumOp,
    ReluOp,
    RsqrtOp,
    SigmoidOp,
    TanhOp,
)
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, shape
from glow.frontends.onnx.operators.normalization import normalized
from glow.frontends.onnx.operators.spatial.convolution import conv
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op, onnx_op

Numbers = Sequence[float]
ACTIVATIONS: dict[str, Callable[[OnnxNode, Operand, Numbers], Operand]] = {
    "": lambda _, x, __: x,
    "Relu": lambda node, x, _: node.emit(ReluOp, x),
    "Tanh": lambda node, x, _: node.emit(TanhOp, x),
    "Sigmoid": lambda node, x, _: node.emit(SigmoidOp, x),
    "LeakyRelu": lambda node, x, p: node.emit(LeakyReluOp, x, alpha=p[0]),
    "Clip": lambda node, x, p: node.emit(ClipOp, x, low=p[0], high=p[1]),
    "HardSigmoid": lambda node, x, p: node.emit(
        HardSigmoidOp, x, alpha=p[0], beta=p[1]
    ),
}
"""What a product may apply to its result, with the numbers that are given for it."""


def _activated(node: OnnxNode, value: Operand, numbers: Numbers) -> Operand:
    name = node.attr_string("activation", "")
    refuse_if(name not in ACTIVATIONS, f"activation {name}")
    try:
        return ACTIVATIONS[name](node, value, numbers)
    except IndexError:
        raise GlowError(
            f"activation {name} needs more than {len(numbers)} numbers"
        ) from None


# -- products


@contrib_op("FusedConv")
def fused_conv(node: OnnxNode) -> Value:
    """Convolution, plus an addend, then an activation."""
    value = conv(node)
    assert not isinstance(value, np.ndarray)
    if node.has(3):
        value = node.emit(AddOp, value, node.value(3))
    return _activated(node, value, node.attr_floats("activation_params") or [])


@contrib_op("FusedGemm")
def fused_gemm(node: OnnxNode) -> Value:
    """Gemm, then an activation."""
    operands = [node.value(index) for index in range(3 if node.has(2) else 2)]
    value = node.emit(
        GemmOp,
        *operands,
        alpha=node.attr_float("alpha", 1.0),
        beta=node.attr_float("beta", 1.0),
        transpose_lhs=bool(node.attr_int("transA", 0)),
        transpose_rhs=bool(node.attr_int("transB", 0)),
    )
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return _activated(node, value, [node.attr_float(name, 0.0) for name in names])


@contrib_op("FusedMatMul", "TransposeMatMul")
def fused_matmul(node: OnnxNode) -> Value:
    """`alpha * A' x B'`; `transBatchA` moves the first axis behind the other batch axes."""
    operands = [
        _transposed(
            node,
            node.value(index),
            bool(node.attr_int(f"trans{name}", 0)),
            bool(node.attr_int(f"transBatch{name}", 0)),
        )
        for index, name in enumerate("AB")
    ]
    product = node.emit(MatmulOp, *operands)
    alpha = node.attr_float("alpha", 1.0)
    return (
        product
        if alpha == 1
        else node.emit(MulOp, product, node.number(alpha, product))
    )


def _transposed(node: OnnxNode, value: Operand, columns: bool, batch: bool) -> Operand:
    axes = list(range(len(shape(value))))
    refuse_if((columns or batch) and len(axes) < 2, "a vector operand to transpose")
    if batch:
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if columns:
        axes[-2:] = axes[:-3:-1]
    return node.transpose(value, axes)


# -- activations


def _biased(node: OnnxNode) -> Operand:
    value = node.value(0)
    return node.emit(AddOp, value, node.value(1)) if node.has(1) else value


@contrib_op("Gelu", "BiasGelu")
def gelu(node: OnnxNode) -> Value:
    """`x / 2 * (1 + erf(x / sqrt 2))` of the input, plus a bias if there is one."""
    return node.emit(GeluOp, _biased(node))


@contrib_op("FastGelu")
def fast_gelu(node: OnnxNode) -> Value:
    """GELU's approximation by tanh, of the input plus a bias if there is one."""
    return node.emit(GeluTanhOp, _biased(node))


@contrib_op("QuickGelu")
def quick_gelu(node: OnnxNode) -> Value:
    """`x * sigmoid(alpha * x)`."""
    x = node.value(0)
    alpha = node.number(node.attr_float("alpha", 1.702), x)
    return node.emit(MulOp, x, node.emit(SigmoidOp, node.emit(MulOp, x, alpha)))


# -- normalizations


@contrib_op("SkipLayerNormalization")
def skip_layer_normalization(node: OnnxNode) -> Sequence[Value]:
    """The normalized sum of both inputs and a bias; that sum is the fourth result."""
    total = _skipped(node, 4)
    parameters = [node.value(index) for index in (2, 3) if node.has(index)]
    epsilon, axis = node.attr_float("epsilon", 1e-12), len(shape(total)) - 1
    result = node.emit(LayerNormOp, total, *parameters, axis=axis, epsilon=epsilon)
    if not (node.uses(1) or node.uses(2)):
        return [result, result, result, total]
    _, mean, deviation = normalized(node, total, [axis], epsilon)
    return [result, mean, deviation, total]


@contrib_op("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(node: OnnxNode) -> Sequence[Value]:
    """`x / sqrt(mean(x * x) + epsilon) * gamma` of the sum of both inputs and a bias."""
    refuse_if(node.uses(1) or node.uses(2), "the mean or deviation as a result")
    total = _skipped(node, 3)
    result = root_mean_square(node, total, node.value(2), "epsilon")
    return [result, result, result, total]


@onnx_op("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: OnnxNode) -> Value:
    """The same of one input along its last axis; ONNX Runtime has it in ONNX's own domain."""
    last = len(node.shape(0)) - 1
    axis = node.positive(node.attr_int("axis", -1), last + 1)
    refuse_if(axis != last, f"axis {axis} of {last + 1}")
    refuse_if(node.uses(1), "the deviation as a result")
    return root_mean_square(node, node.value(0), node.value(1), "epsilon", 1e-5)


def root_mean_square(
    node: OnnxNode,
    value: Operand,
    gamma: Operand,
    epsilon: str,
    usual: float = 1e-6,
) -> Operand:
    """The last axis over the root of its mean square, times `gamma`."""
    square, axis = node.emit(MulOp, value, value), len(shape(value)) - 1
    mean = node.emit(ReduceMeanOp, square, axes=[axis], keepdims=True)
    least = node.number(node.attr_float(epsilon, usual), mean)
    inverse = node.emit(RsqrtOp, node.emit(AddOp, mean, least))
    return node.emit(MulOp, node.emit(MulOp, value, inverse), gamma)


def _skipped(node: OnnxNode, bias: int) -> Operand:
    total = node.emit(AddOp, node.value(0), node.value(1))
    return node.emit(AddOp, total, node.value(bias)) if node.has(bias) else total


@contrib_op("EmbedLayerNormalization")
def embed_layer_normalization(node: OnnxNode) -> Sequence[Value]:
    """Sums of word, position and segment embeddings, normalized.

    ids [N, L] and tables [V, E] give [N, L, E], the number of words of each sentence (0
    without a mask), and the sums.
    """
    refuse_if(node.attr_int("mask_index_type", 0) != 0, "mask_index_type")
    (batch, length), width = node.shape(0), node.shape(2)[1]
    total = node.emit(GatherOp, node.value(2), node.value(0), axis=0)
    if node.has(8):
        places = node.value(8)
    else:
        places = Constant(np.arange(length, dtype=np.int32), "positions")
    positions = node.emit(GatherOp, node.value(3), places, axis=0)
    total = node.emit(AddOp, total, positions)
    if node.has(1):
        segments = node.emit(GatherOp, node.value(4), node.value(1), axis=0)
        total = node.emit(AddOp, total, segments)
    epsilon = node.attr_float("epsilon", 1e-12)
    parameters = (node.value(index) for index in (5, 6))
    result = node.emit(LayerNormOp, total, *parameters, axis=2, epsilon=epsilon)
    assert shape(result) == (batch, length, width)
    return [result, _mask_index(node, batch), total]


def _mask_index(node: OnnxNode, batch: int) -> Value:
    """How many words of each sentence count."""
    if not node.has(7):
        return np.zeros(batch, np.int32)
    mask = node.value(7)
    counts = node.convert(node.emit(EqualOp, mask, node.number(1, mask)), i32)
    return node.emit(ReduceSumOp, counts, axes=[1])
