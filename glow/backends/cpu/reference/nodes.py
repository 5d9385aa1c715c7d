"""Nodes of the CPU backend: blocked layouts, packed weights, epilogues.

Padding lanes hold NaN here, so that a node that reads one shows it. How weights are
packed is the backend's choice for its target, above this package: a `Packing` says it,
and is inverted by packing the positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.matmul import STRASSEN_LEVELS
from glow.backends.cpu.reference import block_quantized, indexed
from glow.backends.cpu.reference.blocks import from_blocks, to_blocks
from glow.backends.cpu.reference.embedding import embedding_lookup
from glow.backends.cpu.reference.epilogue import apply_epilogue
from glow.backends.cpu.reference.fused_rows import run_fused_rows
from glow.backends.cpu.reference.integers import (
    convolve_bytes,
    lowered_by,
    run_requantize,
)
from glow.backends.cpu.reference.recurrence import Plain, run_recurrence
from glow.backends.cpu.reference.strassen import left_sums, original, row_scales
from glow.backends.cpu.reference.weights import WEIGHT_FUNCTIONS
from glow.backends.cpu.reference.winograd import (
    Unpacking as Unpacking,
)
from glow.backends.cpu.reference.winograd import (
    run_int8_winograd_conv2d,
    run_winograd_conv2d,
)
from glow.dialects import instr
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.node import GlowOp
from glow.interpreter.arrays import Array, exact
from glow.interpreter.convolution import convolve, fold_windows
from glow.interpreter.dynamic_quantization import per_row_quantize, row_range
from glow.interpreter.normalization import local_response_norm, normalized, softmax
from glow.interpreter.scalar_functions import Function

Packing: TypeAlias = Callable[[Attributes, Array, Array], Array]
"""`packing(attributes, input, weights)`: the flat array that a node reads, of plain
weights: [O, I / group, kh, kw], [K, N] of a matrix product, the factors of Strassen's.
It may add zeros, keeps every weight once, depends on the width of the elements at most, and
serves a node and its instruction alike."""

Convolve: TypeAlias = Callable[[Attributes, Array, Array, Array, int], Array]
"""`convolve(attributes, image, weights, bias, group)`: the sums, before rounding."""

DIGITS: Mapping[int, tuple[str, int]] = {
    1: ("u1", 8),
    2: ("u2", 16),
    4: ("f4", 24),
}
"""Positions are packed as digits in elements as wide as the weights: dtype and exact bits."""


def run_pack(op: GlowOp, x: Array) -> Array:
    """`cpu.pack`."""
    return to_blocks(x, op.attributes_view().int("lanes"))


def run_unpack(op: GlowOp, x: Array) -> Array:
    """`cpu.unpack`."""
    return from_blocks(x, op.attributes_view().int("channels"))


def unpacked(
    op: GlowOp,
    image: Array,
    packed: Array,
    shape: tuple[int, ...],
    packing: Packing | None,
) -> Array:
    """The plain weights of a packed array; without a packing they are in plain order."""
    size = math.prod(shape)
    if packing is None:
        if packed.size != size:
            raise GlowError(
                f"{op.name} has {packed.size} packed weights for {size} plain ones",
                hint="interpreting it needs the backend's packing",
            )
        return packed.reshape(shape)
    (dtype, bits), shift = DIGITS[packed.itemsize], 0
    numbers = np.arange(1, size + 1, dtype=np.int32).reshape(shape)
    order = np.zeros(packed.shape, np.int32)
    while size >> shift:
        digit = (numbers >> shift) & ((1 << bits) - 1)
        placed = packing(op.attributes_view(), image, digit.astype(dtype))
        if placed.shape != packed.shape:
            raise GlowError(
                f"{op.name} has {packed.size} packed weights, not {placed.size}"
            )
        order += placed.astype(np.int32) << shift
        shift += bits
    plain = np.empty(size, packed.dtype)
    held = order > 0
    plain[order[held] - 1] = packed[held]
    return plain.reshape(shape)


def run_conv2d(
    op: GlowOp,
    image: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
    plain: Plain,
    sums: Convolve = convolve,
) -> Array:
    """`cpu.conv2d`, `cpu.int8_conv2d`."""
    attributes = op.attributes_view()
    inputs, group = attributes.int("input_channels"), attributes.int("group")
    outputs, lanes = attributes.int("output_channels"), bias.shape[1]
    shape = (outputs, inputs // group, *attributes.ints("kernel"))
    total = sums(
        attributes,
        from_blocks(image, inputs) if image.ndim == 5 else image,
        plain(op, image, weights, shape),
        bias.reshape(-1)[:outputs],
        group,
    )
    return apply_epilogue(op, to_blocks(total, lanes), epilogue_operands)


def run_sparse_conv2d(
    op: GlowOp,
    table: Array,
    image: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
) -> Array:
    """`cpu.sparse_conv2d`; its packed weights need no more than the table."""
    attributes = op.attributes_view()
    outputs, lanes = bias.shape
    plain = np.zeros(
        (outputs * lanes, attributes.int("input_channels"), *attributes.ints("kernel")),
        weights.dtype,
    )
    width = attributes.int("tile_blocks") * lanes
    starts = table[: cpu.blocks(outputs * lanes, width) + 1]
    channels, position = table[len(starts) :], 0
    for tile, (start, end) in enumerate(pairwise(starts)):
        filters = plain[tile * width :][:width]
        for channel in channels[start:end]:
            target = filters[:, channel]
            packed = weights[position:][: target.size]
            shape = (*target.shape[1:], len(filters))
            target[:] = packed.reshape(shape).transpose(2, 0, 1)
            position += target.size
    total = convolve(
        attributes,
        from_blocks(image, attributes.int("input_channels")),
        plain[: attributes.int("output_channels")],
        bias.reshape(-1)[: attributes.int("output_channels")],
        1,
    )
    return apply_epilogue(op, to_blocks(total, lanes), epilogue_operands)


def run_depthwise_conv2d(
    op: GlowOp,
    image: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
    sums: Convolve = convolve,
) -> Array:
    """`cpu.depthwise_conv2d`, `cpu.int8_depthwise_conv2d`, padding lanes included."""
    plain = weights.transpose(0, 3, 1, 2).reshape(-1, 1, *weights.shape[1:3])
    total = sums(
        op.attributes_view(),
        from_blocks(image),
        plain,
        bias.reshape(-1),
        plain.shape[0],
    )
    return apply_epilogue(op, to_blocks(total, bias.shape[1]), epilogue_operands)


def run_int8_sum_pool2d(op: GlowOp, image: Array, *epilogue_operands: Array) -> Array:
    """`cpu.int8_sum_pool2d`, padding lanes included."""
    attributes = op.attributes_view()
    centred = exact(image) - attributes.int("zero_point")
    total = fold_windows(centred, attributes, (0, 0), np.add)
    return apply_epilogue(op, total, epilogue_operands)


def run_grouped_conv2d(
    op: GlowOp, image: Array, weights: Array, bias: Array, *epilogue_operands: Array
) -> Array:
    """`cpu.grouped_conv2d`, padding lanes included."""
    plain = weights.transpose(0, 4, 3, 1, 2)
    plain = plain.reshape(-1, *plain.shape[2:])
    groups = plain.shape[0] // plain.shape[1]
    attributes = op.attributes_view()
    total = convolve(attributes, from_blocks(image), plain, bias.reshape(-1), groups)
    return apply_epilogue(op, to_blocks(total, bias.shape[1]), epilogue_operands)


def run_plain_conv2d(
    op: GlowOp, image: Array, weights: Array, bias: Array, *epilogue_operands: Array
) -> Array:
    """`cpu.plain_conv2d`."""
    attributes = op.attributes_view()
    total = convolve(attributes, image, weights, bias, attributes.int("group"))
    return apply_epilogue(op, total, epilogue_operands)


def run_matmul(
    op: GlowOp,
    x: Array,
    weights: Array,
    bias: Array,
    *epilogue_operands: Array,
    plain: Plain,
) -> Array:
    """`cpu.matmul`, `cpu.int8_matmul`."""
    matrix = plain(op, x, weights, (x.shape[-1], bias.shape[0]))
    total = (exact(x) - lowered_by(op.attributes_view())) @ exact(matrix)
    return apply_epilogue(op, total + exact(bias), epilogue_operands)


def run_batch_matmul(
    op: GlowOp, lhs: Array, rhs: Array, *epilogue_operands: Array
) -> Array:
    """`cpu.batch_matmul`."""
    attributes = op.attributes_view()
    left = exact(lhs).transpose(attributes.ints("lhs_axes"))
    right = exact(rhs).transpose(attributes.ints("rhs_axes"))
    total = (left @ right).transpose(attributes.ints("result_axes"))
    return apply_epilogue(op, total, epilogue_operands)


def run_int8_batch_matmul(
    op: GlowOp, lhs: Array, rhs: Array, points: Array, *epilogue_operands: Array
) -> Array:
    """`cpu.int8_batch_matmul`."""
    left, right = exact(lhs) - points[0], exact(rhs) - points[1]
    return run_batch_matmul(op, left, right, *epilogue_operands)


def run_cpu_attention(
    op: GlowOp, queries: Array, keys: Array, values: Array, mask: Array | None = None
) -> Array:
    """`cpu.attention`."""
    attributes = op.attributes_view()
    tensors = {"query": queries, "key": keys, "value": values}
    left, right, shared = (
        exact(tensor).transpose(attributes.ints(f"{name}_axes"))
        for name, tensor in tensors.items()
    )
    scores = (left @ right) * attributes.float("scale")
    shares = softmax(scores if mask is None else scores + exact(mask), -1)
    total = (shares @ shared).transpose(attributes.ints("result_axes"))
    if attributes.has("zero_nans"):
        total[np.isnan(total)] = 0.0
    return apply_epilogue(op, total, ())


def run_strassen_combinations(op: GlowOp, x: Array) -> tuple[Array, Array]:
    """`cpu.strassen_combinations`."""
    levels, rows = op.attributes_view().int("levels"), x.reshape(-1, x.shape[-1])
    rows = np.pad(rows, ((0, -len(rows) % 2**levels), (0, 0)), "edge")
    factors, scales = row_scales(rows, levels)
    scaled = rows * factors[:, None].astype(x.dtype)
    sums = np.stack(list(left_sums(scaled, levels)))
    return sums, scales.astype(x.dtype)


def run_strassen_matmul(
    op: GlowOp,
    matrix: Array,
    scales: Array,
    sums: Array,
    weights: Array,
    *bias_and_operands: Array,
    plain: Plain,
) -> Array:
    """`cpu.strassen_matmul`, as the direct sums that it stands for."""
    bias, *epilogue_operands = bias_and_operands
    products, _, depth = sums.shape
    columns = bias.shape[0] >> STRASSEN_LEVELS[products]
    factors = plain(op, sums, weights, (products, depth, columns))
    right = original(list(exact(factors)))
    return apply_epilogue(
        op, exact(matrix) @ right + exact(bias), tuple(epilogue_operands)
    )


def run_local_response_norm(op: GlowOp, x: Array) -> Array:
    """`cpu.local_response_norm`."""
    attributes = op.attributes_view()
    plain = from_blocks(x, attributes.int("channels"))
    return to_blocks(local_response_norm(attributes, plain), x.shape[-1])


def run_softmax(op: GlowOp, x: Array, *epilogue_operands: Array) -> Array:
    """`cpu.softmax`."""
    return apply_epilogue(op, softmax(x, x.ndim - 1), epilogue_operands)


def run_layer_norm(
    op: GlowOp, x: Array, scale: Array, bias: Array, *epilogue_operands: Array
) -> Array | tuple[Array, ...]:
    """`cpu.layer_norm`."""
    plain = normalized(op.attributes_view(), x, scale, bias).astype(np.float32)
    result = apply_epilogue(op, plain, epilogue_operands)
    count = len(op.outs) if isinstance(op, instr.InstructionOp) else len(op.results)
    return result if count == 1 else (result, plain)


def cpu_functions(
    packing: Mapping[type[Operation], Packing | Unpacking],
) -> dict[type[Operation], Function]:
    """The functions of the `cpu` nodes for a backend's packing of their weights."""

    def with_plain(node: type[Operation], function: Function) -> Function:
        return partial(function, plain=partial(unpacked, packing=packing.get(node)))

    return {
        cpu.PackOp: run_pack,
        cpu.UnpackOp: run_unpack,
        **WEIGHT_FUNCTIONS,
        cpu.Conv2dOp: with_plain(cpu.Conv2dOp, run_conv2d),
        cpu.SparseConv2dOp: run_sparse_conv2d,
        cpu.WinogradConv2dOp: partial(
            run_winograd_conv2d, packing=packing.get(cpu.WinogradConv2dOp)
        ),
        cpu.DepthwiseConv2dOp: run_depthwise_conv2d,
        cpu.GroupedConv2dOp: run_grouped_conv2d,
        cpu.PlainConv2dOp: run_plain_conv2d,
        cpu.MatmulOp: with_plain(cpu.MatmulOp, run_matmul),
        cpu.BlockQuantizedMatmulOp: partial(
            block_quantized.run_matmul,
            unpacking=packing.get(cpu.BlockQuantizedMatmulOp),
        ),
        cpu.Int8BlockQuantizedMatmulOp: partial(
            block_quantized.run_int8_matmul,
            unpacking=packing.get(cpu.Int8BlockQuantizedMatmulOp),
        ),
        cpu.BlockQuantizeOp: block_quantized.run_quantize,
        cpu.AttentionOp: run_cpu_attention,
        cpu.BatchMatmulOp: run_batch_matmul,
        cpu.IndexedMatmulOp: indexed.run_indexed_matmul,
        cpu.IndexedBlockMatmulOp: partial(
            indexed.run_indexed_block_matmul,
            unpacking=packing.get(cpu.IndexedBlockMatmulOp),
        ),
        cpu.StrassenCombinationsOp: run_strassen_combinations,
        cpu.PerRowQuantizeOp: per_row_quantize,
        cpu.SoftmaxOp: run_softmax,
        cpu.LayerNormOp: run_layer_norm,
        cpu.FusedRowsOp: run_fused_rows,
        cpu.EmbeddingLookupOp: embedding_lookup,
        cpu.RowRangeOp: row_range,
        cpu.StrassenMatmulOp: with_plain(cpu.StrassenMatmulOp, run_strassen_matmul),
        cpu.RecurrenceOp: with_plain(cpu.RecurrenceOp, run_recurrence),
        cpu.LocalResponseNormOp: run_local_response_norm,
        cpu.Int8Conv2dOp: with_plain(
            cpu.Int8Conv2dOp, partial(run_conv2d, sums=convolve_bytes)
        ),
        cpu.Int8WinogradConv2dOp: partial(
            run_int8_winograd_conv2d, packing=packing.get(cpu.Int8WinogradConv2dOp)
        ),
        cpu.Int8DepthwiseConv2dOp: partial(run_depthwise_conv2d, sums=convolve_bytes),
        cpu.Int8SumPool2dOp: run_int8_sum_pool2d,
        cpu.Int8MatmulOp: with_plain(cpu.Int8MatmulOp, run_matmul),
        cpu.Int8BatchMatmulOp: run_int8_batch_matmul,
        cpu.RequantizeOp: run_requantize,
    }
