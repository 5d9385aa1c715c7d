"""Finds the Gaussian error linear unit in its parts.

Exporters spell it as five nodes, in several orders:

    %1 = glow.div %x, %sqrt2        (or mul by 1 / sqrt 2)
    %2 = glow.erf %1
    %3 = glow.add %2, %one
    %4 = glow.mul %x, %3
    %5 = glow.mul %4, %half
  becomes
    %5 = glow.gelu %x

The product is taken apart into its factors, so that their order does not matter.
"""

from __future__ import annotations

from math import isclose, sqrt

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import constant_value
from glow.passes.contract import VALUES, GraphPass
from glow.passes.graph.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
    rewrite_nodes,
)

TOLERANCE = 1e-4


def is_number(value: SSAValue, expected: float) -> bool:
    """Whether the value is a constant of one element near a number."""
    if any(size != 1 for size in shape_of(value)):
        return False
    array = constant_value(value)
    return array is not None and isclose(
        float(array.reshape(()).item()), expected, rel_tol=TOLERANCE
    )


def other_operand(op: Operation, number: float) -> SSAValue | None:
    """The operand beside a constant `number` of a commutative node."""
    for index in (0, 1):
        if is_number(op.operands[index], number):
            return op.operands[1 - index]
    return None


def factors_of(value: SSAValue, is_root: bool = True) -> list[SSAValue]:
    """The factors of a tree of multiplications whose inner nodes have one use."""
    owner = value.owner
    if isinstance(owner, glow.MulOp) and (is_root or value.has_one_use()):
        lhs, rhs = owner.operands[:2]
        return [*factors_of(lhs, False), *factors_of(rhs, False)]
    return [value]


def error_function_argument(value: SSAValue) -> SSAValue | None:
    """x of `1 + erf(x / sqrt 2)`."""
    if not isinstance(value.owner, glow.AddOp):
        return None
    erf = other_operand(value.owner, 1.0)
    if erf is None or not isinstance(erf.owner, glow.ErfOp):
        return None
    scaled = erf.owner.operands[0].owner
    if isinstance(scaled, glow.MulOp):
        return other_operand(scaled, 1 / sqrt(2))
    if isinstance(scaled, glow.DivOp) and is_number(scaled.operands[1], sqrt(2)):
        return scaled.operands[0]
    return None


def recognize_gelu(op: Operation) -> None:
    """Replace the product `x * (1 + erf(x / sqrt 2)) * 0.5`."""
    factors = factors_of(op.results[0])
    if len(factors) != 3:
        return
    for gate in factors:
        x = error_function_argument(gate)
        rest = [factor for factor in factors if factor is not gate]
        if x is None or x not in rest or x.type != op.results[0].type:
            continue
        rest.remove(x)
        if is_number(rest[0], 0.5):
            builder = NodeBuilder(op)
            builder.replace(builder.node(glow.GeluOp, x))
            return


class RecognizeGeluPass(GraphPass):
    """Find GELU in its parts."""

    name = "recognize-gelu"
    keeps = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, {glow.MulOp: recognize_gelu})
        erase_dead_nodes(op)
