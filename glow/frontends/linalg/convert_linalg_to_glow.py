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
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects import arith
from glow.dialects.errors import GlowError
from glow.dialects.linalg import LinalgOp
from glow.dialects.node import NodeOp
from glow.frontends.conversion import Conversion
from glow.frontends.fold_biases import fold_biases
from glow.frontends.fold_broadcasts import fold_broadcasts
from glow.frontends.fold_positions import fold_positions
from glow.frontends.fold_reshapes import fold_reshapes
from glow.frontends.graph_builder import GraphBuilder
from glow.frontends.inline_calls import inline_calls
from glow.frontends.linalg import generics, products, tensors, windows
from glow.frontends.linalg.linalg_builder import LinalgBuilder
from glow.frontends.results import name_results
from glow.passes.rewriting.node_builder import erase, erase_dead_nodes

CONTROL = (scf.ForOp, scf.IfOp, scf.WhileOp)
KEPT = (NodeOp, ReturnOp, scf.YieldOp, scf.ConditionOp, tensor.EmptyOp)

REST = (arith.ConstantOp, tensor.EmptyOp, tensor.InsertSliceOp)

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
        if not _is_foreign(op):
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
        fold_positions(op)
        fold_reshapes(op)
        erase_dead_nodes(op)


class LinalgConversion(Conversion):
    """Converts linalg, tensor and constant tensors; scalars are read by those that use them."""

    def is_foreign(self, op: Operation) -> bool:
        """All that is no node, scalar, empty tensor or end of a body."""
        if op.name.startswith("arith.") or isinstance(op, tensor.ExtractOp):
            return any(isinstance(result.type, TensorType) for result in op.results)
        return not isinstance(op, KEPT) and not tensors.is_continued(op)

    def convert_block(self, block: Block) -> None:
        """Loops and branches stay what they are, around nodes."""
        for op in list(block.ops):
            if isinstance(op, CONTROL):
                for region in op.regions:
                    for inner in region.blocks:
                        self.convert_block(inner)
            elif self.is_foreign(op):
                self.replace(op)

    def convert(self, op: Operation) -> tuple[GraphBuilder, Sequence[SSAValue]]:
        """The values that take the place of the results."""
        if op.name not in HANDLERS:
            raise GlowError("not supported")
        builder = LinalgBuilder(op)
        values = HANDLERS[op.name](builder)
        return builder, [values] if isinstance(values, SSAValue) else values


def _is_foreign(module: ModuleOp) -> bool:
    """Whether a module is of linalg, or of tensors that are only moved."""
    ops = [op for op in module.walk() if not isinstance(op, FuncOp | ReturnOp)]
    if any(isinstance(op, LinalgOp) for op in ops):
        return True
    is_graph = any(isinstance(op, NodeOp) for op in ops)
    return not is_graph and any(op.name in HANDLERS for op in ops)


def _erase_rest(module: ModuleOp) -> None:
    """Take out what nothing reads any more, and seeds."""
    for op in reversed(list(module.walk())):
        is_read = any(result.uses for result in op.results)
        if (isinstance(op, REST) and not is_read) or op.name == "ml_program.global":
            erase(op)
