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

torch-mlir and XLA spell `erf` out as a quotient of polynomials of a clipped x, which is found by
its values: where it is the error function but for the rounding of f32, it becomes `glow.erf`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, isclose, sqrt

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp
from glow.dialects.weights import constant_value
from glow.passes.rewriting.contract import VALUES
from glow.passes.rewriting.matching import (
    TOLERANCE,
    beside_number,
    factors_of,
    is_number,
    number_of,
    operand_of,
    take,
    take_number,
)
from glow.passes.rewriting.node_builder import NodeBuilder
from glow.passes.rewriting.patterns import RewritePass

Numbers = NDArray[np.float64]

BOUND = 4.0
"""Where single precision says 1; quotients of polynomials clip their arguments there."""

PLACES = np.linspace(-6, 6, 1537)
"""So many that a quotient cannot have a pole of any width between them."""
ERROR = 1e-6

ARITHMETIC: Mapping[type[Operation], Callable[..., Numbers]] = {
    glow.AddOp: np.add,
    glow.DivOp: np.divide,
    glow.MulOp: np.multiply,
    glow.SubOp: np.subtract,
}


def recognize_erf(op: NodeOp, builder: NodeBuilder) -> SSAValue | None:
    """The error function for a quotient of polynomials of a clipped value."""
    if _bounds(op) != (-1.0, 1.0):
        return None
    clipped = _clipped_argument(op.inputs[0])
    if clipped is None or clipped.type != op.results[0].type:
        return None
    argument = clipped.owner
    assert isinstance(argument, glow.ClipOp)
    numbers: dict[SSAValue, Numbers] = {clipped: np.clip(PLACES, -BOUND, BOUND)}
    found = _values(op.inputs[0], numbers)
    expected = [erf(place) for place in PLACES]
    if found is None or not np.allclose(np.clip(found, -1, 1), expected, 0, ERROR):
        return None
    return builder.node(glow.ErfOp, argument.operands[0])


def _bounds(op: Operation) -> tuple[float, float] | None:
    if not isinstance(op, glow.ClipOp):
        return None
    attributes = op.attributes_view()
    return attributes.float("low"), attributes.float("high")


def _clipped_argument(value: SSAValue) -> SSAValue | None:
    """What a quotient's numerator is a multiple of, clipped to where `erf` changes."""
    quotient = value.owner
    if not isinstance(quotient, glow.DivOp):
        return None
    for factor in factors_of(quotient.operands[0]):
        owner = factor.owner
        if isinstance(owner, Operation) and _bounds(owner) == (-BOUND, BOUND):
            return factor
    return None


def _values(value: SSAValue, numbers: dict[SSAValue, Numbers]) -> Numbers | None:
    """The values of a polynomial, or quotient, of what has numbers already."""
    if value in numbers:
        return numbers[value]
    number, owner = number_of(value), value.owner
    if number is not None:
        return np.full_like(PLACES, number)
    if type(owner) not in ARITHMETIC:
        return None
    assert isinstance(owner, NodeOp)
    operands = [_values(operand, numbers) for operand in owner.inputs]
    if any(operand is None for operand in operands):
        return None
    numbers[value] = ARITHMETIC[type(owner)](*operands)
    return numbers[value]


def error_function_argument(value: SSAValue) -> SSAValue | None:
    """x of `1 + erf(x / sqrt 2)`, or of `1 - erf(-x / sqrt 2)`, as JAX spells it."""
    error, sign = beside_number(value, glow.AddOp, 1.0), 1
    owner = value.owner
    if isinstance(owner, glow.SubOp) and is_number(owner.operands[0], 1.0):
        error, sign = owner.operands[1], -1
    scaled = operand_of(error, glow.ErfOp) if error is not None else None
    if scaled is None:
        return None
    x, factor = _without_factors(scaled)
    is_root = isclose(sign * factor, 1 / sqrt(2), rel_tol=TOLERANCE)
    return x if is_root and x.type == scaled.type else None


def _without_factors(value: SSAValue) -> tuple[SSAValue, float]:
    """x and c of a value `c x`."""
    op = value.owner
    if isinstance(op, glow.NegOp):
        x, factor = _without_factors(op.operands[0])
        return x, -factor
    if isinstance(op, glow.MulOp | glow.DivOp):
        for index in (1, 0) if isinstance(op, glow.MulOp) else (1,):
            number = _repeated_number(op.operands[index])
            if number:
                x, factor = _without_factors(op.operands[1 - index])
                is_product = isinstance(op, glow.MulOp)
                return x, factor * number if is_product else factor / number
    return value, 1.0


def _repeated_number(value: SSAValue) -> float | None:
    """What a constant holds, maybe many times (as a folded `rsqrt 2`)."""
    number = number_of(value)
    array = constant_value(value) if isinstance(value.owner, glow.ConstantOp) else None
    if number is None and array is not None and (array == array.flat[0]).all():
        return float(array.flat[0])
    return number


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
    rewrites = {glow.ClipOp: (recognize_erf,), glow.MulOp: (recognize_gelu,)}
