"""Linear layers whose input is quantized row by row while the network runs.

    %1 = glow.matmul %x, %w : tensor<9x64xf32>
  becomes
    %1 = glow.dynamic_matmul %x, %q : tensor<9x64xf32>

No profile is needed, each row has a scale of its own, and results do not depend on the
batch: the most accurate scheme for transformers, whose outliers sit in few rows.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.node import NodeOp
from glow.dialects.weights import constant_value
from glow.interpreter.integer_arithmetic import quantize
from glow.passes.graph.fuse_activation import ACTIVATIONS
from glow.passes.quantization.profiling.schema import weight_parameters
from glow.passes.rewriting.node_builder import NodeBuilder, name_of

ARGUMENTS = {"clip": ("low", "high"), "leaky_relu": ("alpha",)}


def per_row_quantize(op: Operation, *, per_channel: bool) -> None:
    """Replace a linear layer by one that quantizes its rows."""
    assert isinstance(op, NodeOp)
    builder = NodeBuilder(op)
    weights = constant_value(op.inputs[1])
    assert weights is not None
    data = weight_parameters(weights, 1 if per_channel else None)
    stored = quantize(np.asarray(weights), data)
    constant = builder.quantized_constant(
        stored, data, f"{name_of(op.inputs[1])}.i{data.bits}"
    )
    result = builder.node(glow.DynamicMatmulOp, op.inputs[0], constant, *op.inputs[2:])
    attributes = op.attributes_view()
    if "activation" in op.property_names() and attributes.has("activation"):
        name = attributes.string("activation")
        node = next(kind for kind in ACTIVATIONS if kind.name == f"glow.{name}")
        names = ARGUMENTS.get(name, ())
        numbers = attributes.floats("activation_args") if names else ()
        arguments: dict[str, AttributeValue] = dict(zip(names, numbers, strict=True))
        result = builder.node(node, result, **arguments)
    builder.replace(result)
