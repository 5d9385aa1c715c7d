"""The table of the walk: which function prints which op."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.arith import Arith
from xdsl.ir import Operation

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

BY_NAME = {op_class.name: rule for op_class, rule in OWN.items()}

RULES: Mapping[type[Operation], Rule] = {
    **{op: BY_NAME[op.name] for op in Arith.operations if op.name in BY_NAME},
    **OWN,
}
"""xDSL's own `arith` classes too: its rewrites make them where ours are loaded."""
