"""Gathers from tables with a scale for each row.

  %1 = glow.gather %q, %indices : tensor<9x64xf32>
becomes
  %1 = cpu.embedding_lookup %rows, %indices columns 64 bits 4 : tensor<9x64xf32>

where a row of %rows has the stored numbers, the scale and the zero point together, so that it
is read from memory at once. Source: Glow's fused row-wise tables.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.dialects import glow
from glow.dialects.nibbles import BITS, pack_nibbles
from glow.dialects.node import shape_of
from glow.dialects.quant import Quantization, quantization_of
from glow.dialects.weight_table import Array, DeferredArray
from glow.dialects.weights import new_constant, stored_value, weights_of
from glow.lowering.lower_quantized.parts import BYTE, Parts
from glow.passes.rewriting.node_builder import name_of


def fused_rows(stored: Array, data: Quantization) -> DeferredArray:
    """[R, C] stored numbers as rows of bytes, each with its scale and zero point."""
    low, _ = data.full_range
    points = np.array(data.zero_points) - low
    parameters = np.array([data.scales, points], np.float32).T
    packs = data.bits <= BITS
    count, columns = stored.shape
    width = cpu.row_bytes(columns, BITS if packs else BYTE)

    def write(rows: Array) -> None:
        unsigned = (stored.astype(np.int16) - low).astype(np.uint8)
        rows[:, :width] = pack_nibbles(unsigned) if packs else unsigned
        rows[:, width:] = np.ascontiguousarray(parameters).view(np.uint8)

    shape = (count, width + cpu.PARAMETER_BYTES)
    return DeferredArray(shape, np.dtype(np.uint8), write, stored)


def embedding_lookup(op: Operation) -> bool:
    """`glow.gather`; returns whether it was replaced."""
    assert isinstance(op, glow.GatherOp)
    data = quantization_of(op.input.type)
    stored = stored_value(op.input)
    if data is None or data.axis != 0 or data.bits > BYTE or stored is None:
        return False
    parts, rows = Parts(op), fused_rows(stored.reshape(len(stored), -1), data)
    table = parts.insert(new_constant(weights_of(op), rows, name_of(op.input)))
    found = parts.node(
        cpu.EmbeddingLookupOp,
        table.results[0],
        op.indices,
        columns=stored[0].size,
        bits=BITS if data.bits <= BITS else BYTE,
    )
    parts.replace(parts.reshape(found, shape_of(op.result)))
    return True


REWRITES: dict[type[Operation], Callable[[Operation], bool]] = {
    glow.GatherOp: embedding_lookup
}
"""Each returns whether it replaced the node."""
