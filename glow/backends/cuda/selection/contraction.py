"""Products and convolutions with constant weights, which lie in rows of the depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.layout.row_packing import padded_row
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.common import epilogue_of, stored_element
from glow.backends.cpu.selection.convolution import window_of
from glow.backends.cuda.kernels.blocked import BlockedImage, BlockedResult
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    Factor,
    MatrixFactor,
    MatrixResult,
    Results,
)
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import BiasEpilogue
from glow.backends.cuda.selection.product import SMALLEST, launch_product
from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.lowering.loop_builder import ir_types as types

Shape = tuple[int, int, int, int]
"""Batch, m, n, k."""


def weight_rows(shape: Shape, element: Attribute) -> MatrixFactor:
    """Weights [batch, n, k] in rows of whole copies."""
    batch, _, n, k = shape
    row = padded_row(k, types.byte_width(element))
    return MatrixFactor(batch, n, row, True, element)


def contraction(
    op: instr.InstructionOp,
    choice: Choice,
    shape: Shape,
    a: Factor,
    result: Results,
    padding: int = 0,
) -> Sequence[Invocation]:
    """The kernel of a product with packed weights and a bias."""
    source, weights, bias, *epilogue_operands = op.ins
    element: Attribute = stored_element(weights)
    precision = choice.precision if element == f32 else "exact"
    rows = weight_rows(shape, element)
    sums = sums_of(element)
    spec = ContractionSpec(
        *shape,
        a,
        rows,
        result,
        SMALLEST,
        precision,
        BiasEpilogue(sums, epilogue_of(op, epilogue_operands)),
        padding,
        is_unsigned=isinstance(element, IntegerType),
    )
    buffers = [op.outs[0], source, weights, bias, *epilogue_operands]
    return launch_product(spec, choice, buffers)


def sums_of(element: Attribute) -> Attribute:
    """The element type of sums of products."""
    return i32 if isinstance(element, IntegerType) else f32


def other_bias(bias: SSAValue, weights: SSAValue) -> str | None:
    """Why a bias is none of sums."""
    if element_of(bias) != sums_of(element_of(weights)):
        return f"its bias has elements of {element_of(bias)}"
    return None


def _matmul(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    source, weights, bias, *_ = op.ins
    if op.attributes_view().get("panels") is not None:
        return "its weights lie in panels"
    if stored_element(source) != stored_element(weights):
        return "its weights have other elements than its input"
    if (problem := other_bias(bias, weights)) is not None:
        return problem
    *outer, depth = shape_of(source)
    (columns,) = shape_of(bias)
    shape = (1, prod(outer), columns, depth)
    a = MatrixFactor(1, prod(outer), depth, True, stored_element(source))
    return contraction(op, choice, shape, a, MatrixResult(1, prod(outer), columns))


def _conv2d(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    source, weights, bias, *_ = op.ins
    attributes, extents = op.attributes_view(), shape_of(source)
    if attributes.get("panels") is not None:
        return "its weights lie in panels"
    if (problem := other_bias(bias, weights)) is not None:
        return problem
    window = window_of(attributes, attributes.ints("kernel"), extents[2:4])
    blocks, lanes = shape_of(bias)
    group = attributes.int("group")
    image = BlockedImage(
        extents[0],
        group,
        attributes.int("input_channels") // group,
        extents[4] if len(extents) == BLOCKED else 1,
        window,
        stored_element(source),
    )
    pixels = prod(window.output)
    columns = blocks * lanes // group
    shape = (group, extents[0] * pixels, columns, image.depth)
    result = BlockedResult(extents[0], group, columns, pixels, lanes)
    is_padded = isinstance(element_of(source), IntegerType) and any(window.pads)
    padding = attributes.int("zero_point") if is_padded else 0
    return contraction(op, choice, shape, image, result, padding)


BLOCKED = 5

ROWS: Mapping[type[Operation], Row] = {
    cpu.MatmulOp: _matmul,
    cpu.Int8MatmulOp: _matmul,
    cpu.Conv2dOp: _conv2d,
    cpu.Int8Conv2dOp: _conv2d,
}
