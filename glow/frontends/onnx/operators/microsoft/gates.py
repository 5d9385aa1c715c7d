"""Normalizations and sums with gates, which surround linear attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import SigmoidOp
from glow.frontends.onnx.expression import Expression
from glow.frontends.onnx.node import OnnxNode, Value, element_type
from glow.frontends.onnx.operators.microsoft.fused import root_mean_square
from glow.frontends.onnx.operators.microsoft.linear_attention import given, optional
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op


def _silu(x: Expression) -> Expression:
    return x * x.apply(SigmoidOp)


ACTIVATIONS: Mapping[str, Callable[[Expression], Expression]] = {
    "none": lambda x: x,
    "silu": _silu,
    "swish": _silu,
    "sigmoid": lambda x: x.apply(SigmoidOp),
}


def activated(node: OnnxNode, x: Expression, usual: str) -> Expression:
    """What the node's activation makes of a value."""
    name = node.attr_string("activation", usual)
    refuse_if(name not in ACTIVATIONS, f"activation {name}")
    return ACTIVATIONS[name](x)


def _normalized(x: Expression, scale: Expression) -> Expression:
    """The last axis over the root of its mean square, times a scale."""
    root = root_mean_square(x.node, x.value, scale.value, "epsilon", 1e-5)
    return Expression(x.node, root)


def _like_input(node: OnnxNode, x: Expression) -> Value:
    """In the shape and type of the first input."""
    return x.reshape(node.shape(0)).convert(element_type(node.value(0))).value


@contrib_op("GatedRMSNorm")
def gated_rms_norm(node: OnnxNode) -> Value:
    """Groups of channels over the root of their mean square, times a scale and a gate."""
    x, scale, gate = (
        given(node, index, name) for index, name in enumerate(("X", "scale", "gate"))
    )
    (*outer, width), size = x.shape, prod(scale.shape)
    if not size or width % size:
        raise GlowError(f"{width} channels are no groups of {size}")
    groups = (*outer, width // size, size)
    normal = _normalized(x.reshape(groups), scale.reshape((size,)))
    return _like_input(node, normal * activated(node, gate.reshape(groups), "silu"))


@contrib_op("BranchwiseRMSNorm")
def branchwise_rms_norm(node: OnnxNode) -> Value:
    """Branches over the root of their mean square each, times a scale."""
    x, scale = given(node, 0, "X"), optional(node, 1)
    branches = node.attr_int("num_branches", 0)
    if branches > 0:
        *outer, width = x.shape
        if width % branches:
            raise GlowError(f"{width} channels are no {branches} branches of one size")
        x = x.reshape((*outer, branches, width // branches))
    if scale is None:
        scale = x.constant(np.ones(1))
    elif prod(scale.shape) == prod(x.shape[-2:]):
        scale = scale.reshape(x.shape[-2:])
    elif prod(scale.shape) != x.shape[-1]:
        raise GlowError(
            f"a scale of shape {list(scale.shape)} for {list(x.shape[-2:])}"
        )
    return _like_input(node, _normalized(x, scale))


@contrib_op("GatedAdd")
def gated_add(node: OnnxNode) -> Value:
    """A sum of which the second addend has a gate for each row."""
    refuse_if(node.has(3), "gate_weight")
    x, y, gate = (Expression(node, node.value(index)) for index in range(3))
    return (x + y * gate).value


@contrib_op("ScaledSiLU")
def scaled_silu(node: OnnxNode) -> Value:
    """z sigmoid(z) of a multiple z of the input, each rounded to its type."""
    kind, x = element_type(node.value(0)), given(node, 0, "X")
    scale = optional(node, 1)
    scaled = x * (node.attr_float("alpha", 1.0) if scale is None else scale.reshape(()))
    scaled = scaled.convert(kind).convert(f32)
    opened = scaled.apply(SigmoidOp).convert(kind).convert(f32)
    return (scaled * opened).convert(kind).value
