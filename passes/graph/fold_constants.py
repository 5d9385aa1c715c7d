"""Computes at compile time what depends on constants alone.

The interpreter evaluates the node, so folding means what running means. Folding stays
in a budget: a result may not be larger than its operands (or a few ten thousand
elements), since a repeated or broadcast constant costs more as weights than it saves;
all results together may not take much more memory than the weights do; and all folds
together may take so many steps of the interpreter (multiplications of products, elements
of other nodes). A step takes it some ten times as long as native code, so what exceeds
the budget would only pay after many inferences, and is left to run time. The count is of
steps, not of seconds: the same network folds to the same program everywhere. Results are
entries of the weight table, named after the node; large uniform ones become `glow.splat`.

    %w = glow.constant @w : tensor<64x32xf32>
    %1 = glow.transpose %w permutation [1, 0] : tensor<32x64xf32>
  becomes
    %1 = glow.constant @w.transposed : tensor<32x64xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType
from xdsl.ir import SSAValue

from glow.dialects import glow
from glow.dialects.glow import MAX_INLINE_ELEMENTS
from glow.dialects.node import NodeOp, element_of, node_name, shape_of
from glow.dialects.quant import quantization_of
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import Array, stored_value, weights_of
from glow.interpreter import FUNCTIONS, evaluate_node
from glow.passes.rewriting.contract import NODES, GraphPass
from glow.passes.rewriting.node_builder import (
    NodeBuilder,
    erase_dead_nodes,
    like,
    name_of,
)
from glow.passes.rewriting.operations import all_operations

MAX_GROWTH = 1 << 16
"""Elements that a result may have although its operands have fewer."""

TABLE = 1 << 24
"""The same of tables, where importing would have folded those for a smaller size."""

MAX_STEPS = 1 << 27
"""Steps of all folds together: some tenths of a second."""

MIN_BYTES = 1 << 27
"""What all results may take beside twice the bytes of the weights."""

STORAGE = (glow.ConstantOp, glow.SplatOp)

STORED_SMALL = (glow.BlockDequantizeOp,)
"""Weights of a few bits: a backend reads them as they are, or makes floats of them itself."""
PRODUCTS = (
    glow.AttentionOp,
    glow.Conv2dOp,
    glow.MatmulOp,
    glow.FullyConnectedOp,
    glow.GemmOp,
    glow.GruOp,
    glow.LstmOp,
    glow.RnnOp,
)


CHEAP = frozenset((
    glow.AbsOp, glow.AddOp, glow.AndOp, glow.BroadcastOp, glow.ConcatOp, glow.ConvertOp,
    glow.DivOp, glow.EqualOp, glow.GatherOp, glow.LessEqualOp, glow.LessOp, glow.MaxOp,
    glow.MinOp, glow.ModOp, glow.MulOp, glow.NegOp, glow.NotEqualOp, glow.NotOp, glow.OrOp,
    glow.PadOp, glow.ReshapeOp,
    glow.SelectOp, glow.SliceOp, glow.SqrtOp, glow.SubOp, glow.TileOp, glow.TransposeOp,
    glow.XorOp,
))  # fmt: skip
"""Nodes that take the interpreter little more than writing their result takes."""

MATRIX_PRODUCTS = (glow.MatmulOp, glow.FullyConnectedOp, glow.GemmOp)
LIBRARY_SPEED = 32
"""Multiplications of floats in a step of theirs: NumPy's library does them, at 0.05 ns each on a
Zen 3. DeBERTa projects its table of relative positions in each layer, 1.8 * 10^9 in all."""

COSTLY_ELEMENT = 8
"""Steps for an element of other nodes: functions are computed in float64."""


@dataclass
class Budget:
    """What folds may still take."""

    bytes: int
    steps: int = MAX_STEPS

    def spend(self, op: NodeOp) -> bool:
        """Take the cost of a node off; False where too little is left."""
        steps, size = max(steps_of(op), 1), sum(map(bytes_of, op.results))
        if steps > self.steps or size > self.bytes:
            return False
        self.bytes -= size
        self.steps -= steps
        return True


def in_budget(op: NodeOp, growth: int = MAX_GROWTH) -> bool:
    """Whether the results are worth their memory and the time to compute them."""
    sizes = [
        prod(shape_of(value)) if isinstance(value.type, TensorType) else 1
        for value in op.inputs
    ]
    stored = [
        size
        for size, value in zip(sizes, op.inputs, strict=True)
        if isinstance(value.owner, glow.ConstantOp)
    ]
    produced = max((prod(shape_of(result)) for result in op.results), default=0)
    # A splat takes no memory until a node that is not cheap reads it.
    read = 0 if type(op) in CHEAP else sum(sizes) - sum(stored)
    return max(produced, read) <= max(sum(stored), growth)


def bytes_of(value: SSAValue) -> int:
    """The bytes of a tensor."""
    return prod(shape_of(value)) * dtype_of(element_of(value)).itemsize


def steps_of(op: NodeOp) -> int:
    """Multiplications of a product, else what writing or computing the elements costs."""
    produced = sum(prod(shape_of(result)) for result in op.results)
    if isinstance(op, PRODUCTS):
        weights = shape_of(op.operands[1])
        outputs = shape_of(op.results[0])[1 if isinstance(op, glow.Conv2dOp) else -1]
        steps = produced * max(prod(weights) // max(outputs, 1), 1)
        return max(steps // LIBRARY_SPEED, produced) if uses_library(op) else steps
    return produced // 4 if type(op) in CHEAP else produced * COSTLY_ELEMENT


def uses_library(op: NodeOp) -> bool:
    """Whether it is a product of matrices of floats."""
    is_float = isinstance(element_of(op.results[0]), AnyFloat)
    return is_float and isinstance(op, MATRIX_PRODUCTS)


def reads_constants(op: NodeOp) -> bool:
    """Whether no operand is computed."""
    return all(isinstance(value.owner, STORAGE) for value in op.inputs)


def operand_values(op: NodeOp) -> list[Array] | None:
    """The operands' values, or None when one is computed."""
    if not reads_constants(op):
        return None
    values = [stored_value(value) for value in op.inputs]
    return [value for value in values if value is not None]


def is_uniform(array: Array) -> bool:
    """Whether a large array holds one number only."""
    if array.size <= MAX_INLINE_ELEMENTS or array.dtype == np.bool_:
        return False
    first = array.reshape(-1)[:1]
    return bool(np.all(array == first)) and not np.any(np.signbit(first))


def _folded_name(op: NodeOp, result: SSAValue) -> str:
    """The node's name; unnamed nodes are named after their first operand's."""
    if node_name(op) is None and result.name_hint is None and op.inputs:
        return f"{name_of(op.inputs[0])}.{op.name.removeprefix('glow.')}"
    return name_of(result)


def fold(op: NodeOp, budget: Budget, growth: int = MAX_GROWTH) -> bool:
    """Replace a node on constants by its results, within a budget; whether that was."""
    if isinstance(op, (*STORAGE, *STORED_SMALL)) or type(op) not in FUNCTIONS:
        return False
    if not reads_constants(op) or not in_budget(op, growth):  # Few nodes do.
        return False
    operands = operand_values(op)
    if operands is None or not budget.spend(op):
        return False
    builder = NodeBuilder(op)
    results: list[SSAValue] = []
    for old, array in zip(op.results, evaluate_node(op, operands), strict=True):
        quantization = quantization_of(old.type)
        if quantization is not None:
            name = _folded_name(op, old)
            results.append(builder.quantized_constant(array, quantization, name))
        elif is_uniform(array):
            number = array.reshape(-1)[0].item()
            splat = glow.SplatOp.from_number(number, like(old, shape_of(old)))
            results.append(builder.insert(splat).results[0])
        else:
            results.append(builder.constant(array, _folded_name(op, old)))
    builder.replace(*results)
    return True


def fold_constants(module: ModuleOp) -> None:
    """Fold the module's nodes in program order, so that folds feed folds."""
    _fold_all(module, _all_nodes(module), MAX_GROWTH)


def fold_tables(module: ModuleOp) -> None:
    """Fold as importing does with what is small, but for products.

    The last bits of each element of a product depend on how many there are.
    """
    nodes = [op for op in _all_nodes(module) if not isinstance(op, PRODUCTS)]
    _fold_all(module, nodes, TABLE)


def _all_nodes(module: ModuleOp) -> list[NodeOp]:
    """The nodes of a module, in program order."""
    return [op for op in all_operations(module) if isinstance(op, NodeOp)]


def _fold_all(module: ModuleOp, nodes: Sequence[NodeOp], growth: int) -> None:
    table = weights_of(module)
    budget = Budget(MIN_BYTES + 2 * sum(table.entry(name).nbytes for name in table))
    if sum(fold(op, budget, growth) for op in nodes):
        erase_dead_nodes(module)


class FoldConstantsPass(GraphPass):
    """Compute nodes on constants at compile time."""

    name = "fold-constants"
    requires = ensures = (NODES,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on a module."""
        fold_constants(op)
