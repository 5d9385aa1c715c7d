"""Weights of a few bits with a scale a block, which products read as they are.

  %w = glow.block_dequantize %codes, %scales axis 0 block_size 32 : tensor<64x48xf32>
  %y = glow.matmul %x, %w : tensor<1x48xf32>

stays until `assign-layout` makes `cpu.block_quantized_matmul` of both. Weights that no product
reads, or that the kernel cannot read, become floats.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from glow.backends.cpu.kernels.matmul.block_quantized_weights import BlockWeights
from glow.dialects import glow
from glow.dialects.node import element_of, shape_of
from glow.dialects.weights import stored_value

MATRIX = 2


def weights_of_product(op: glow.BlockDequantizeOp) -> BlockWeights | None:
    """The constant weights [K, N] of a product, if the kernel reads them so."""
    is_matrix = len(shape_of(op.codes)) == MATRIX
    return _held(op) if is_matrix and op.axis.value.data == 0 else None


def weights_of_matrices(op: glow.BlockDequantizeOp, axis: int) -> BlockWeights | None:
    """Those of matrices [E, K, N] or [E, N, K], with codes [K, E, N]; `axis` is that of K."""
    are_matrices = len(shape_of(op.codes)) == MATRIX + 1
    return _held(op) if are_matrices and op.axis.value.data == axis else None


def _held(op: glow.BlockDequantizeOp) -> BlockWeights | None:
    """Constant weights with the axis of their blocks in front, if a kernel reads them so."""
    attributes = op.attributes_view()
    codes, scales, *points = map(stored_value, op.inputs)
    if codes is None or scales is None or any(one is None for one in points):
        return None
    if not codes.size or element_of(op.scales) != f32:
        return None
    axis, size = attributes.int("axis"), attributes.int("block_size")
    codes, scales, *points = (
        np.moveaxis(x, axis, 0) for x in (codes, scales, *points) if x is not None
    )
    held = BlockWeights.of(codes, scales, points[0] if points else None, size)
    return held if held.format.wrong(len(codes)) is None else None


def is_right_side(op: glow.BlockDequantizeOp) -> bool:
    """Whether a product of f32 reads the weights as its right matrix."""
    depth = shape_of(op.result)[:1]
    products = [use.operation for use in op.result.uses if use.index == 1]
    return any(
        isinstance(product, glow.MatmulOp | glow.FullyConnectedOp)
        and not (isinstance(product, glow.MatmulOp) and _is_turned(product))
        and element_of(product.operands[0]) == f32
        and shape_of(product.operands[0])[-1:] == depth
        for product in products
    )


def is_picked(op: glow.BlockDequantizeOp) -> bool:
    """Whether a product reads matrices of f32 that a gather picks of the weights."""
    gathers = [use.operation for use in op.result.uses if use.index == 0]
    return any(
        isinstance(gather, glow.GatherOp)
        and gather.axis.value.data == 0
        and any(isinstance(use.operation, glow.MatmulOp) for use in gather.result.uses)
        for gather in gathers
    )


def _is_turned(product: glow.MatmulOp) -> bool:
    """Whether it reads one of its matrices transposed."""
    return product.transpose_lhs is not None or product.transpose_rhs is not None


def stays_for_product(op: Operation) -> bool:
    """Whether nothing needs to be done; a product that reads the weights is made later."""
    assert isinstance(op, glow.BlockDequantizeOp)
    if is_right_side(op):
        return weights_of_product(op) is not None
    return is_picked(op) and weights_of_matrices(op, op.axis.value.data) is not None


REWRITES: dict[type[Operation], Callable[[Operation], bool]] = {
    glow.BlockDequantizeOp: stays_for_product
}
"""Each returns whether the node is as it should be."""
