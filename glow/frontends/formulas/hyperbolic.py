"""Hyperbolic functions and their inverses, as formulas of a few nodes.

The formulas of textbooks overflow long before their results do, and cancel near zero.
These take half the argument or a logarithm first, and `log(1 + x)` through `softplus`:
results are finite wherever the function's value is, and exact to some units in the last
place near zero too.

`emit` makes a node of operands and gives its result, `number` one of the element type of `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from glow.dialects.glow import (
    AbsOp,
    AddOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    ReciprocalOp,
    SignOp,
    SoftplusOp,
    SqrtOp,
    SubOp,
    TanhOp,
)  # fmt: skip

Emit: TypeAlias = Callable[..., SSAValue]
Number: TypeAlias = Callable[[float], Any]
"""An operand of `emit`, whatever a frontend has for constants."""
Formula: TypeAlias = Callable[[Emit, Number, Any], SSAValue]


def _half_square(emit: Emit, number: Number, x: Any) -> SSAValue:
    """`exp(2 * x) / 2`, which is finite where `exp(2 * x)` overflows."""
    power = emit(ExpOp, x)
    return emit(MulOp, power, emit(MulOp, power, number(0.5)))


def cosh(emit: Emit, number: Number, x: Any) -> SSAValue:
    """`exp(x) / 2 + exp(-x) / 2`."""
    half = emit(MulOp, x, number(0.5))
    falling = _half_square(emit, number, emit(NegOp, half))
    return emit(AddOp, _half_square(emit, number, half), falling)


def sinh(emit: Emit, number: Number, x: Any) -> SSAValue:
    """`tanh(x / 2) * (cosh(x) + 1)`."""
    half = emit(MulOp, x, number(0.5))
    factor = emit(AddOp, cosh(emit, number, x), number(1))
    return emit(MulOp, emit(TanhOp, half), factor)


def asinh(emit: Emit, number: Number, x: Any) -> SSAValue:
    """`sign(x) * log(1 + u)`, u = |x| * (1 + 1 / (r + sqrt(1 + r * r))), r = 1 / |x|."""
    size = emit(AbsOp, x)
    inverse = emit(ReciprocalOp, size)
    root = emit(SqrtOp, emit(AddOp, emit(MulOp, inverse, inverse), number(1)))
    share = emit(ReciprocalOp, emit(AddOp, inverse, root))
    factor = emit(LogOp, emit(AddOp, share, number(1)))
    logarithm = emit(AddOp, emit(LogOp, size), factor)
    return emit(MulOp, emit(SignOp, x), emit(SoftplusOp, logarithm))


def acosh(emit: Emit, number: Number, x: Any) -> SSAValue:
    """`log(1 + u)`, u = sqrt(t) * (sqrt(t) + sqrt(t + 2)), t = x - 1."""
    above = emit(SubOp, x, number(1))
    root = emit(SqrtOp, above)
    other = emit(SqrtOp, emit(AddOp, above, number(2)))
    factor = emit(LogOp, emit(AddOp, root, other))
    return emit(SoftplusOp, emit(AddOp, emit(LogOp, root), factor))


def atanh(emit: Emit, number: Number, x: Any) -> SSAValue:
    """`sign(x) * log(1 + u) / 2`, u = 2 * |x| / (1 - |x|)."""
    size = emit(AbsOp, x)
    ratio = emit(DivOp, emit(AddOp, size, size), emit(SubOp, number(1), size))
    logarithm = emit(SoftplusOp, emit(LogOp, ratio))
    return emit(MulOp, emit(SignOp, x), emit(MulOp, logarithm, number(0.5)))


FORMULAS: Mapping[str, Formula] = {
    "acosh": acosh,
    "asinh": asinh,
    "atanh": atanh,
    "cosh": cosh,
    "sinh": sinh,
}
"""By their names in lower case."""
