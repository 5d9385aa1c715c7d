"""Turns a program of TOSA into a graph.

    %0 = tosa.transpose %x {perms = array<i32: 0, 2, 3, 1>} : ...
    %1 = tosa.conv2d %0, %w, %b, %z, %z {pad = array<i64: 1, 1, 1, 1>, ...} : ...
    %2 = tosa.clamp %1 {min_val = 0.0 : f32, max_val = 3.40282347E+38 : f32} : ...
  becomes
    %1 = glow.conv2d %x, %w, %b {pads = [1, 1, 1, 1]} : tensor<1x8x16x16xf32>
    %2 = glow.relu %1 : tensor<1x8x16x16xf32>

between transpositions, which `eliminate-transposes` takes out. Operations that have no nodes
are told all at once, each with its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects.errors import GlowError
from glow.dialects.tosa import TosaOp
from glow.frontends.conversion import Conversion
from glow.frontends.fold_broadcasts import fold_broadcasts
from glow.frontends.fold_positions import fold_positions
from glow.frontends.fold_reshapes import fold_reshapes
from glow.frontends.graph_builder import GraphBuilder
from glow.frontends.inline_calls import inline_calls
from glow.frontends.results import name_results
from glow.frontends.tosa import elementwise, movement, rescale, windows
from glow.frontends.tosa.fold_groups import fold_groups
from glow.frontends.tosa.tosa_builder import Rescaled, TosaBuilder
from glow.passes.quantization.integer.fold_storage_casts import fold, fold_storage_casts
from glow.passes.rewriting.node_builder import erase, erase_dead_nodes

HANDLERS = {
    **elementwise.HANDLERS,
    **movement.HANDLERS,
    **rescale.HANDLERS,
    **windows.HANDLERS,
}

SHAPE = "tosa.const_shape"


class ConvertTosaToGlowPass(ModulePass):
    """Turn TOSA into nodes of `glow`."""

    name = "convert-tosa-to-glow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert a module, which stays as it is if it has none of it."""
        if not any(isinstance(one, TosaOp) for one in op.walk()):
            return
        inline_calls(op)
        conversion = TosaConversion()
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                conversion.convert_block(function.body.block)
                name_results(function)
        conversion.raise_if_any()
        for one in list(op.walk()):
            if one.name == SHAPE:
                erase(one)
        fold_positions(op)
        fold_reshapes(op)
        fold_broadcasts(op)
        fold_storage_casts(op)
        fold_groups(op)
        erase_dead_nodes(op)


class TosaConversion(Conversion):
    """Converts TOSA; shapes are read by those whose operands they are."""

    def __init__(self) -> None:
        super().__init__()
        self.rescaled: dict[SSAValue, Rescaled] = {}

    def is_foreign(self, op: Operation) -> bool:
        """All but shapes."""
        return isinstance(op, TosaOp) and op.name != SHAPE

    def convert(self, op: Operation) -> tuple[GraphBuilder, Sequence[SSAValue]]:
        """The value that takes the place of the result."""
        assert isinstance(op, TosaOp)
        name = op.name.partition(".")[2]
        if name not in HANDLERS:
            raise GlowError("not supported")
        builder = TosaBuilder(op, self.rescaled)
        return builder, [HANDLERS[name](builder)]

    def settle(self, builder: GraphBuilder) -> None:
        """Move quantized elements instead of their integers, too."""
        super().settle(builder)
        for node in builder.made:
            if node.parent is not None:
                fold(node)
