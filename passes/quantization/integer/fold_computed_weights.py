"""Weights that are computed from constants, between casts, become quantized constants.

Tools cast what a node reads, computed or not. Weights that a network has as directions and
lengths (PyTorch's `weight_norm`) are multiplied between casts, then: kernels would take them for
activations.

    %1 = quant.dcast %v : tensor<8x4x!v> to tensor<8x4xf32>       // %v: a constant
    %2 = glow.mul %1, %length : tensor<8x4xf32>                   // so is %length
    %3 = quant.qcast %2 : tensor<8x4xf32> to tensor<8x4x!w>
  becomes
    %3 = glow.constant @v.mul.quantized : tensor<8x4x!w>

The interpreter computes them, within the budget of `fold-constants`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from glow.dialects.node import NodeOp
from glow.dialects.quant import QuantizeCastOp
from glow.dialects.weight_table import Array
from glow.interpreter import FUNCTIONS, evaluate_node
from glow.interpreter.integer_arithmetic import quantize
from glow.passes.graph.fold_constants import MIN_BYTES, Budget
from glow.passes.quantization.casts import element
from glow.passes.quantization.constants import constant_floats, has_floats
from glow.passes.quantization.integer.fold_casts import erase_dead_casts
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
    name_of,
)
from glow.passes.rewriting.operations import all_operations


class _Folding:
    """The values of a module that are computed from constants."""

    def __init__(self) -> None:
        self.computed: dict[SSAValue, NodeOp] = {}
        """In program order."""
        self.numbers: dict[SSAValue, Array] = {}
        self.budget = Budget(MIN_BYTES)

    def visit(self, op: Operation) -> None:
        """Take notice of a node, or replace a cast."""
        if isinstance(op, QuantizeCastOp) and op.input in self.computed:
            self._replace(op)
        elif isinstance(op, NodeOp) and type(op) in FUNCTIONS and len(op.results) == 1:
            known = [has_floats(value) or value in self.computed for value in op.inputs]
            if known and all(known) and not op.regions:
                self.computed[op.results[0]] = op

    def _replace(self, cast: QuantizeCastOp) -> None:
        target = element(cast.result)
        if target is None or not self._computes(cast.input):
            return
        builder, name = NodeBuilder(cast), f"{name_of(cast.input)}.quantized"
        stored = quantize(self.numbers[cast.input], target)
        builder.replace(builder.quantized_constant(stored, target, name))

    def _computes(self, value: SSAValue) -> bool:
        """Compute a value, and what it needs, unless that takes too long."""
        needed, found = {value}, [value]
        for each in found:
            more = self.computed[each].inputs
            found += (new := {one for one in more if one in self.computed} - needed)
            needed |= new
        for each, op in self.computed.items():
            if each in needed and each not in self.numbers:
                operands = [self._numbers_of(one) for one in op.inputs]
                known = [array for array in operands if array is not None]
                if len(known) < len(operands) or not self.budget.spend(op):
                    return False
                (self.numbers[each],) = evaluate_node(op, known)
        return True

    def _numbers_of(self, value: SSAValue) -> Array | None:
        """Those of a constant, or of what was computed."""
        found = self.numbers.get(value)
        return constant_floats(value) if found is None else found


def fold_computed_weights(module: ModuleOp) -> None:
    """Replace the casts of what is computed from constants alone."""
    folding = _Folding()
    for op in all_operations(module):
        folding.visit(op)
    if folding.numbers:
        erase_dead_nodes(module)
        erase_dead_casts(module)


class FoldComputedWeightsPass(ModulePass):
    """Make quantized constants of what casts read that is computed from constants."""

    name = "fold-computed-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        fold_computed_weights(op)
