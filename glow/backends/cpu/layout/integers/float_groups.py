"""Convolutions of bytes in many groups that fit no blocks, as convolutions of floats.

Kernels of bytes know no groups within a block, those of floats do. A sum of bytes in such a
group is a whole number that f32 holds as it is, in whatever order it is added up.

    %y = glow.conv2d_integer %x, %w, %x_point, %w_point group 32 : tensor<1x128x9x9xi32>
  becomes
    %0 = glow.convert %x : tensor<1x128x9x9xf32>
    %1 = glow.sub %0, %point : tensor<1x128x9x9xf32>
    %2 = glow.conv2d %1, %w.f32 group 32 : tensor<1x128x9x9xf32>
    %y = glow.convert %2 : tensor<1x128x9x9xi32>
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32

from glow.backends.cpu.layout.conv_shape import is_depthwise
from glow.backends.cpu.layout.convolution import conv_shape, is_blocked
from glow.backends.cpu.layout.integers.products import Product, product_of
from glow.backends.cpu.layout.packer import Packer
from glow.dialects import glow
from glow.dialects.node import shape_of, tensor_type
from glow.lowering.lower_quantized.products import EXACT_F32
from glow.passes.graph.fold_channel_shuffle import MAX_DENSE_GROUPS
from glow.passes.rewriting.node_builder import attributes_of, name_of
from glow.passes.rewriting.operations import all_operations

LARGEST_BYTE = 255


def groups_as_floats(module: ModuleOp, packer: Packer) -> None:
    """Replace the convolutions of bytes whose groups have kernels of floats alone."""
    if not packer.has_floats:
        return
    for op in all_operations(module):
        if isinstance(op, glow.Conv2dIntegerOp) and _has_other_groups(op, packer.lanes):
            product = product_of(op, 1, shape_of(op.result)[1])
            if product is not None and _largest_sum(product) < EXACT_F32:
                _replace(op, product)


def _has_other_groups(op: glow.Conv2dIntegerOp, lanes: int) -> bool:
    """Whether there are many groups, neither of one channel nor of whole blocks."""
    shape = conv_shape(op)
    has_kernel = is_blocked(shape, lanes) or is_depthwise(shape)
    return shape.group > MAX_DENSE_GROUPS and not has_kernel


def _largest_sum(product: Product) -> int:
    """No partial sum of a result is larger, whatever the image."""
    weights = np.abs(product.weights.astype(np.int64))
    farthest = max(product.zero_point, LARGEST_BYTE - product.zero_point)
    return farthest * int(weights.sum((1, 2, 3)).max(initial=0))


def _replace(op: glow.Conv2dIntegerOp, product: Product) -> None:
    """Replace a convolution by the one of floats."""
    builder, image = product.builder, op.input
    types = [tensor_type(shape_of(image), f32)]
    wide = builder.create(glow.ConvertOp, [image], {}, types=types)
    centred = builder.node(glow.SubOp, wide, builder.splat(product.zero_point, f32))
    weights = builder.constant(
        product.weights.astype(np.float32), f"{name_of(op.weights)}.f32"
    )
    total = builder.create(glow.Conv2dOp, [centred, weights], attributes_of(op))
    builder.replace(builder.substitute(glow.ConvertOp, [total], {}))
