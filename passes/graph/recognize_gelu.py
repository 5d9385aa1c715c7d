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

from math import sqrt

from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.matching import (
    beside_number,
    factors_of,
    is_number,
    operand_of,
    take,
    take_number,
)
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass


def error_function_argument(value: SSAValue) -> SSAValue | None:
    """x of `1 + erf(x / sqrt 2)`."""
    erf = beside_number(value, glow.AddOp, 1.0)
    scaled = operand_of(erf, glow.ErfOp) if erf is not None else None
    if scaled is None:
        return None
    owner = scaled.owner
    if isinstance(owner, glow.DivOp) and is_number(owner.operands[1], sqrt(2)):
        return owner.operands[0]
    return beside_number(scaled, glow.MulOp, 1 / sqrt(2))


def recognize_gelu(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """GELU for the product `x * (1 + erf(x / sqrt 2)) * 0.5`."""
    factors = factors_of(op.results[0])
    if len(factors) != 3:
        return None
    for gate in factors:
        x = error_function_argument(gate)
        rest = list(factors)
        take(rest, gate)
        found = x is not None and take(rest, x) and take_number(rest, 0.5)
        if x is not None and found and x.type == op.results[0].type:
            return builder.node(glow.GeluOp, x)
    return None


class RecognizeGeluPass(RewritePass):
    """Find GELU in its parts."""

    name = "recognize-gelu"
    preserves = VALUES
    rewrites = {glow.MulOp: (recognize_gelu,)}
