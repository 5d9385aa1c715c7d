"""Turns a program of linalg on tensors into a graph.

    %0 = linalg.fill ins(%zero : f32) outs(%empty : ...) -> tensor<2x4xf32>
    %1 = linalg.matmul ins(%x, %w : ...) outs(%0 : ...) -> tensor<2x4xf32>
    %2 = linalg.generic {...} ins(%1, %b : ...) outs(%empty : ...) {arith.addf} -> tensor<2x4xf32>
  becomes
    %1 = glow.matmul %x, %w : tensor<2x4xf32>
    %2 = glow.add %1, %b : tensor<2x4xf32>

Start values that change nothing are left out. Bodies and operations that have no nodes are told
all at once, each with its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import arith
from glow.dialects.errors import GlowError
from glow.dialects.linalg import LinalgOp
from glow.dialects.node import NodeOp
from glow.frontends.conversion import Conversion
from glow.frontends.fold_biases import fold_biases
from glow.frontends.fold_broadcasts import fold_broadcasts
from glow.frontends.graph_builder import GraphBuilder
from glow.frontends.inline_calls import inline_calls
from glow.frontends.linalg import generics, products, tensors, windows
from glow.frontends.linalg.linalg_builder import LinalgBuilder
from glow.frontends.results import name_results
from glow.passes.rewriting.node_builder import erase, erase_dead_nodes

HANDLERS = {
    **generics.HANDLERS,
    **products.HANDLERS,
    **tensors.HANDLERS,
    **windows.HANDLERS,
}


class ConvertLinalgToGlowPass(ModulePass):
    """Turn linalg on tensors into nodes of `glow`."""

    name = "convert-linalg-to-glow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert a module, which stays as it is if it has none of it."""
        if not any(isinstance(one, LinalgOp) for one in op.walk()):
            return
        inline_calls(op)
        conversion = LinalgConversion()
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                conversion.convert_block(function.body.block)
                name_results(function)
        conversion.raise_if_any()
        _erase_rest(op)
        fold_broadcasts(op)
        fold_biases(op)
        erase_dead_nodes(op)


class LinalgConversion(Conversion):
    """Converts linalg, tensor and constant tensors; scalars are read by those that use them."""

    def is_foreign(self, op: Operation) -> bool:
        """All that is no node, scalar constant or empty tensor."""
        if isinstance(op, arith.ConstantOp):
            return isinstance(op.result.type, TensorType)
        return not isinstance(op, NodeOp | ReturnOp | tensor.EmptyOp)

    def convert(self, op: Operation) -> tuple[GraphBuilder, Sequence[SSAValue]]:
        """The values that take the place of the results."""
        if op.name not in HANDLERS:
            raise GlowError("not supported")
        builder = LinalgBuilder(op)
        values = HANDLERS[op.name](builder)
        return builder, [values] if isinstance(values, SSAValue) else values


def _erase_rest(module: ModuleOp) -> None:
    """Take out the constants, empty tensors and seeds that nothing reads any more."""
    for op in reversed(list(module.walk())):
        is_read = any(result.uses for result in op.results)
        is_scalar = isinstance(op, arith.ConstantOp | tensor.EmptyOp) and not is_read
        if is_scalar or op.name == "ml_program.global":
            erase(op)
