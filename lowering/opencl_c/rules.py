"""The table of the walk: which function prints which op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from glow.lowering.loops_to_llvm.function_lowering import with_upstream
from glow.lowering.opencl_c import (
    arithmetic,
    comparisons,
    contract,
    control_flow,
    conversions,
    math_functions,
    memory,
    vectors,
)
from glow.lowering.opencl_c.function_printer import Rule

OWN: Mapping[type[Operation], Rule] = {
    **arithmetic.RULES,
    **comparisons.RULES,
    **conversions.RULES,
    **math_functions.RULES,
    **memory.RULES,
    **vectors.RULES,
    **contract.RULES,
    **control_flow.RULES,
}

RULES: Mapping[type[Operation], Rule] = with_upstream(OWN)
