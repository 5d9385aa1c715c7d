"""Instructions that move elements: each result has one source element, steps apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from operator import mul

from xdsl.ir import Attribute, Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.movement.gather import GatherSpec
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.common import OUTSIDE, is_unsigned, stored_element
from glow.backends.cuda.gpu_to_llvm import LARGEST
from glow.backends.cuda.kernels.elementwise import (
    Bound,
    ElementwiseSpec,
    StridedOperand,
    build_elementwise,
    merge_axes,
)
from glow.backends.cuda.kernels.gather import build_gather
from glow.backends.cuda.kernels.gpu_builder import MOST_BLOCKS
from glow.backends.cuda.kernels.reduction.rows import itself
from glow.backends.cuda.kernels.transpose import TransposeSpec, build_transpose
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import ELEMENTS, is_aligned, launch
from glow.backends.cuda.selection.elementwise import broadcast_operand
from glow.dialects import glow, instr
from glow.dialects.node import shape_of
from glow.lowering.loop_builder.ir_types import byte_width, row_major_strides
from glow.lowering.loop_builder.scalar_region import ScalarRegion

MATRICES = 3
"""The axes of batches of matrices."""
NARROW = 8
"""Sides of matrices so short that threads which read rows of them have little else."""


def moved(
    op: instr.InstructionOp,
    shape: tuple[int, ...],
    operand: StridedOperand,
    stored: StridedOperand | None = None,
) -> Sequence[Invocation] | str:
    """The kernel that reads a source with such steps; shape is that of the result, which is dense
    unless it is said how it is stored.
    """
    source, result = op.ins[0], (*op.outs, *op.inouts)[0]
    element = stored_element(source)
    if element not in ELEMENTS:
        return f"it has elements of {element}"
    matrices = transposed_matrices(shape, operand, element)
    is_whole = operand.offset == 0 and operand.size == prod(shape) and stored is None
    if matrices is not None and is_whole:
        return launch("transpose", matrices, build_transpose, [result, source])
    region = ScalarRegion.trace(itself, [element])
    spec = ElementwiseSpec(shape, region, (operand,), stored, is_aligned(op))
    return launch("elementwise", spec, build_elementwise, [result, source])


def transposed_matrices(
    shape: tuple[int, ...], operand: StridedOperand, element: Attribute
) -> TransposeSpec | None:
    """The matrices of which the result has the transposes, where that is all."""
    extents, (strides,) = merge_axes(shape, [operand.strides])
    extents = [1] * (MATRICES - len(extents)) + extents
    if len(extents) != MATRICES or len(strides) < MATRICES - 1:
        return None
    batch, columns, rows = extents
    *outer, first, second = strides
    is_dense = outer in ([], [rows * columns]) and (first, second) == (1, columns)
    spec = TransposeSpec(batch, rows, columns, element)
    if not is_dense or min(rows, columns) < NARROW or max(spec.grid[1:]) > MOST_BLOCKS:
        return None
    return spec


def _transpose(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    source, permutation = shape_of(op.ins[0]), op.attributes_view().ints("permutation")
    steps = row_major_strides(source)
    strides = tuple(steps[axis] for axis in permutation)
    return moved(op, shape_of(op.outs[0]), StridedOperand(prod(source), strides))


def _broadcast(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    shape = shape_of(op.outs[0])
    return moved(op, shape, broadcast_operand(shape_of(op.ins[0]), shape))


def _copy(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    size = prod(shape_of(op.outs[0]))
    return moved(op, (size,), StridedOperand(size, (1,)))


def _slice(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    whole, attributes = shape_of(op.ins[0]), op.attributes_view()
    steps = row_major_strides(whole)
    strides = tuple(map(mul, steps, attributes.ints("steps")))
    offset = sum(map(mul, steps, attributes.ints("starts")))
    return moved(op, shape_of(op.outs[0]), StridedOperand(prod(whole), strides, offset))


def _insert(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    (source,), (target,) = op.ins, op.inouts
    shape, whole = shape_of(source), shape_of(target)
    steps = row_major_strides(whole)
    offset = sum(map(mul, steps, op.attributes_view().ints("offsets")))
    operand = StridedOperand(prod(shape), row_major_strides(shape))
    return moved(op, shape, operand, StridedOperand(prod(whole), steps, offset))


def gather_spec(op: instr.InstructionOp) -> GatherSpec:
    """A lookup, which notes indices outside of their axis."""
    source, indices = op.ins
    shape, axis = shape_of(source), op.attributes_view().int("axis")
    return GatherSpec(
        prod(shape[:axis]),
        shape[axis],
        prod(shape[axis + 1 :]),
        prod(shape_of(indices)),
        stored_element(source),
        stored_element(indices),
        is_unsigned(indices),
        reports=True,
    )


def _gather(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    spec, size = gather_spec(op), prod(shape_of(op.ins[0]))
    if spec.element not in ELEMENTS or not size:
        return f"it has elements of {spec.element}, {size} of them"
    if size * byte_width(spec.element) > LARGEST:
        return "its table is longer than indices of 32 bits reach"
    calls = launch("gather", spec, build_gather, [op.outs[0], *op.ins])
    return [replace(call, report=OUTSIDE) for call in calls]


def tail(channels: int, strides: tuple[int, ...], lanes: int) -> Bound | None:
    """What ends behind the last channel; None where that is the last lane of its block."""
    return Bound(strides, channels) if channels % lanes else None


def _pack(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    """Lanes without channels are zeros."""
    images, channels, *plane = shape_of(op.ins[0])
    lanes = op.attributes_view().int("lanes")
    pixels, blocks = prod(plane), -(-channels // lanes)
    strides = (channels * pixels, lanes * pixels, 1, pixels)
    operand = StridedOperand(
        images * channels * pixels,
        strides,
        bound=tail(channels, (0, lanes, 0, 1), lanes),
    )
    return moved(op, (images, blocks, pixels, lanes), operand)


def _unpack(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    images, blocks, *plane, lanes = shape_of(op.ins[0])
    channels, pixels = shape_of(op.outs[0])[1], prod(plane)
    size = blocks * pixels * lanes
    operand = StridedOperand(images * size, (size, lanes * pixels, 1, lanes))
    result = StridedOperand(
        images * channels * pixels,
        (channels * pixels, lanes * pixels, pixels, 1),
        bound=tail(channels, (0, lanes, 1, 0), lanes),
    )
    shape = (images, blocks, lanes, pixels)
    return moved(op, shape, operand, None if result.bound is None else result)


ROWS: Mapping[type[Operation], Row] = {
    glow.TransposeOp: _transpose,
    glow.BroadcastOp: _broadcast,
    glow.GatherOp: _gather,
    glow.SliceOp: _slice,
    instr.CopyOp: _copy,
    instr.InsertOp: _insert,
    cpu.PackOp: _pack,
    cpu.UnpackOp: _unpack,
}
