"""Attention as one kernel."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, TensorType, UnitAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from glow.backends.cpu.dialect.config_attributes import AttentionConfigAttr
from glow.backends.cpu.dialect.matmul import permuted
from glow.dialects.attributes import Attributes, float_attr
from glow.dialects.glow.elementwise import same_element_type
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type


@irdl_op_definition
class AttentionOp(NodeOp):
    """`glow.attention` of equal batches between transpositions that are never made.

    Axis i of the queries [..., L, E] is axis `query_axes[i]` of their tensor, the same for
    the keys, which are [..., E, S], and the values [..., S, D]; axis i of the result is axis
    `result_axes[i]` of [..., L, D]. The mask has the rank of the scores [..., L, S], and 1
    where it repeats. `zero_nans`: what is NaN is stored as 0, as for queries without any key
    that the mask lets through.
    """

    name = "cpu.attention"
    queries = operand_def(TensorType)
    keys = operand_def(TensorType)
    values = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    query_axes = prop_def(DenseArrayBase)
    key_axes = prop_def(DenseArrayBase)
    value_axes = prop_def(DenseArrayBase)
    result_axes = prop_def(DenseArrayBase)
    scale = prop_def(FloatAttr, default_value=float_attr(1.0))
    zero_nans = opt_prop_def(UnitAttr)
    config = opt_prop_def(AttentionConfigAttr)

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The permuted result."""
        queries, keys, values = (
            permuted(operand.get_shape(), attributes.ints(f"{name}_axes"))
            for name, operand in zip(
                ("query", "key", "value"), operands[:3], strict=True
            )
        )
        *batch, length, size = queries
        count = keys[-1]
        fail_unless(
            len(queries) == len(keys) == len(values) >= 2
            and keys == (*batch, size, count)
            and values[:-1] == (*batch, count),
            f"there is no attention of {list(queries)}, {list(keys)} and {list(values)}",
        )
        scores = (*batch, length, count)
        for mask in operands[3:]:
            shape = mask.get_shape()
            fail_unless(
                len(shape) == len(scores)
                and all(m in (1, s) for m, s in zip(shape, scores, strict=True)),
                f"the mask {mask} does not fit scores {list(scores)}",
            )
        result = (*batch, length, values[-1])
        shape = permuted(result, attributes.ints("result_axes"))
        return [tensor_type(shape, same_element_type(operands))]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
