"""The expansion of each math operation on f32, which kernels write in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from glow.dialects import arith
from glow.lowering.loop_builder import math_functions, trigonometry
from glow.lowering.loop_builder.builder import LoopBuilder
from glow.lowering.loop_builder.power import power
from glow.lowering.loop_builder.remainder import remainder

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
    math.SinOp: trigonometry.sin,
    math.CosOp: trigonometry.cos,
    math.TanOp: trigonometry.tan,
    math.AsinOp: trigonometry.asin,
    math.AcosOp: trigonometry.acos,
    math.AtanOp: trigonometry.atan,
}
"""Of one operand; others stay for the lowering (libm)."""

BINARY_EXPANSIONS: Mapping[
    type[Operation], Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]
] = {
    math.PowFOp: power,
    arith.RemfOp: remainder,
}
"""Of two operands."""
