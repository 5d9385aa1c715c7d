"""Attention as one node."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
)

from glow.dialects.attributes import Attributes, float_attr
from glow.dialects.glow.elementwise import broadcast_shape, same_element_type
from glow.dialects.glow.normalization import check_float
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


@irdl_op_definition
class AttentionOp(NodeOp):
    """`softmax(queries x keys' * scale + mask) x values` over the last two axes.

    Scaled dot-product attention (Vaswani et al. 2017, equation 1; ONNX Attention-23
    without caches): queries [..., L, E], keys [..., S, E], values [..., S, D] and mask,
    which broadcasts to the scores [..., L, S], -> [..., L, D]. Leading axes (batch, heads)
    broadcast. `scale` is 1 / sqrt(E) in most networks, or 1 where a weight holds it.

    Example: `%y = glow.attention %q, %k, %v scale 0.125 : tensor<1x12x128x64xf32>`
    """

    name = "glow.attention"
    queries = operand_def(TensorType)
    keys = operand_def(TensorType)
    values = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    scale = prop_def(FloatAttr, default_value=float_attr(1.0))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The result [..., L, D]; the mask must not enlarge the scores."""
        queries, keys, values = operands[:3]
        check_float(cls, queries)
        element_type = same_element_type(operands)
        for operand in operands[:3]:
            fail_unless(
                operand.get_num_dims() >= 2,
                f"attention needs operands of rank 2 or more, not {operand}",
            )
        *batch, length, size = queries.get_shape()
        *key_batch, count, key_size = keys.get_shape()
        *value_batch, value_count, width = values.get_shape()
        fail_unless(
            size == key_size,
            f"queries and keys must have one size: {queries} has {size}, "
            f"{keys} has {key_size}",
        )
        fail_unless(
            count == value_count,
            lambda: (
                f"there must be a value for each key: {keys} has {count}, "
                f"{values} has {value_count}"
            ),
        )
        batch = broadcast_shape([batch, key_batch])
        scores = (*batch, length, count)
        if len(operands) > 3:
            fail_unless(
                broadcast_shape([scores, operands[3].get_shape()]) == scores,
                lambda: (
                    f"the mask {operands[3]} must broadcast to the scores' "
                    f"{'x'.join(map(str, scores))}"
                ),
            )
        shape = (*broadcast_shape([batch, value_batch]), length, width)
        return [tensor_type(shape, element_type)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
