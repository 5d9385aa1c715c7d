"""The expansion of each math operation on f32, which kernels write in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.builder import LoopBuilder


def _seldom(module: str, name: str) -> Callable[..., SSAValue]:
    """A function of a module that few networks need, which loads it when it is called."""

    def expand(builder: LoopBuilder, *operands: SSAValue) -> SSAValue:
        found = getattr(import_module(f"glow.lowering.loop_builder.{module}"), name)
        return found(builder, *operands)

    return expand


EXPANSIONS: Mapping[type[Operation], Callable[[LoopBuilder, SSAValue], SSAValue]] = {
    math.ExpOp: math_functions.exp,
    math.Exp2Op: math_functions.exp2,
    math.ExpM1Op: math_functions.expm1,
    math.LogOp: math_functions.log,
    math.Log1pOp: math_functions.log1p,
    math.Log2Op: math_functions.log2,
    math.Log10Op: math_functions.log10,
    math.TanhOp: math_functions.tanh,
    math.ErfOp: math_functions.erf,
    math.RsqrtOp: math_functions.rsqrt,
    math.SinOp: _seldom("trigonometry", "sin"),
    math.CosOp: _seldom("trigonometry", "cos"),
    math.TanOp: _seldom("trigonometry", "tan"),
    math.AsinOp: _seldom("trigonometry", "asin"),
    math.AcosOp: _seldom("trigonometry", "acos"),
    math.AtanOp: _seldom("trigonometry", "atan"),
}
"""Of one operand; others stay for the lowering (libm)."""

BINARY_EXPANSIONS: Mapping[
    type[Operation], Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]
] = {
    math.PowFOp: _seldom("power", "power"),
    arith.RemfOp: _seldom("remainder", "remainder"),
}
"""Of two operands."""
