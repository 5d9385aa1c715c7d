"""A function of one 8- or 16-bit number between casts is a table of its results.

It has 256 entries, or 65,536, as Glow's. The function itself in vectors of floats would take a
tenth less time than a table of 16 bits, but a number in a thousand then rounds to another step
than the function does in double precision, and no integer-only target has it.

  %1 = quant.dcast %0; %2 = glow.sigmoid %1; %3 = quant.qcast %2
becomes
  %3 = glow.lookup_table %0, %table

A swish, which is a sigmoid and a product, is one function too.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.node import NodeOp, tensor_type
from glow.dialects.quant import Quantization, QuantizeCastOp
from glow.dialects.weights import numpy_to_dense
from glow.interpreter import evaluate_node
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.passes.quantization.casts import (
    common_target,
    dequantized,
    element,
    replace_casts,
    tensor_of,
)
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of

TABLE_BITS = (8, 16)

FUNCTIONS: tuple[type[NodeOp], ...] = tuple(
    node for node, facts in glow.FACTS.items() if facts.table
)
"""Functions of one number; the others are in scalar regions."""


def gated_input(node: NodeOp) -> SSAValue | None:
    """x of the swish `x * sigmoid(x)`."""
    for x, gate in (node.operands[:2], node.operands[1::-1]):
        owner = gate.owner
        if isinstance(owner, glow.SigmoidOp) and owner.operands[0] is x:
            return x if gate.has_one_use() else None
    return None


def input_of(node: Operation | object) -> SSAValue | None:
    """The number that a node is a function of, if it has a table."""
    if isinstance(node, glow.MulOp):
        return gated_input(node)
    return node.inputs[0] if isinstance(node, FUNCTIONS) else None


def function_value(value: SSAValue, x: SSAValue, numbers: Array) -> Array:
    """What a value is where `x`, of which it is a function, is these numbers."""
    node = value.owner
    if value is x:
        return numbers
    assert isinstance(node, NodeOp)
    operands = [function_value(operand, x, numbers) for operand in node.inputs]
    constants = [
        glow.ConstantOp.build_node(
            [], [tensor_type(array.shape, f32)], value=numpy_to_dense(array)
        )
        for array in operands
    ]
    alone = type(node).build_node(
        constants, None, regions=(), predicate=None, **attributes_of(node)
    )
    (result,) = evaluate_node(alone, operands)
    return result


def table_of(
    value: SSAValue, x: SSAValue, source: Quantization, target: Quantization
) -> Array:
    """The stored result for each stored value, from the smallest on."""
    low, high = source.full_range
    numbers = dequantize(np.arange(low, high + 1), source)
    return quantize(function_value(value, x, numbers), target)


def form_lookup_table(op: QuantizeCastOp) -> bool:
    """Turn a function between casts into a table."""
    target, number = common_target(op.input), input_of(op.input.owner)
    source = None if number is None else dequantized(number)
    data = None if source is None else element(source)
    if number is None or source is None or data is None or target is None:
        return False
    if data.bits not in TABLE_BITS or data.axis is not None or target.axis is not None:
        return False
    builder = NodeBuilder(op)
    table = builder.constant(
        table_of(op.input, number, data, target), f"{name_of(op.input)}.table"
    )
    result = builder.create(
        glow.LookupTableOp, [source, table], {}, types=[tensor_of(op.result)]
    )
    replace_casts(op.input, result)
    return True
