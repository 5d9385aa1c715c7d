"""Which nodes compute on quantized elements, and the rule of each for element types."""

from __future__ import annotations

from glow.dialects.glow import convolution, elementwise, matmul, normalization, shape
from glow.dialects.node import NodeOp
from glow.dialects.quantized import (
    IntegerForm,
    arithmetic_form,
    lookup_form,
    movement_form,
    product_form,
)

PRODUCTS: dict[type[NodeOp], IntegerForm] = {
    convolution.Conv2dOp: product_form(0),
    matmul.FullyConnectedOp: product_form(-1),
    matmul.MatmulOp: product_form(-1),
}
"""Integer products with 32-bit accumulators."""

ARITHMETIC: tuple[type[NodeOp], ...] = (
    elementwise.AddOp, elementwise.SubOp, elementwise.MulOp, elementwise.MaxOp,
    elementwise.MinOp, elementwise.ReluOp, elementwise.ClipOp, convolution.AvgPool2dOp,
    normalization.ReduceMeanOp,
)  # fmt: skip
"""Nodes whose result is requantized."""

MOVEMENT: tuple[type[NodeOp], ...] = (
    shape.ReshapeOp, shape.TransposeOp, shape.ConcatOp, shape.SliceOp, shape.PadOp,
    shape.BroadcastOp, shape.TileOp, shape.GatherOp, convolution.MaxPool2dOp,
    elementwise.SelectOp,
)  # fmt: skip
"""Nodes that move or choose elements."""

INTEGER_FORMS: dict[type[NodeOp], IntegerForm] = {
    **PRODUCTS,
    **dict.fromkeys(ARITHMETIC, arithmetic_form),
    **dict.fromkeys(MOVEMENT, movement_form),
    shape.GatherOp: lookup_form,
}
