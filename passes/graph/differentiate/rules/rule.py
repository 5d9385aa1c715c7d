"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from glow.passes.graph.differentiate.gradient_builder import GradientBuilder

Gradients: TypeAlias = Sequence[SSAValue | None]

Rule: TypeAlias = Callable[[GradientBuilder, Operation, Gradients], Gradients]
"""`rule(builder, op, gradients of the results)`: the gradients of the inputs.

Inputs are `NodeOp.inputs`; of other operations the operands, then what their regions use from
around them (`reverse_walk.inputs_of`).
"""
