"""The table of the walk: which function lowers which op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from glow.dialects import vector
from glow.lowering.loops_to_llvm import (
    arithmetic,
    control_flow,
    conversions,
    elements,
    fused,
    math_functions,
    memory,
    vectors,
)
from glow.lowering.loops_to_llvm.function_lowering import (
    FunctionLowering,
    Rule,
    entry,
    with_upstream,
)


def _contract(low: FunctionLowering, op: vector.ContractOp) -> None:
    """Loaded by networks with products of narrow elements, as each target has its own ways."""
    from glow.lowering.loops_to_llvm.contract import contract

    contract(low, op)


OWN: Mapping[type[Operation], Rule] = {
    **arithmetic.RULES,
    **conversions.RULES,
    **memory.RULES,
    **vectors.RULES,
    **elements.RULES,
    **dict([entry(vector.ContractOp, _contract)]),
    **fused.RULES,
    **math_functions.RULES,
    **control_flow.RULES,
}

RULES: Mapping[type[Operation], Rule] = with_upstream(OWN)
