"""Fails where a float node is left whose result reaches a product.

What follows the last product (softmax, logits) and what precedes the first cast may be
float; anything between is a hole in the integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.glow.integer_forms import PRODUCTS
from glow.dialects.node import NodeOp, node_name
from glow.dialects.quantized import any_quantized
from glow.passes.quantization.profiling.instrument_profile import functions_of
from glow.passes.quantization.selection import is_kept

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


@dataclass(frozen=True)
class AssertAllQuantizedPass(ModulePass):
    """Fail where a float node is left between integer products, but for those in `keep`."""

    name = "assert-all-quantized"

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        found = [
            hole
            for function in functions_of(op)
            for hole in holes(function.body.block)
            if not is_kept(hole, self.keep)
        ]
        if found:
            raise GlowError(f"not quantized: {_listed(found)}")


def _listed(nodes: list[Operation]) -> str:
    names = [
        f"{op.name} '{node_name(op) or op.results[0].name_hint or ''}'"
        for op in nodes[:MAX_LISTED]
    ]
    more = len(nodes) - MAX_LISTED
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
