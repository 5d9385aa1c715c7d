"""Folds the scaling of products, and of what they are made from, into weights.

`(q k') / 8` is a pass over a large matrix of scores; a factor in the projection that
makes q costs nothing. The scale moves up from the product, or from one of its operands,
through reshapes, transposes and the addition of a constant bias, as long as nobody else
reads these values.

    %q = glow.matmul %x, %w : tensor<1x128x64xf32>
    %s = glow.matmul %q, %k transpose_rhs : tensor<1x128x128xf32>
    %y = glow.div %s, %eight : tensor<1x128x128xf32>
  becomes
    %q = glow.matmul %x, %w.scaled : tensor<1x128x64xf32>
    %y = glow.matmul %q, %k transpose_rhs : tensor<1x128x128xf32>
"""

from __future__ import annotations

from math import isfinite

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.weights import constant_value
from glow.passes.rewriting.contract import VALUES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
    name_of,
    rewrite_nodes,
)

MOVES = (glow.ReshapeOp, glow.TransposeOp)

Operand = tuple[Operation, int]
"""An operation and the number of one of its operands."""


def factor_of(op: Operation) -> tuple[SSAValue, float] | None:
    """x and c of `x * c` or `x / (1 / c)` with one finite number c."""
    lhs, rhs = op.operands[:2]
    if isinstance(op, glow.MulOp) and constant_value(lhs) is not None:
        lhs, rhs = rhs, lhs
    array = constant_value(rhs)
    if array is None or array.size != 1 or array.dtype.kind != "f":
        return None
    number = float(array.reshape(()).item())
    if isinstance(op, glow.DivOp):
        number = 1 / number if number else float("inf")
    same_type = lhs.type == op.results[0].type
    return (lhs, number) if same_type and isfinite(number) else None


def scalable_constants(value: SSAValue) -> list[Operand] | None:
    """The constants whose scaling scales the value, None where that is impossible."""
    owner = value.owner
    if not value.has_one_use() or not isinstance(owner, Operation):
        return None
    if isinstance(owner, MOVES):
        return scalable_constants(owner.operands[0])
    if isinstance(owner, glow.AddOp):
        return _scalable_sum(owner)
    is_product = isinstance(owner, glow.MatmulOp | glow.FullyConnectedOp)
    if not is_product or constant_value(owner.operands[1]) is None:
        return None
    if isinstance(owner, glow.FullyConnectedOp):
        return _scalable_layer(owner)
    return [(owner, 1)]


def _scalable_sum(op: Operation) -> list[Operand] | None:
    for index in (0, 1):
        if constant_value(op.operands[index]) is not None:
            rest = scalable_constants(op.operands[1 - index])
            return None if rest is None else [*rest, (op, index)]
    return None


def _scalable_layer(op: glow.FullyConnectedOp) -> list[Operand] | None:
    if op.activation is not None:
        return None
    if op.bias is None:
        return [(op, 1)]
    return [(op, 1), (op, 2)] if constant_value(op.bias) is not None else None


def scale_constant(operand: Operand, factor: float) -> None:
    """Replace a constant operand by its product with a number."""
    op, index = operand
    value = op.operands[index]
    array = constant_value(value)
    assert array is not None
    scaled = np.multiply(array, np.float64(factor)).astype(array.dtype)
    op.operands[index] = NodeBuilder(op).constant(scaled, f"{name_of(value)}.scaled")


def fold_scale(op: Operation) -> None:
    """Move a factor of a value into the constants that make it, or one of its operands."""
    found = factor_of(op)
    if found is None or not found[0].has_one_use():
        return
    value, factor = found
    owner = value.owner
    operands = owner.operands[:2] if isinstance(owner, glow.MatmulOp) else ()
    for made in (value, *operands):
        constants = scalable_constants(made)
        if constants is not None:
            for constant in constants:
                scale_constant(constant, factor)
            NodeBuilder(op).replace(value)
            return


class FoldScalePass(GraphPass):
    """Fold the scaling of products into weights."""

    name = "fold-scale"
    preserves = VALUES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        rewrite_nodes(op, dict.fromkeys((glow.MulOp, glow.DivOp), fold_scale))
        erase_dead_nodes(op)
