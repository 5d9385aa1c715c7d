"""Operators on weights of a few bits that have a scale for each block."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerType, Signedness, f32

from glow.dialects.errors import GlowError
from glow.dialects.glow import AddOp, BlockDequantizeOp, GatherOp, MatmulOp
from glow.dialects.glow.quantization import WEIGHT_BITS
from glow.dialects.weight_table import Array, dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import contrib_op

Bytes = npt.NDArray[np.uint8]

ROUNDED_ROWS, ROW_BITS = 4, 8
"""The `accuracy_level` that allows products to round their rows, and to how many bits."""


@contrib_op("MatMulNBits")
def matmul_n_bits(node: OnnxNode) -> Value:
    """A product with constant weights of 2, 4 or 8 bits, quantized in blocks of each column.

    Weights are [N, blocks, bytes], scales and zero points a number a block. They stay so, unless
    zero points are floats, or indices say the block of each row: those are made floats here.
    Rows of 16-bit floats are multiplied as f32.
    """
    columns, inner = node.attr_int("N", 0), node.attr_int("K", 0)
    bits, block = node.attr_int("bits", 4), node.attr_int("block_size", 0)
    refuse_if(bits not in WEIGHT_BITS, f"weights of {bits} bits")
    refuse_if(node.attr_int("weight_prepacked", 0) != 0, "weight_prepacked")
    refuse_if(block <= 0, f"blocks of {block} weights")
    blocks = -(-inner // block)
    scales = _sized(node, 2, "scales", (columns, blocks))
    packed = _sized(node, 1, "weights", (columns, blocks, -(-block * bits // 8)))
    codes = unpacked(packed.reshape(columns, -1), bits)[:, :inner]
    floats = node.has(4) or (node.has(3) and node.constant(3, "").dtype != np.uint8)
    make = _block_floats if floats else _block_weights
    return _product(node, make(node, codes, scales, bits), 5)


def _product(node: OnnxNode, weights: Operand, bias: int) -> Operand:
    """The first input by weights of f32, plus an input if it is given."""
    given = element_type(node.value(0))
    result = node.emit(MatmulOp, node.convert(node.value(0), f32), weights)
    if node.has(bias):
        result = node.emit(AddOp, result, node.convert(node.value(bias), f32))
    return node.convert(result, given)


def _block_weights(node: OnnxNode, codes: Bytes, scales: Array, bits: int) -> Operand:
    """[K, N], as they are."""
    held = Constant(scales.T.astype(np.float32), f"{node.proto.input[2]}.scales")
    name, centred = node.proto.input[1], not node.has(3)
    operands = [stored(codes.T, bits, f"{name}.codes", centred=centred), held]
    if node.has(3):
        points = _zero_points(node, scales, bits).T
        operands.append(stored(points, bits, f"{name}.points", centred=False))
    size, level = node.attr_int("block_size", 0), node.attr_int("accuracy_level", 0)
    row_bits = ROW_BITS if level == ROUNDED_ROWS else 0
    return node.emit(BlockDequantizeOp, *operands, block_size=size, row_bits=row_bits)


def _sized(node: OnnxNode, index: int, what: str, sizes: tuple[int, ...]) -> Array:
    """A constant input, flat or not, in the shape that the attributes say."""
    array = node.constant(index, what)
    if array.size != prod(sizes):
        raise GlowError(
            f"{what} have {array.size} elements: K, N, bits and block_size need {[*sizes]}"
        )
    return array.reshape(sizes)


def _zero_points(node: OnnxNode, scales: Array, bits: int) -> Bytes:
    """[N, blocks] of zero points that have as many bits as the codes."""
    columns, blocks = scales.shape
    packed = _sized(node, 3, "zero points", (columns, -(-blocks * bits // 8)))
    return unpacked(packed, bits)[:, :blocks]


def stored(codes: Bytes, bits: int, name: str, *, centred: bool) -> Constant:
    """A constant of codes from 0 on; `centred`: of integers with a sign, 0 in the middle."""
    sign = Signedness.SIGNLESS if centred else Signedness.UNSIGNED
    middle = np.uint8(1 << (bits - 1) if centred else 0)
    array = np.ascontiguousarray(codes) ^ middle
    return Constant(array.view(dtype_of(IntegerType(bits, sign))), name, is_weight=True)


def _block_floats(node: OnnxNode, codes: Bytes, scales: Array, bits: int) -> Operand:
    """[K, N] of floats, with zero points of any kind, by the blocks that indices say."""
    (columns, inner), blocks = codes.shape, scales.shape[1]
    block = node.attr_int("block_size", 0)
    points: Array = np.array(2 ** (bits - 1), np.float32)
    if node.has(3):
        is_packed = node.constant(3, "zero points").dtype == np.uint8
        points = (
            _zero_points(node, scales, bits)
            if is_packed
            else _sized(node, 3, "zero points", scales.shape)
        )
    group_of = np.arange(inner, dtype=np.int64) // block
    if node.has(4):
        group_of = node.constant(4, "g_idx")[:inner].astype(np.int64)
    points = np.broadcast_to(points.astype(np.float32), (columns, blocks))
    numbers = codes.astype(np.float32) - points[:, group_of]
    weights = (numbers * scales.astype(np.float32)[:, group_of]).T
    return Constant(weights, f"{node.proto.input[1]}.weights")


FP4 = (0, 0.0052083333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25)
"""What the first eight codes of bitsandbytes' FP4 stand for; the others are their negatives."""

NF4 = """
    -1 -0.6961928 -0.52507305 -0.39491749 -0.28444138 -0.18477343 -0.091050036 0 0.079580299
    0.1609302 0.24611230 0.33791524 0.44070983 0.56261700 0.72295684 1
""".split()
"""What the codes of NF4 stand for, quantiles of a normal distribution (QLoRA, arXiv 2305.14314,
appendix E)."""


@contrib_op("MatMulBnb4")
def matmul_bnb4(node: OnnxNode) -> Value:
    """A product with constant weights of floats of 4 bits in blocks, which are made f32 here.

    Codes [N * K / 2], the first in the upper bits, are those of the weights [N, K] row by row,
    blocks and all; each block has the number that 1 stands for.
    """
    columns, inner = node.attr_int("N", 0), node.attr_int("K", 0)
    kind, block = node.attr_int("quant_type", 1), node.attr_int("block_size", 0)
    refuse_if(kind not in (0, 1), f"quant_type {kind}")
    refuse_if(block <= 0 or inner * columns % 2 != 0, f"blocks of {block} weights")
    refuse_if(node.attr_int("transB", 1) != 1, "weights that are not transposed")
    count = columns * inner
    packed = _sized(node, 1, "weights", (count // 2,)).astype(np.uint8)
    scales = _sized(node, 2, "scales", (-(-count // block),)).astype(np.float32)
    table = np.array(NF4 if kind else [*FP4, *(-number for number in FP4)], np.float32)
    codes = np.stack([packed >> 4, packed & np.uint8(15)], axis=1).reshape(-1)
    weights = table[codes] * np.repeat(scales, block)[:count]
    held = Constant(weights.reshape(columns, inner).T, f"{node.proto.input[1]}.weights")
    return _product(node, held, bias=len(node.inputs))


@contrib_op("GatherBlockQuantized")
def gather_block_quantized(node: OnnxNode) -> Value:
    """Rows of a table whose elements have a scale for each block of the last axis.

    Without zero points, that of bytes which hold several elements is the middle, else it is 0.
    """
    bits, size = node.attr_int("bits", 4), node.attr_int("block_size", 128)
    rank = node.rank(0)
    refuse_if(size <= 0 or bits not in WEIGHT_BITS, f"blocks of {size}, {bits} bits")
    refuse_if(node.attr_int("gather_axis", 0) != 0, "rows of another axis")
    axis = node.positive(node.attr_int("quantize_axis", 1), rank)
    refuse_if(axis != rank - 1, f"blocks of axis {axis} of {rank}")
    scales = Constant(node.constant(2, "scales"), f"{node.proto.input[2]}.scales")
    tables = [_table(node, 0, bits, centred=not node.has(3)), scales]
    if node.has(3):
        points = _table(node, 3, bits, centred=False)
        kept = points.array[..., : scales.array.shape[-1]]
        tables.append(Constant(np.ascontiguousarray(kept), points.name))
    found = [node.emit(GatherOp, table, node.value(1), axis=0) for table in tables]
    last = len(shape(found[0])) - 1
    return node.emit(BlockDequantizeOp, *found, axis=last, block_size=size)


def _table(node: OnnxNode, index: int, bits: int, *, centred: bool) -> Constant:
    """A table of integers, taken apart if it has several of them in a byte."""
    array, name = node.constant(index, "a table"), f"{node.proto.input[index]}.codes"
    if array.dtype != np.uint8:
        return Constant(array, name)
    return stored(unpacked(array, bits), bits, name, centred=centred)


def unpacked(packed: Array, bits: int) -> Bytes:
    """[..., bytes] as [..., elements]; the first is in the lowest bits."""
    whole: Bytes = packed.astype(np.uint8)
    parts = [
        whole >> np.uint8(k) & np.uint8((1 << bits) - 1) for k in range(0, 8, bits)
    ]
    *outer, width = packed.shape
    return np.stack(parts, axis=-1).reshape(*outer, width * len(parts))
