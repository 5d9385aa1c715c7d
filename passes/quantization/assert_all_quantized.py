"""Fails where a float node is left whose result reaches a product.

What follows the last product (softmax, logits) and what precedes the first cast may be
float; anything between is a hole in the integers.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.node import NodeOp, node_name
from glow.dialects.quantized import any_quantized

STORAGE = (glow.ConstantOp, glow.SplatOp)
MAX_LISTED = 5


def is_float_node(op: Operation) -> bool:
    """Whether a node computes on floats only."""
    values = [value.type for value in (*op.operands, *op.results)]
    return isinstance(op, NodeOp) and not any_quantized(values)


def reaching_products(block: Block) -> set[SSAValue]:
    """The values that a product depends on."""
    reached: set[SSAValue] = set()
    for op in reversed(list(block.ops)):
        is_product = isinstance(op, (*PRODUCTS, glow.DynamicMatmulOp))
        if is_product or any(result in reached for result in op.results):
            reached.update(op.operands)
    return reached


def depending_on_products(block: Block) -> set[SSAValue]:
    """The values that depend on a product, and the products' own results."""
    found: set[SSAValue] = set()
    for op in block.ops:
        if isinstance(op, tuple(PRODUCTS)) or any(v in found for v in op.operands):
            found.update(op.results)
    return found


def holes(block: Block) -> list[Operation]:
    """Float nodes between products, and float products."""
    before, after = reaching_products(block), depending_on_products(block)
    return [
        op
        for op in block.ops
        if is_float_node(op)
        and not isinstance(op, STORAGE)
        and (
            isinstance(op, tuple(PRODUCTS))
            or any(result in before and result in after for result in op.results)
        )
    ]


class AssertAllQuantizedPass(ModulePass):
    """Fail where a float node is left between integer products."""

    name = "assert-all-quantized"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        from glow.passes.quantization.instrument_profile import functions_of

        found = [hole for f in functions_of(op) for hole in holes(f.body.block)]
        if found:
            listed = ", ".join(
                f"{hole.name} '{node_name(hole) or hole.results[0].name_hint or ''}'"
                for hole in found[:MAX_LISTED]
            )
            more = f" and {len(found) - MAX_LISTED} more" * (len(found) > MAX_LISTED)
            raise GlowError(f"not quantized: {listed}{more}")
