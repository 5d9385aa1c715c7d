"""Handlers of products of 8-bit integers, whose scales and zero points may be computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32

from glow.dialects.errors import GlowError
from glow.dialects.glow import (
    AddOp,
    Conv2dIntegerOp,
    Conv3dOp,
    DivOp,
    MatmulIntegerOp,
    MulOp,
    SubOp,
)
from glow.dialects.weight_table import dtype_of
from glow.frontends.onnx.graph import Constant
from glow.frontends.onnx.node import OnnxNode, Operand, Value, element_type, shape
from glow.frontends.onnx.operators.matmul import from_matrices, to_matrices
from glow.frontends.onnx.operators.quantization.plain import BYTE, rounded
from glow.frontends.onnx.operators.spatial.convolution import (
    as_plane,
    from_plane,
    window_of,
)
from glow.frontends.onnx.refusal import refuse_if
from glow.frontends.onnx.registry import onnx_op

CUBE = 5
"""The rank of tensors with three spatial axes."""


@onnx_op("MatMulInteger")
def matmul_integer(node: OnnxNode) -> Value:
    """Product of integer matrices less their zero points."""
    operands = node.value(0), node.value(1)
    points = _zero_points(node, (0, 1), (2, 3), (-2, -1))
    product = node.emit(MatmulIntegerOp, *to_matrices(node, *operands), *points)
    return from_matrices(node, product, *operands)


@onnx_op("ConvInteger")
def conv_integer(node: OnnxNode) -> Value:
    """Convolution of integers less their zero points."""
    points = _zero_points(node, (0, 1), (2, 3), (None, 0))
    sums = _convolution(node, node.value(0), node.value(1), points)
    return from_plane(node, sums, node.rank(0))


def _convolution(
    node: OnnxNode, image: Operand, weights: Operand, points: Sequence[Operand]
) -> Operand:
    """Sums of products in i32: a plane of one axis or two, a cube of three."""
    window = window_of(node, shape(image)[2:], shape(weights)[2:])
    attributes = {"group": node.attr_int("group", 1), **window.attributes()}
    if len(shape(image)) != CUBE:
        operands = as_plane(node, image), as_plane(node, weights)
        return node.emit(Conv2dIntegerOp, *operands, *points, types=None, **attributes)
    operands = (node.convert(image, i32), node.convert(weights, i32))
    if points:
        per_tensor = _along(node, points[0], 0, 0)
        per_channel = _along(node, points[1], 0, CUBE)
        operands = tuple(
            node.emit(SubOp, operand, node.convert(point, i32))
            for operand, point in zip(operands, (per_tensor, per_channel), strict=True)
        )
    return node.emit(Conv3dOp, *operands, types=None, **attributes)


def _zero_points(
    node: OnnxNode,
    operands: tuple[int, int],
    points: tuple[int, int],
    axes: tuple[int | None, int | None],
) -> list[Operand]:
    """Both zero points, or none; one that is left out is 0.

    There is one for each tensor, or for each index of its axis of `axes`.
    """
    if not any(map(node.has, points)):
        return []
    found: list[Operand] = []
    for operand, point, axis in zip(operands, points, axes, strict=True):
        if node.has(point):
            _check_zero_point(node, operand, point, axis)
            found.append(node.value(point))
        else:
            zero = np.array(0, dtype_of(element_type(node.value(operand))))
            found.append(Constant(zero, "zero_point"))
    return found


def _check_zero_point(
    node: OnnxNode, operand: int, point: int, axis: int | None
) -> None:
    """Raise GlowError unless a zero point fits its operand."""
    given, extents = node.value(point), node.shape(operand)
    element = element_type(node.value(operand))
    if element_type(given) != element:
        raise GlowError(
            f"the zero point has type {element_type(given)}, the tensor {element}"
        )
    refuse_if(len(shape(given)) > 1, "zero points of several axes")
    count = int(np.prod(shape(given)))
    fitting = [1]
    if axis is not None and len(extents) >= -axis:
        fitting.append(extents[axis])
    if count not in fitting:
        raise GlowError(f"{count} zero points for a tensor of shape {list(extents)}")


# -- scales that are computed


def computed_matmul(node: OnnxNode) -> Value:
    """QLinearMatMul-21 of 8-bit integers, whose parameters are computed."""
    operands = node.value(0), node.value(3)
    points = _zero_points(node, (0, 3), (2, 5), (-2, -1))
    sums = node.emit(MatmulIntegerOp, *to_matrices(node, *operands), *points)
    rank = len(shape(sums))
    units = [
        _along(node, node.value(1), -2, rank),
        _along(node, node.value(4), -1, rank),
    ]
    return from_matrices(node, _requantized(node, sums, units), *operands)


def computed_convolution(node: OnnxNode) -> Value:
    """QLinearConv-10, whose parameters are computed, or over three axes."""
    points = _zero_points(node, (0, 3), (2, 5), (None, 0))
    sums = _convolution(node, node.value(0), node.value(3), points)
    rank = len(shape(sums))
    if node.has(8):
        sums = node.emit(AddOp, sums, _along(node, node.value(8), 1, rank))
    units = [_along(node, node.value(1), 0, 0), _along(node, node.value(4), 1, rank)]
    return from_plane(node, _requantized(node, sums, units), node.rank(0))


def _requantized(node: OnnxNode, sums: Operand, units: Sequence[Operand]) -> Operand:
    """Sums times the operands' scales, by the result's (input 6), as quantized integers."""
    result_unit = _along(node, node.value(6), 0, 0)
    left, right, result = (node.convert(unit, f32) for unit in (*units, result_unit))
    unit = node.emit(DivOp, node.emit(MulOp, left, right), result)
    scaled = node.emit(MulOp, node.convert(sums, f32), unit)
    point = _along(node, node.value(7), 0, 0) if node.has(7) else None
    return rounded(node, scaled, point, BYTE if point is None else element_type(point))


def _along(node: OnnxNode, value: Operand, axis: int, rank: int) -> Operand:
    """One number, or one for each index of an axis of tensors of that rank."""
    count = int(np.prod(shape(value)))
    if count == 1:
        return node.reshape(value, ())
    if len(shape(value)) > 1:
        return value
    if rank == 0:
        raise GlowError(f"{count} scales or zero points for a tensor that has one")
    return node.reshape(value, [count if k == axis % rank else 1 for k in range(rank)])
