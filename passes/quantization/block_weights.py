"""Weights of linear layers in 4 or 8 bits with a scale for each block, and activations in floats.

    %y = glow.matmul %x, %w : tensor<1x48xf32>
  becomes
    %q = glow.constant @w.i4 : tensor<64x48xi4>
    %s = glow.constant @w.scales : tensor<2x48xf32>
    %v = glow.block_dequantize %q, %s block_size 32 : tensor<64x48xf32>
    %y = glow.matmul %x, %v : tensor<1x48xf32>

A block of 32 is symmetric: its number of the largest size becomes the least code, -8 of 4 bits, so
that all codes are used and scales may be negative. No data is needed. Source: what ONNX Runtime's
MatMulNBits quantizer does without zero points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation

from glow.dialects import glow
from glow.dialects.weight_table import dtype_of
from glow.dialects.weights import constant_value
from glow.passes.quantization.options import (
    WEIGHTS,
    QuantizationOptions,
)
from glow.passes.quantization.selection import is_kept, is_linear_layer
from glow.passes.rewriting.node_builder import NodeBuilder, name_of
from glow.passes.rewriting.operations import all_operations

BLOCK = 32

WHOLE = 8
"""A depth is a multiple of this: kernels read so many weights of 4 bits at once."""

ROW_BITS = 8
"""What products may round their rows to, where that is asked for."""

Floats = npt.NDArray[np.float32]


def block_codes(matrix: Floats, bits: int) -> tuple[npt.NDArray[np.int8], Floats]:
    """[K, N] as codes from -2^(bits - 1) on, and scales [ceil(K / 32), N]."""
    depth, columns = matrix.shape
    padded = np.zeros((-(-depth // BLOCK) * BLOCK, columns), np.float32)
    padded[:depth] = matrix
    blocks = padded.reshape(-1, BLOCK, columns)
    place = np.abs(blocks).argmax(1, keepdims=True)
    extreme = np.take_along_axis(blocks, place, 1)
    least = -(1 << (bits - 1))
    scales = np.where(extreme == 0, 1, extreme / least).astype(np.float32)
    codes = np.clip(np.rint(blocks / scales), least, -least - 1).astype(np.int8)
    return codes.reshape(-1, columns)[:depth], scales[:, 0]


def quantize_weights(op: Operation, bits: int, row_bits: int) -> None:
    """Let a linear layer read weights of a few bits, if blocks fit its depth."""
    array = constant_value(op.operands[1])
    is_matrix = array is not None and array.dtype == np.float32 and array.size > 0
    if array is None or not is_matrix or array.shape[0] % WHOLE:
        return
    builder, name = NodeBuilder(op), name_of(op.operands[1])
    codes, scales = block_codes(array.astype(np.float32), bits)
    dtype = dtype_of(IntegerType(bits))
    stored = (codes.view(np.uint8) & np.uint8((1 << bits) - 1)).view(dtype)
    op.operands[1] = builder.node(
        glow.BlockDequantizeOp,
        builder.constant(stored, f"{name}.i{bits}"),
        builder.constant(scales, f"{name}.scales"),
        block_size=BLOCK,
        row_bits=row_bits,
    )


def quantize_block_weights(module: ModuleOp, options: QuantizationOptions) -> None:
    """Quantize the linear layers that the options do not keep."""
    bits = WEIGHTS[options.weights]
    row_bits = ROW_BITS if options.activations == "per-block" else 0
    for op in all_operations(module):
        if is_linear_layer(op) and not is_kept(op, options.keep):
            quantize_weights(op, bits, row_bits)
