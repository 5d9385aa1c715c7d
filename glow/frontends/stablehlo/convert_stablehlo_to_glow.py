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
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from glow.dialects import arith
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import OUTPUT_NAMES
from glow.dialects.locations import place_of
from glow.dialects.node import NodeOp, shape_of
from glow.dialects.stablehlo import StableHloOp
from glow.dialects.weights import dense_to_numpy
from glow.frontends.stablehlo import (
    control_flow,
    elementwise,
    indexing,
    movement,
    products,
    reductions,
)
from glow.frontends.stablehlo.fold_biases import fold_biases
from glow.frontends.stablehlo.fold_broadcasts import fold_broadcasts
from glow.frontends.stablehlo.hlo_builder import HloBuilder, LoopIndices
from glow.frontends.stablehlo.inline_calls import inline_calls
from glow.passes.graph.fold_constants import Budget, fold
from glow.passes.rewriting.node_builder import NodeBuilder, erase_dead_nodes

HANDLERS = {
    **elementwise.HANDLERS,
    **indexing.HANDLERS,
    **movement.HANDLERS,
    **products.HANDLERS,
    **reductions.HANDLERS,
}

BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    StopIteration,
    TypeError,
    ValueError,
)
"""What handlers raise for operands, properties or regions that StableHLO does not allow."""

NAMED = {"stablehlo.composite": "name", "stablehlo.custom_call": "call_target_name"}
"""The property that says what is called."""

MOST_LISTED = 20
"""Operations that one message lists; the rest is counted."""


FOLDED_SIZE = 16
"""Elements of an operand: counts and bounds are computed here, weights by `fold-constants`."""

FOLDED_BYTES = 1 << 20


class ConvertStablehloToGlowPass(ModulePass):
    """Turn StableHLO into nodes of `glow`."""

    name = "convert-stablehlo-to-glow"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert a module, which stays as it is if it has none of it."""
        if not any(isinstance(one, StableHloOp) for one in op.walk()):
            return
        inline_calls(op)
        conversion = Conversion()
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                conversion.convert_block(function.body.block)
                _name_results(function)
        conversion.raise_if_any()
        fold_broadcasts(op)
        fold_biases(op)
        erase_dead_nodes(op)
        for name in [name for name in op.attributes if name.startswith("mhlo.")]:
            del op.attributes[name]


class Conversion:
    """Converts blocks, and notes what cannot be converted."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.loop_indices: LoopIndices = {}
        self.budget = Budget(FOLDED_BYTES)

    def convert_block(self, block: Block) -> None:
        """Convert the operations of a block, in order."""
        for op in list(block.ops):
            if isinstance(op, StableHloOp) and op.name != "stablehlo.return":
                self._convert(op)
            elif isinstance(op, arith.ConstantOp):
                _convert_constant(op)

    def _convert(self, op: StableHloOp) -> None:
        builder = HloBuilder(op, self.loop_indices)
        try:
            values = self._values(builder)
            for old, new in zip(op.results, values, strict=True):
                if old.type != new.type:
                    raise GlowError(f"it says {old.type}, and gives {new.type}")
            builder.replace(*values)
            self._fold(builder)
        except (GlowError, VerifyException) as error:
            reason = error.message if isinstance(error, GlowError) else str(error)
            self._refuse(op, reason)
        except BROKEN:
            self._refuse(op, "its operands, properties or regions do not fit together")

    def _refuse(self, op: StableHloOp, reason: str) -> None:
        line = " ".join(reason.split())
        self.failures.append(f"'{op.name}' at {place_of(op)} ({line})")

    def _fold(self, builder: HloBuilder) -> None:
        """Compute the new nodes on small constants, which later conversions look at."""
        for node in builder.made:
            if node.parent is not None and _is_small(node):
                fold(node, self.budget)

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

    def raise_if_any(self) -> None:
        """Raise one GlowError that lists everything that was not converted."""
        if not self.failures:
            return
        count = len(self.failures)
        what = "operation is" if count == 1 else "operations are"
        listed = "; ".join(self.failures[:MOST_LISTED])
        rest = f"; and {count - MOST_LISTED} more" if count > MOST_LISTED else ""
        raise GlowError(f"{count} {what} not converted: {listed}{rest}")


def _is_small(node: NodeOp) -> bool:
    """Whether a node has tensors of a few elements only."""
    values = (*node.inputs, *node.results)
    return all(
        isinstance(one.type, TensorType) and prod(shape_of(one)) <= FOLDED_SIZE
        for one in values
    )


def _convert_constant(op: arith.ConstantOp) -> None:
    """Make a node of a constant tensor, which torch-mlir writes for shapes."""
    if isa(op.value, DenseIntOrFPElementsAttr):
        builder = NodeBuilder(op)
        name = op.result.name_hint or "constant"
        builder.replace(builder.constant(dense_to_numpy(op.value), name))


def _name_results(function: FuncOp) -> None:
    """Take the names of the outputs from what JAX tells of them."""
    attributes = function.res_attrs
    function.res_attrs = None
    function.arg_attrs = None
    if attributes is None or OUTPUT_NAMES in function.attributes:
        return
    names = [_result_name(one, number) for number, one in enumerate(attributes)]
    if len(set(names)) == len(names):
        function.attributes[OUTPUT_NAMES] = ArrayAttr(map(StringAttr, names))


def _result_name(attributes: DictionaryAttr, number: int) -> str:
    """`result['logits']` is `logits`; what has no name is numbered."""
    info = attributes.data.get("jax.result_info")
    text = info.data if isinstance(info, StringAttr) else ""
    name = text.removeprefix("result").strip(".[]'\"")
    return f"output{number}" if not name or name.isdigit() else name
