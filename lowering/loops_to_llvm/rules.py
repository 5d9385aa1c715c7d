"""The table of the walk: which function lowers which op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from glow.lowering.loops_to_llvm import (
    arithmetic,
    contract,
    control_flow,
    math_functions,
    memory,
    vectors,
)
from glow.lowering.loops_to_llvm.function_lowering import Rule

RULES: Mapping[type[Operation], Rule] = {
    **arithmetic.RULES,
    **memory.RULES,
    **vectors.RULES,
    **contract.RULES,
    **math_functions.RULES,
    **control_flow.RULES,
}
