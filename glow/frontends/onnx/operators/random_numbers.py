"""Handlers of operators that draw random numbers.

Each draws from a generator whose state is a variable: a key and the number of the call. So calls
draw other numbers, which depend on nothing else: not on threads, nor on the backend. Nodes without
a seed share a generator whose key a model gets where it is made (`glow.compiled_model`); those with
one have it as their key.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from zlib import crc32

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute

from glow.dialects.glow import (
    CosOp,
    CumulativeOp,
    LessEqualOp,
    LogOp,
    RandomUniformOp,
    ReduceSumOp,
    SoftmaxOp,
)
from glow.dialects.node import tensor_type
from glow.dialects.weight_table import element_type_of
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.inputs import check_shape
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op
from glow.frontends.onnx.tensors import dtype_of_onnx

FLOAT = 1
"""ONNX's number of f32."""


@onnx_op("RandomUniform", "RandomUniformLike")
def random_uniform(node: OnnxNode) -> Value:
    """Numbers between two ends."""
    low, high = node.attr_float("low", 0.0), node.attr_float("high", 1.0)
    drawn = _uniform(node, _sizes(node), "uniform") * (high - low) + low
    return drawn.convert(_element(node)).value


@onnx_op("RandomNormal", "RandomNormalLike")
def random_normal(node: OnnxNode) -> Value:
    """Numbers around a mean, of two uniform ones each: the transform of Box and Muller."""
    mean, scale = node.attr_float("mean", 0.0), node.attr_float("scale", 1.0)
    below = 1.0 - _uniform(node, _sizes(node), "distance")  # In (0, 1].
    distance = (below.apply(LogOp) * -2.0).sqrt()
    angle = _uniform(node, _sizes(node), "angle") * (2 * pi)
    drawn = distance * angle.apply(CosOp) * scale + mean
    return drawn.convert(_element(node)).value


@onnx_op("Bernoulli")
def bernoulli(node: OnnxNode) -> Value:
    """One with the probability that an element says, else zero.

    The body that ONNX defines it by has it the other way round (`Greater` of a random number and
    the element), unlike its text and other runtimes.
    """
    share = Expression(node, node.value(0)).convert(f32)
    return (
        (_uniform(node, share.shape, "bernoulli") < share).convert(_element(node)).value
    )


@onnx_op("Multinomial")
def multinomial(node: OnnxNode) -> Value:
    """Numbers of classes, drawn by the logarithms of what each is worth, in rows."""
    rows, _ = node.shape(0)
    count = node.attr_int("sample_size", 1)
    worth = Expression(node, node.value(0)).convert(f32).apply(SoftmaxOp, axis=1)
    upto = worth.apply(CumulativeOp, kind="sum", axis=1)
    classes = upto.shape[1]
    drawn = _uniform(node, (rows, count, 1), "class")
    below = upto.reshape((rows, 1, classes)).apply(LessEqualOp, drawn)
    places = below.convert(i32).apply(ReduceSumOp, axes=[2])
    wide = node.attr_int("dtype", 6) == 7
    return places.clamp(0, classes - 1).convert(i64 if wide else i32).value


def _uniform(node: OnnxNode, sizes: Sequence[int], what: str) -> Expression:
    """Numbers in [0, 1), other ones for each node and each thing that it draws."""
    refuse_if(node.graph.block is not node.graph.entry, "in a branch or a loop")
    seed = node.attr_float("seed", 0.0) if node.has_attribute("seed") else None
    bits = None if seed is None else int(np.float32(seed).view(np.uint32))
    stream = crc32(f"{node.proto.output[0]} {what}".encode())
    types = [tensor_type(tuple(sizes), f32)]
    state = node.graph.generator(bits)
    return Expression(
        node, node.emit(RandomUniformOp, state, types=types, stream=stream)
    )


def _sizes(node: OnnxNode) -> Sequence[int]:
    """Those of another tensor, or of the attribute."""
    if node.inputs:
        return node.shape(0)
    sizes = node.attr_ints("shape") or []
    check_shape(sizes)
    return sizes


def _element(node: OnnxNode) -> Attribute:
    """The element type that is asked for, else that of the other tensor, or f32."""
    if node.inputs and not node.has_attribute("dtype"):
        return element_type(node.value(0))
    return element_type_of(dtype_of_onnx(node.attr_int("dtype", FLOAT)))
