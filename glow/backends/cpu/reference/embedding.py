"""The CPU backend's rows of quantized tables."""

from __future__ import annotations

import numpy as np

from glow.backends.cpu.dialect.embedding import row_bytes
from glow.dialects.nibbles import BITS, unpack_nibbles
from glow.dialects.node import GlowOp
from glow.interpreter import shape
from glow.interpreter.arrays import Array


def embedding_lookup(op: GlowOp, table: Array, indices: Array) -> Array:
    """`cpu.embedding_lookup`."""
    attributes = op.attributes_view()
    columns, bits = attributes.int("columns"), attributes.int("bits")
    rows = shape.gather(table, indices, 0)
    end = row_bytes(columns, bits)
    stored, parameters = rows[..., :end], rows[..., end:]
    scale, point = np.split(np.ascontiguousarray(parameters).view(np.float32), 2, -1)
    if bits == BITS:
        stored = unpack_nibbles(stored, columns, signed=False)
    return (stored.astype(np.float32) - point) * scale
