"""A function of one 8- or 16-bit number between casts is a table of its results.

It has 256 entries, or 65,536, as Glow's. The function itself in vectors of floats would take a
tenth less time than a table of 16 bits, but a number in a thousand then rounds to another step
than the function does in double precision, and no integer-only target has it.

  %1 = quant.dcast %0; %2 = glow.sigmoid %1; %3 = quant.qcast %2
becomes
  %3 = glow.lookup_table %0, %table
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.node import NodeOp, tensor_type
from glow.dialects.quant import Quantization, QuantizeCastOp
from glow.dialects.weights import numpy_to_dense
from glow.interpreter import evaluate_node
from glow.interpreter.arrays import Array
from glow.interpreter.integer_arithmetic import dequantize, quantize
from glow.passes.graph.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.quantization.casts import (
    common_target,
    dequantized,
    element,
    replace_casts,
    tensor_of,
)

TABLE_BITS = (8, 16)

FUNCTIONS: tuple[type[NodeOp], ...] = (
    glow.SigmoidOp, glow.TanhOp, glow.HardSwishOp, glow.HardSigmoidOp,
    glow.LeakyReluOp, glow.EluOp, glow.GeluOp, glow.GeluTanhOp, glow.SoftplusOp,
    glow.SoftsignOp, glow.MishOp, glow.ExpOp, glow.LogOp, glow.SqrtOp, glow.RsqrtOp,
    glow.ReciprocalOp, glow.AbsOp, glow.NegOp, glow.ErfOp, glow.ReluOp, glow.ClipOp,
    glow.FloorOp, glow.CeilOp, glow.RoundOp, glow.SinOp, glow.CosOp,
)  # fmt: skip
"""Functions of one number; the others are in scalar regions."""


def table_of(op: NodeOp, source: Quantization, target: Quantization) -> Array:
    """The stored result for each stored value, from the smallest on."""
    low, high = source.full_range
    numbers = dequantize(np.arange(low, high + 1), source)
    constant = glow.ConstantOp.build_node(
        [], [tensor_type(numbers.shape, f32)], value=numpy_to_dense(numbers)
    )
    node = type(op).build_node(
        [constant.result],
        None,
        regions=(),
        predicate=None,
        **attributes_of(op),
    )
    (values,) = evaluate_node(node, [numbers])
    return quantize(values, target)


def form_lookup_table(op: QuantizeCastOp) -> bool:
    """Turn a function between casts into a table."""
    node: Operation | object = op.input.owner
    target = common_target(op.input)
    if not isinstance(node, FUNCTIONS):
        return False
    source = dequantized(node.inputs[0])
    data = None if source is None else element(source)
    if source is None or data is None or target is None:
        return False
    if data.bits not in TABLE_BITS or data.axis is not None or target.axis is not None:
        return False
    builder = NodeBuilder(op)
    table = builder.constant(table_of(node, data, target), f"{name_of(op.input)}.table")
    result = builder.create(
        glow.LookupTableOp, [source, table], {}, types=[tensor_of(op.result)]
    )
    replace_casts(op.input, result)
    return True
