"""The table of the walk: which function lowers which op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from glow.dialects import arith, vector
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
from glow.lowering.loops_to_llvm.x86 import matrix_tiles
from glow.lowering.target.target import Target
from glow.lowering.type_guards import is_vector


def _contract(low: FunctionLowering, op: vector.ContractOp) -> None:
    """Loaded by networks with products of narrow elements, as each target has its own ways."""
    from glow.lowering.loops_to_llvm.contract import contract

    contract(low, op)


def _product(low: FunctionLowering, op: arith.MuliOp) -> None:
    """Of bytes, AArch64 and x86 multiply 16 bits."""
    find = _byte_products(low.target) if is_vector(op.result.type) else None
    found = find(low, op.lhs, op.rhs) if find else None
    if found is None:
        arithmetic.RULES[arith.MuliOp](low, op)
    else:
        low.set_registers(op.result, found)


ByteProducts = Callable[
    [FunctionLowering, SSAValue, SSAValue], Sequence[SSAValue] | None
]


def _byte_products(target: Target) -> ByteProducts | None:
    """How a target multiplies bytes; loaded by networks of bytes."""
    if target.is_aarch64:
        from glow.lowering.loops_to_llvm.neon_contract import product_of_bytes

        return product_of_bytes
    if target.is_x86:
        from glow.lowering.loops_to_llvm.x86 import byte_products

        return byte_products.product_of_bytes
    return None


OWN: Mapping[type[Operation], Rule] = {
    **arithmetic.RULES,
    **conversions.RULES,
    **memory.RULES,
    **vectors.RULES,
    **elements.RULES,
    **dict([entry(vector.ContractOp, _contract), entry(arith.MuliOp, _product)]),
    **matrix_tiles.RULES,
    **fused.RULES,
    **math_functions.RULES,
    **control_flow.RULES,
}

RULES: Mapping[type[Operation], Rule] = with_upstream(OWN)
