"""Rows of tables that are quantized with a scale for each row."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    i64,
)
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from glow.dialects.attributes import Attributes
from glow.dialects.node import NodeOp, Types, fail_unless, public_nodes, tensor_type

BYTE = IntegerType(8, Signedness.UNSIGNED)
BITS = (4, 8)
PARAMETER_BYTES = 8
"""Scale and zero point, both f32, behind the numbers of a row."""


def row_bytes(columns: int, bits: int) -> int:
    """The bytes of the numbers of a row."""
    return -(-columns * bits // 8)


@irdl_op_definition
class EmbeddingLookupOp(NodeOp):
    """Rows of a table of quantized numbers, as f32: `float(q - zero_point) * scale`.

    table [R, bytes + 8] ui8, indices [...] -> [..., columns]. A row of the table is one
    piece of memory: its numbers (of four bits two in a byte, as `glow.dialects.nibbles`
    says), then its scale and its zero point, both f32. Indices are those of `glow.gather`.

    %y = cpu.embedding_lookup %table, %indices columns 64 bits 4 : tensor<9x64xf32>
    """

    name = "cpu.embedding_lookup"
    table = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    columns = prop_def(IntegerAttr.constr(i64))
    bits = prop_def(IntegerAttr.constr(i64))

    @classmethod
    def infer(cls, operands: Types, attributes: Attributes) -> Types:
        """The indices' shape and the columns."""
        table, indices = operands
        columns, bits = attributes.int("columns"), attributes.int("bits")
        fail_unless(bits in BITS, f"elements have 4 or 8 bits, not {bits}")
        width = row_bytes(columns, bits) + PARAMETER_BYTES
        fail_unless(
            table.element_type == BYTE
            and table.get_num_dims() == 2
            and table.get_shape()[1] == width,
            f"rows of {columns} columns of {bits} bits take {width} bytes, not {table}",
        )
        fail_unless(
            isinstance(indices.element_type, IntegerType),
            f"indices must be integers, not {indices}",
        )
        return [tensor_type((*indices.get_shape(), columns), f32)]


__all__ = public_nodes(globals())  # pyright: ignore[reportUnsupportedDunderAll]
