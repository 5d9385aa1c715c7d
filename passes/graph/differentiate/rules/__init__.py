"""How gradients pass each node, by theme.

A rule gets the gradients of an operation's results, and gives those of its inputs:

    def matmul(builder, op, gradients):
        ...
        return [gradient of op.lhs, gradient of op.rhs]

None stands for zero: of a result that the loss does not depend on, or of an input that has no
gradient. A gradient of a result has its type. What a rule gives for an input may have elements
of another type, and another shape: one that broadcasts to the input's, or to which the input
broadcasts, since the walk undoes both. Rules need not ask which inputs need a gradient, as what
nobody uses is erased; `builder.needed` tells where that saves more than a few nodes.

Element-wise nodes have their rule as `Facts.derivative`. Nodes of which gradients make no sense
stand in `no_derivative.py`; a test fails for a node that is in neither table.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from glow.passes.graph.differentiate.rules import (
    attention,
    branches,
    convolutions,
    elementwise,
    factorization,
    fake_quantization,
    fused,
    indexing,
    loops,
    loss,
    movement,
    normalizations,
    pools,
    products,
    recurrent,
    reductions,
    sampling,
    segments,
    training,
)
from glow.passes.graph.differentiate.rules.no_derivative import (
    NO_DERIVATIVE as NO_DERIVATIVE,
)
from glow.passes.graph.differentiate.rules.rule import Gradients as Gradients
from glow.passes.graph.differentiate.rules.rule import Rule as Rule

RULES: Mapping[type[Operation], Rule] = {
    **elementwise.RULES,
    **loss.RULES,
    **fake_quantization.RULES,
    **training.RULES,
    **products.RULES,
    **convolutions.RULES,
    **pools.RULES,
    **normalizations.RULES,
    **reductions.RULES,
    **indexing.RULES,
    **segments.RULES,
    **sampling.RULES,
    **attention.RULES,
    **movement.RULES,
    **factorization.RULES,
    **fused.RULES,
    **recurrent.RULES,
    **branches.RULES,
    **loops.RULES,
}
"""Operation class to rule."""
