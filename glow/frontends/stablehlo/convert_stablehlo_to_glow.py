"""Turns a program of StableHLO into a graph.

    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ...
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : ...
    %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  becomes
    %0 = glow.matmul %x, %w : tensor<4x8xf32>
    %2 = glow.add %0, %b : tensor<4x8xf32>

Calls are inlined first. Operations that have no nodes are told all at once, each with its
place. `glow.compile` and `glow run` do this to programs that need it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    ModuleOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from glow.dialects import arith
from glow.dialects.errors import GlowError
from glow.dialects.stablehlo import StableHloOp
from glow.dialects.weights import dense_to_numpy
from glow.frontends.conversion import Conversion
from glow.frontends.fold_biases import fold_biases
from glow.frontends.fold_broadcasts import fold_broadcasts
from glow.frontends.fold_positions import fold_positions
from glow.frontends.fold_reshapes import fold_reshapes
from glow.frontends.graph_builder import GraphBuilder
from glow.frontends.inline_calls import inline_calls
from glow.frontends.results import name_results
from glow.frontends.stablehlo import (
    bits,
    control_flow,
    elementwise,
    indexing,
    movement,
    pool_gradients,
    products,
    reductions,
    special,
)
from glow.frontends.stablehlo.hlo_builder import HloBuilder, LoopIndices
from glow.frontends.stablehlo.inline_maps import inline_maps
from glow.passes.rewriting.node_builder import erase_dead_nodes

HANDLERS = {
    **bits.HANDLERS,
    **elementwise.HANDLERS,
    **indexing.HANDLERS,
    **movement.HANDLERS,
    **pool_gradients.HANDLERS,
    **products.HANDLERS,
    **reductions.HANDLERS,
    **special.HANDLERS,
}

NAMED = {"stablehlo.composite": "name", "stablehlo.custom_call": "call_target_name"}
"""The property that says what is called."""


class ConvertStablehloToGlowPass(ModulePass):
    """Turn StableHLO into nodes of `glow`."""

    name = "convert-stablehlo-to-glow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert a module, which stays as it is if it has none of it."""
        if not any(isinstance(one, StableHloOp) for one in op.walk()):
            return
        inline_calls(op)
        inline_maps(op)
        conversion = StableHloConversion()
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                conversion.convert_block(function.body.block)
                name_results(function)
        conversion.raise_if_any()
        fold_broadcasts(op)
        fold_biases(op)
        fold_positions(op)
        fold_reshapes(op)
        erase_dead_nodes(op)
        for name in [name for name in op.attributes if name.startswith("mhlo.")]:
            del op.attributes[name]


class StableHloConversion(Conversion):
    """Converts StableHLO and CHLO, loops and conditions among them."""

    def __init__(self) -> None:
        super().__init__()
        self.loop_indices: LoopIndices = {}

    def is_foreign(self, op: Operation) -> bool:
        """All but terminators; constant tensors too, which torch-mlir writes for shapes."""
        if isinstance(op, arith.ConstantOp):
            return isa(op.value, DenseIntOrFPElementsAttr)
        return isinstance(op, StableHloOp) and op.name != "stablehlo.return"

    def convert(self, op: Operation) -> tuple[GraphBuilder, Sequence[SSAValue]]:
        """The values that take the place of the results."""
        if isinstance(op, arith.ConstantOp):
            return convert_constant(op)
        assert isinstance(op, StableHloOp)
        builder = HloBuilder(op, self.loop_indices)
        return builder, self._values(builder)

    def _values(self, builder: HloBuilder) -> Sequence[SSAValue]:
        name = builder.op.name
        if name in control_flow.HANDLERS:
            return control_flow.HANDLERS[name](builder, self.convert_block)
        if name not in HANDLERS:
            target = builder.op.properties.get(NAMED.get(name, ""))
            called = f" {target}" if target is not None else ""
            raise GlowError(f"not supported{called}")
        values = HANDLERS[name](builder)
        return [values] if isinstance(values, SSAValue) else values


def convert_constant(op: arith.ConstantOp) -> tuple[GraphBuilder, Sequence[SSAValue]]:
    """A constant tensor as a node."""
    assert isa(op.value, DenseIntOrFPElementsAttr)
    builder = GraphBuilder(op)
    name = op.result.name_hint or "constant"
    return builder, [builder.constant(dense_to_numpy(op.value), name)]
