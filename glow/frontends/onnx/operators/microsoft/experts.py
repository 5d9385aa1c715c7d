"""Layers of experts: the best ones of each row, as products with the matrices that they name.

A row is multiplied with the matrices of its `k` best experts, which a gather picks: a backend
that can does so without copies of them (`cpu.indexed_matmul`), also where they have few bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
from xdsl.dialects.builtin import f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    BlockDequantizeOp,
    GatherOp,
    GeluTanhOp,
    MatmulOp,
    ReduceSumOp,
    ReluOp,
    SigmoidOp,
    SliceOp,
    SoftmaxOp,
    TopKOp,
)
from glow.dialects.glow.quantization import WEIGHT_BITS
from glow.dialects.weight_table import Array
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import Constant, OnnxNode, Operand, Value, element_type
from glow.frontends.onnx.operators.microsoft.block_weights import (
    Bytes,
    stored,
    unpacked,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op

SWIGLU = "swiglu"
INTERLEAVED = 1
"""The `swiglu_fusion` in which gates and what they let through lie in turns."""

MATRICES_RANK = 3
"""The axes of weights: experts, outputs, inputs."""

ROUTER_WEIGHTS = 14
"""The input of `QMoE` that says the shares of experts apart from what chooses them."""


@dataclass(frozen=True)
class Layer:
    """The matrices [E, outputs, inputs] of one of an expert's layers, and biases [E, outputs]."""

    weights: Operand
    bias: Operand | None


@contrib_op("MoE")
def experts(node: OnnxNode) -> Value:
    """The k best experts of each row by a router's logits, each of two or three layers.

    Their shares are the softmax of all logits, or of the k best with `normalize_routing_weights`.
    """
    layers = [_plain_layer(node, index) for index in (2, 4, 6)]
    if node.attr_int("normalize_routing_weights", 0):
        return _mixed(node, layers, *_shares_of_best(node))
    logits = node.convert(node.value(1), f32)
    shares = node.emit(SoftmaxOp, logits, axis=1)
    found = node.graph.add(TopKOp, [shares], k=node.attr_int("k", 1)).results
    return _mixed(node, layers, found[0], found[1])


@contrib_op("QMoE")
def quantized_experts(node: OnnxNode) -> Value:
    """The same with weights of 2, 4 or 8 bits, which stay so.

    Shares are the softmax of the k best logits.
    """
    refuse_if(node.has(ROUTER_WEIGHTS), "router_weights")
    refuse_if(node.attr_string("quant_type", "int") != "int", "weights of floats")
    refuse_if(node.attr_int("weights_prepacked", 0) > 0, "weights_prepacked")
    layers = [_quantized_layer(node, index, 11 + index // 3) for index in (2, 5, 8)]
    return _mixed(node, layers, *_shares_of_best(node))


def _plain_layer(node: OnnxNode, index: int) -> Layer | None:
    """The layer whose weights are an input, and its bias the next one."""
    if not node.has(index):
        return None
    bias = node.convert(node.value(index + 1), f32) if node.has(index + 1) else None
    return Layer(node.convert(node.value(index), f32), bias)


def _quantized_layer(node: OnnxNode, index: int, points: int) -> Layer | None:
    """The layer whose codes are an input, then scales and a bias; zero points are apart.

    Codes are [E, N, K / codes a byte], scales [E, N], or [E, N, blocks] of `block_size` codes.
    """
    if not node.has(index):
        return None
    usual = node.attr_int("expert_weight_bits", 4)
    bits = node.attr_int(f"fc{index // 3 + 1}_expert_weight_bits", usual) or usual
    refuse_if(bits not in WEIGHT_BITS, f"weights of {bits} bits")
    codes = unpacked(node.constant(index, "weights"), bits)
    if codes.ndim != MATRICES_RANK:
        raise GlowError(f"weights of experts are matrices, not {list(codes.shape)}")
    size = node.attr_int("block_size", 0) or codes.shape[2]
    scales = node.constant(index + 1, "scales").astype(np.float32)
    blocks = -(-codes.shape[2] // size) if size > 0 else 0
    if scales.size != codes.shape[0] * codes.shape[1] * blocks:
        raise GlowError(
            f"scales of {list(scales.shape)} do not fit weights of {list(codes.shape)} in "
            f"blocks of {size}"
        )
    scales = scales.reshape(*codes.shape[:2], blocks)
    zeros = _zero_points(node, points, bits, scales)
    weights = _few_bits(node, index, _Codes(codes, scales, zeros, bits, size))
    bias = node.convert(node.value(index + 2), f32) if node.has(index + 2) else None
    return Layer(weights, bias)


@dataclass(frozen=True)
class _Codes:
    """Codes [E, N, K] of some bits; scales and zero points [E, N, blocks] of `size` codes."""

    codes: Bytes
    scales: Array
    zeros: Bytes
    bits: int
    size: int


def _few_bits(node: OnnxNode, index: int, held: _Codes) -> Operand:
    """The weights as they are; zero points in the middle of the codes need not be stored."""
    name, bits = node.proto.input[index], held.bits
    centred = bool((held.zeros == 1 << (bits - 1)).all())
    operands = [
        stored(held.codes, bits, f"{name}.codes", centred=centred),
        Constant(held.scales, f"{node.proto.input[index + 1]}.scales"),
    ]
    if not centred:
        points = stored(held.zeros, bits, f"{name}.points", centred=False)
        operands.append(points)
    return node.emit(BlockDequantizeOp, *operands, axis=2, block_size=held.size)


def _zero_points(node: OnnxNode, index: int, bits: int, scales: Array) -> Bytes:
    """Zero points in the shape of the scales: packed along blocks, or columns that have one.

    Without them, it is the middle of the codes.
    """
    if not node.has(index):
        return np.full(scales.shape, 1 << (bits - 1), np.uint8)
    codes = unpacked(node.constant(index, "zero points"), bits)
    sizes = codes.shape
    if codes.ndim == scales.ndim - 1:
        codes = codes[..., : scales.shape[1], np.newaxis]
    codes = codes[..., : scales.shape[2]]
    if codes.shape != scales.shape:
        raise GlowError(
            f"zero points of {list(sizes)} do not fit scales of {list(scales.shape)}"
        )
    return codes


def _shares_of_best(node: OnnxNode) -> tuple[Operand, Operand]:
    """The softmax of the k best logits of each row, and which experts they are of."""
    logits = node.convert(node.value(1), f32)
    best = node.graph.add(TopKOp, [logits], k=node.attr_int("k", 1)).results
    return node.emit(SoftmaxOp, best[0], axis=1), best[1]


def _mixed(
    node: OnnxNode, layers: list[Layer | None], shares: Operand, places: Operand
) -> Operand:
    """The sum of what the experts at some places [T, k] make of each row, by their shares."""
    refuse_if(node.attr_int("use_sparse_mixer", 0) != 0, "use_sparse_mixer")
    first, second, gate = layers
    if first is None or second is None:
        raise GlowError("two layers of experts need weights")
    rows, chosen = Expression(node, shares).shape
    x = Expression(node, node.value(0))
    depth = x.shape[-1]
    hidden = x.convert(f32).reshape((rows, 1, 1, depth))
    active = _activated(node, _product(hidden, first, places))
    if gate is not None:
        active = active * _product(hidden, gate, places)
    result = _product(active, second, places)
    weighted = result * Expression(node, shares).reshape((rows, chosen, 1, 1))
    total = weighted.apply(ReduceSumOp, axes=(1,), keepdims=False)
    return total.convert(element_type(x.value)).reshape(x.shape).value


def _product(rows: Expression, layer: Layer, places: Operand) -> Expression:
    """[T, k, 1, outputs]: rows [T, 1 or k, 1, inputs] through the layers at some places."""
    node = rows.node
    picked = node.emit(GatherOp, layer.weights, places, axis=0)
    product = node.emit(MatmulOp, rows.value, picked, transpose_rhs=True)
    result = Expression(node, product)
    if layer.bias is None:
        return result
    bias = Expression(node, node.emit(GatherOp, layer.bias, places, axis=0))
    return result + bias.reshape(result.shape)


def _gated(node: OnnxNode, x: Expression) -> Expression:
    """Gates in turns with what they let through: g * sigmoid(alpha * g) * (u + beta)."""
    refuse_if(
        node.attr_int("swiglu_fusion", 0) != INTERLEAVED,
        "gates that are not interleaved with what they let through",
    )
    *outer, width = x.shape
    if width % 2:
        raise GlowError(f"{width} columns are no gates and as many others")
    sizes, steps = [*outer, width // 2], [*[1] * len(outer), 2]

    def every_second(start: int) -> Expression:
        starts = [*[0] * len(outer), start]
        return x.apply(SliceOp, starts=starts, sizes=sizes, steps=steps)

    limit = node.attr_float("swiglu_limit", inf)
    gate, up = every_second(0).clamp(-inf, limit), every_second(1).clamp(-limit, limit)
    opened = gate * (gate * node.attr_float("activation_alpha", 1.0)).apply(SigmoidOp)
    return opened * (up + node.attr_float("activation_beta", 0.0))


ACTIVATIONS: Mapping[str, Callable[[OnnxNode, Expression], Expression]] = {
    "identity": lambda _, x: x,
    "relu": lambda _, x: x.apply(ReluOp),
    "gelu": lambda _, x: x.apply(GeluTanhOp),
    "silu": lambda _, x: x * x.apply(SigmoidOp),
    SWIGLU: _gated,
}
"""What experts do with their first layer's result; ONNX Runtime computes GELU by tanh."""


def _activated(node: OnnxNode, x: Expression) -> Expression:
    name = node.attr_string("activation_type", "relu").lower()
    refuse_if(name not in ACTIVATIONS, f"activation {name}")
    return ACTIVATIONS[name](node, x)
