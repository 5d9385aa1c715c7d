"""Quantization that training sees: floats that are rounded as integers will be."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.dialects.attributes import Attributes
from glow.dialects.glow.normalization import check_axis, check_float
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes

SMALLEST, LARGEST = -(1 << 31), (1 << 31) - 1
"""Stored integers have 32 bits at most."""


@irdl_op_definition
class FakeQuantizeOp(NodeOp):
    """`quant.qcast` and `quant.dcast` in floats, with a scale that may be computed.

        q = clamp(round(input / scale) + round(zero_point), low, high)
        result = (q - round(zero_point)) * scale

    Each step is one operation in the input's element type and rounds to nearest even, so
    that f32 numbers become those that the two casts give. NaN stays NaN: training is to
    notice it. `scale` and `zero_point` (0 where it is left out) are scalars, or have one
    number for each index of `axis`; all are floats of one type. The gradient of the input
    is that of the result where the result is not saturated, else 0 (straight through);
    scale and zero point have gradients too.

    Source: torch.fake_quantize_per_tensor_affine and _per_channel_affine; Esser et al.,
    Learned Step Size Quantization (2020), for the gradient of the scale.
    """

    name = "glow.fake_quantize"
    input = operand_def(TensorType)
    scale = operand_def(TensorType)
    zero_point = opt_operand_def(TensorType)
    result = result_def(TensorType)
    low = prop_def(IntegerAttr.constr(i64))
    high = prop_def(IntegerAttr.constr(i64))
    axis = opt_prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The input's type."""
        data, *parameters = operands
        check_float(cls, data)
        low, high = attributes.int("low"), attributes.int("high")
        fail_unless(
            SMALLEST <= low < high <= LARGEST,
            f"the range {low} to {high} must rise and lie in {SMALLEST} to {LARGEST}",
        )
        shape: tuple[int, ...] = ()
        if attributes.has("axis"):
            axis = check_axis(attributes.int("axis"), data.get_num_dims())
            shape = (data.get_shape()[axis],)
        for name, parameter in zip(("scale", "zero point"), parameters, strict=False):
            fail_unless(
                parameter == TensorType(data.element_type, shape),
                f"the {name} must have type {TensorType(data.element_type, shape)}, "
                f"not {parameter}",
            )
        return [data]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
