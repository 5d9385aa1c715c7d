"""Finds activation functions in the nodes that exporters spell them with.

| found                | in                                                       |
|----------------------|----------------------------------------------------------|
| `glow.clip`          | `max(min(x, high), low)`, `min(max(x, low), high)`       |
| `glow.leaky_relu`    | `max(x, alpha * x)` with 0 < alpha < 1                   |
| `glow.relu`          | `max(x, 0)`                                              |
| `glow.sigmoid`       | `1 / (1 + exp(-x))`                                      |
| swish                | `x / (1 + exp(-x))` as `x * sigmoid(x)`                  |
| `glow.hard_sigmoid`  | `clip(x + 3, 0, 6) / 6`, `clip(x / 6 + 1 / 2, 0, 1)`     |
| `glow.hard_swish`    | `x` times that, in any order                             |
| `glow.rsqrt`         | `1 / sqrt(x)` as a reciprocal                            |
| `glow.gelu_tanh`     | `x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`    |

One node has one kernel, fuses into its producer, and quantizes as a table. GELU with the
error function is `recognize-gelu`'s.
"""

from __future__ import annotations

from math import isclose, isfinite, pi, sqrt

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, element_of
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.matching import (
    TOLERANCE,
    beside_number,
    factors_of,
    is_number,
    operand_of,
    take,
    take_number,
    with_number,
)
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass


def _is_integer(value: SSAValue) -> bool:
    return isinstance(element_of(value), IntegerType)


def maximum(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """relu, clip or leaky relu for a maximum."""
    found = with_number(op)
    if found is not None:
        return _lower_bound(op, builder, *found)
    for x, other in (op.inputs, op.inputs[::-1]):
        alpha = _multiple(other, x)
        if alpha is not None and 0 < alpha < 1 and not _is_integer(x):
            return builder.node(glow.LeakyReluOp, x, alpha=alpha)
    return None


def _lower_bound(
    op: NodeOp, builder: NodeBuilder, x: SSAValue, low: float
) -> SSAValue | None:
    inner = x.owner
    if not isfinite(low) or (_is_integer(x) and abs(low) > 1 << 24):
        return None
    if isinstance(inner, glow.MinOp) and (found := with_number(inner)) is not None:
        y, high = found
        return builder.node(glow.ClipOp, y, low=low, high=max(low, high))
    if low == 0:
        return builder.node(glow.ReluOp, x)
    return None


def minimum(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """A clip for the minimum of a maximum (or of what that became)."""
    found = with_number(op)
    if found is None or not isfinite(found[1]):
        return None
    x, high = found
    if _is_integer(x) and abs(high) > 1 << 24:
        return None
    inner = x.owner
    if isinstance(inner, glow.ReluOp):
        return builder.node(
            glow.ClipOp, inner.operands[0], low=min(0.0, high), high=high
        )
    if isinstance(inner, glow.MaxOp) and (bound := with_number(inner)) is not None:
        y, low = bound
        return builder.node(glow.ClipOp, y, low=min(low, high), high=high)
    return None


def _multiple(value: SSAValue, x: SSAValue) -> float | None:
    """c, where the value is `c * x`."""
    owner = value.owner
    found = with_number(owner) if isinstance(owner, glow.MulOp) else None
    return found[1] if found is not None and found[0] is x else None


def quotient(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """sigmoid or swish for a quotient by `1 + exp(-x)`; hard functions by 6."""
    numerator, denominator = op.inputs
    power = beside_number(denominator, glow.AddOp, 1.0)
    negated = operand_of(power, glow.ExpOp) if power is not None else None
    x = operand_of(negated, glow.NegOp) if negated is not None else None
    if x is not None and x.type == op.results[0].type:
        if is_number(numerator, 1.0):
            return builder.node(glow.SigmoidOp, x)
        if numerator is x:
            return builder.node(glow.MulOp, x, builder.node(glow.SigmoidOp, x))
    if is_number(denominator, 6.0) and numerator.type == op.results[0].type:
        return _hard(builder, factors_of(numerator, numerator.has_one_use()))
    return None


def product(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """hard sigmoid, hard swish or GELU for a product."""
    factors = factors_of(op.results[0])
    if not 2 <= len(factors) <= 3 or any(_is_integer(factor) for factor in factors):
        return None
    by_sixth = list(factors)
    if take_number(by_sixth, 1 / 6) and op.results[0].type in [
        f.type for f in by_sixth
    ]:
        found = _hard(builder, by_sixth)
        if found is not None:
            return found
    return _gated(op, builder, factors) or _gelu_tanh(op, builder, factors)


def reciprocal(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """One node for the reciprocal of a square root that nothing else reads."""
    (value,) = op.inputs
    x = operand_of(value, glow.SqrtOp) if value.has_one_use() else None
    return builder.node(glow.RsqrtOp, x) if x is not None else None


def _bounded(value: SSAValue, low: float, high: float) -> SSAValue | None:
    """x of `clip(x, low, high)`."""
    owner = value.owner
    if not isinstance(owner, glow.ClipOp):
        return None
    view = owner.attributes_view()
    same = (view.float("low"), view.float("high")) == (low, high)
    return owner.operand if same else None


def _hard(builder: NodeBuilder, factors: list[SSAValue]) -> SSAValue | None:
    """The hard function whose sixfold the factors make."""
    for gate in factors:
        bounded = _bounded(gate, 0.0, 6.0)
        x = beside_number(bounded, glow.AddOp, 3.0) if bounded is not None else None
        if x is None:
            continue
        rest = list(factors)
        take(rest, gate)
        if not rest:
            return builder.node(glow.HardSigmoidOp, x, alpha=1 / 6, beta=0.5)
        if len(rest) == 1 and rest[0] is x:
            return builder.node(glow.HardSwishOp, x)
    return None


def _gated(
    op: NodeOp, builder: NodeBuilder, factors: list[SSAValue]
) -> SSAValue | None:
    """hard swish for x times its hard sigmoid."""
    if len(factors) != 2:
        return None
    for gate, x in (factors, factors[::-1]):
        owner = gate.owner
        if isinstance(owner, glow.HardSigmoidOp) and owner.operand is x:
            view = owner.attributes_view()
            sixth = isclose(view.float("alpha"), 1 / 6, rel_tol=TOLERANCE)
            if sixth and view.float("beta") == 0.5:
                return builder.node(glow.HardSwishOp, x)
    return None


def _gelu_tanh(
    op: NodeOp, builder: NodeBuilder, factors: list[SSAValue]
) -> SSAValue | None:
    """GELU's approximation for `x * 0.5 * (1 + tanh(...))`."""
    for gate in factors:
        curve = beside_number(gate, glow.AddOp, 1.0)
        inner = operand_of(curve, glow.TanhOp) if curve is not None else None
        rest = list(factors)
        take(rest, gate)
        if inner is None or not take_number(rest, 0.5) or len(rest) != 1:
            continue
        if _is_cubic(inner, rest[0]) and rest[0].type == op.results[0].type:
            return builder.node(glow.GeluTanhOp, rest[0])
    return None


def _is_cubic(value: SSAValue, x: SSAValue) -> bool:
    """Whether the value is `sqrt(2 / pi) * (x + 0.044715 * x^3)`, or x is taken out of the sum."""
    total = beside_number(value, glow.MulOp, sqrt(2 / pi))
    owner = total.owner if total is not None else None
    if not isinstance(owner, glow.AddOp):
        return _is_cubic_product(value, x)
    for one, other in (owner.operands[:2], owner.operands[1::-1]):
        cube = beside_number(other, glow.MulOp, 0.044715)
        if one is x and cube is not None and _is_cube(cube, x):
            return True
    return False


def _is_cubic_product(value: SSAValue, x: SSAValue) -> bool:
    """Whether the value is `sqrt(2 / pi) * x * (1 + 0.044715 * x * x)`, as BLOOM has it."""
    factors = factors_of(value)
    if len(factors) != 3 or not take_number(factors, sqrt(2 / pi)):
        return False
    for one, other in (factors, factors[::-1]):
        added = beside_number(other, glow.AddOp, 1.0)
        square = factors_of(added) if added is not None else []
        if one is x and len(square) == 3 and take_number(square, 0.044715):
            return all(factor is x for factor in square)
    return False


def _is_cube(value: SSAValue, x: SSAValue) -> bool:
    owner = value.owner
    if isinstance(owner, glow.PowOp):
        return owner.operands[0] is x and is_number(owner.operands[1], 3.0)
    factors = factors_of(value)
    return len(factors) == 3 and all(factor is x for factor in factors)


class RecognizeActivationsPass(RewritePass):
    """Find activation functions in their parts."""

    name = "recognize-activations"
    preserves = VALUES
    rewrites = {
        glow.MaxOp: (maximum,),
        glow.MinOp: (minimum,),
        glow.DivOp: (quotient,),
        glow.MulOp: (product,),
        glow.ReciprocalOp: (reciprocal,),
    }
