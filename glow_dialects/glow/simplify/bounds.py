"""Bounds that follow each other, `clip` or `relu`, are one."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from glow.dialects.glow.activations import ClipOp, ReluOp
from glow.dialects.node import NodeOp

Replacement = SSAValue | NodeOp | None


def _bounds(op: Operation) -> tuple[float, float] | None:
    if isinstance(op, ReluOp):
        return 0.0, float("inf")
    if isinstance(op, ClipOp):
        attributes = op.attributes_view()
        return attributes.float("low"), attributes.float("high")
    return None


def _bounded(op: NodeOp, x: SSAValue, low: float, high: float) -> Replacement:
    """x within bounds, in the type of the node's result."""
    types = [cast("TensorType[Attribute]", op.results[0].type)]
    if (low, high) == (float("-inf"), float("inf")):
        return x if x.type == types[0] else None
    if (low, high) == (0.0, float("inf")):
        return ReluOp.build_node([x], types)
    return ClipOp.build_node([x], types, low=low, high=high)


def merge_bounds(op: NodeOp) -> Replacement:
    """One clip for two bounds in a row; none where a clip has no bounds.

    The second must not round to another scale.
    """
    outer = _bounds(op)
    assert outer is not None
    if op.inputs[0].type != op.results[0].type:
        return None
    inner_op = op.inputs[0].owner
    inner = _bounds(inner_op) if isinstance(inner_op, Operation) else None
    if inner is None:
        is_relu = isinstance(op, ReluOp)
        if is_relu or outer not in ((0.0, float("inf")), (float("-inf"), float("inf"))):
            return None
        return _bounded(op, op.inputs[0], *outer)
    assert isinstance(inner_op, NodeOp)
    low = max(inner[0], outer[0])
    high = min(max(inner[1], outer[0]), outer[1])
    return _bounded(op, inner_op.inputs[0], low, high)
