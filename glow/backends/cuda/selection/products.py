"""Products whose factors lie as they are: computed ones, and convolutions of plain images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, f32, i8
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import (
    DynamicBatchMatmul,
    dense_strides,
)
from glow.backends.cpu.kernels.matmul.int8_batch_matmul import Int8BatchMatmulSpec
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.common import epilogue_of
from glow.backends.cpu.selection.convolution import window_of
from glow.backends.cpu.selection.integers import int8_batch_matmul_spec
from glow.backends.cpu.selection.matmul import batch_matmul_spec, operand_strides
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    ImageFactor,
    ImageResult,
    MatrixFactor,
    ZeroPoints,
)
from glow.backends.cuda.kernels.gpu_builder import MOST_BLOCKS
from glow.backends.cuda.kernels.strided import StridedFactor, StridedResult
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import BiasEpilogue, exchanged
from glow.backends.cuda.selection.product import SMALLEST, launch_product
from glow.dialects import glow, instr
from glow.dialects.node import element_of, shape_of
from glow.lowering.loop_builder.epilogue import Epilogue

FLOATS = Float32Type | Float16Type | BFloat16Type


def launched(
    spec: ContractionSpec, choice: Choice, buffers: Sequence[SSAValue]
) -> Sequence[Invocation] | str:
    """The kernel of a product with the best tile."""
    if spec.k == 0 or 0 in spec.result.shape:
        return "it multiplies nothing"
    if spec.batch > MOST_BLOCKS:
        return f"it is {spec.batch} products, and grids have at most {MOST_BLOCKS}"
    if spec.element == f32:
        spec = replace(spec, precision=choice.precision)
    return launch_product(spec, choice, buffers)


def other_elements(op: instr.InstructionOp, epilogue: Epilogue | None) -> str | None:
    """Why factors are not multiplied: if they are no floats of one type, or if sums of f32 are
    stored as other numbers than an epilogue gives.
    """
    elements = {element_of(value) for value in op.ins[:2]}
    if len(elements) > 1 or not isinstance(next(iter(elements)), FLOATS):
        return f"it multiplies {' and '.join(map(str, elements))}"
    stored: Attribute = f32 if epilogue is None else epilogue.result_element
    if stored != element_of(op.outs[0]):
        return f"it stores elements of {element_of(op.outs[0])}"
    return None


def apart(shapes: DynamicBatchMatmul) -> str | None:
    """Why factors are not read, if neither their rows nor their columns are contiguous."""
    for steps, extents in (
        (shapes.a, (shapes.rows, shapes.depth)),
        (shapes.b, (shapes.depth, shapes.columns)),
    ):
        if 1 not in (steps.row, steps.column) and 1 not in extents:
            return "a factor is apart along both axes"
    return None


def strided(
    op: instr.InstructionOp,
    choice: Choice,
    shapes: DynamicBatchMatmul,
    epilogue: Epilogue | None = None,
) -> Sequence[Invocation] | str:
    """Products of matrices that lie in any order of axes."""
    problem = other_elements(op, epilogue) or apart(shapes)
    if problem is not None:
        return problem
    spec = strided_spec(shapes, element_of(op.ins[0]), epilogue)
    return launched(spec, choice, [op.outs[0], *op.ins])


def strided_spec(
    shapes: DynamicBatchMatmul, element: Attribute, epilogue: Epilogue | None
) -> ContractionSpec:
    """The contraction of matrices that lie in any order of axes."""
    batch = shapes.batch
    rows, columns, depth = shapes.rows, shapes.columns, shapes.depth
    return ContractionSpec(
        prod(batch),
        rows,
        columns,
        depth,
        StridedFactor(batch, rows, depth, shapes.a, element),
        StridedFactor(batch, columns, depth, exchanged(shapes.b), element),
        StridedResult(batch, rows, columns, shapes.c),
        SMALLEST,
        epilogue=epilogue,
    )


def _batch_matmul(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation] | str:
    lhs, rhs, *epilogue_operands = op.ins
    shapes = batch_matmul_spec(op.attributes_view(), op.outs[0], lhs, rhs)
    return strided(op, choice, shapes, epilogue_of(op, epilogue_operands))


def _int8_batch_matmul(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation] | str:
    """Unsigned bytes times signed or unsigned ones, with the zero points of both."""
    lhs, rhs, points, *epilogue_operands = op.ins
    shapes = int8_batch_matmul_spec(op.attributes_view(), op.outs[0], lhs, rhs)
    if (problem := apart(shapes)) is not None:
        return problem
    spec = strided_spec(shapes, i8, epilogue_of(op, epilogue_operands))
    known = zero_points(shapes)
    spec = replace(spec, is_unsigned=True, points=known)
    factors = [lhs, rhs] if known is None else [lhs, rhs, points]
    return launched(spec, choice, [op.outs[0], *factors, *epilogue_operands])


def zero_points(shapes: Int8BatchMatmulSpec) -> ZeroPoints | None:
    """Those that may be others than 0: the plain one of unsigned bytes is 128."""
    is_unsigned = not shapes.signed_b
    first, second = not shapes.plain_a, is_unsigned or not shapes.plain_b
    return ZeroPoints(first, second, is_unsigned) if first or second else None


def _matmul(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    """Leading axes of factors broadcast."""
    attributes = op.attributes_view()
    *batch, rows, columns = shape_of(op.outs[0])
    extents, transposed = tuple(batch), attributes.has("transpose_lhs")
    depth = shape_of(op.ins[0])[-2 if transposed else -1]
    a, b = (
        operand_strides(extents, shape_of(value), attributes.has(f"transpose_{side}"))
        for side, value in zip(("lhs", "rhs"), op.ins, strict=True)
    )
    stored = dense_strides(extents, extents, rows, columns)
    shapes = DynamicBatchMatmul(extents, rows, columns, depth, a, b, stored)
    return strided(op, choice, shapes)


def windows_of(op: instr.InstructionOp) -> ImageFactor:
    """The windows of a plain image; a batch is a group."""
    image, weights, *_ = op.ins
    attributes, (images, channels, *plane) = op.attributes_view(), shape_of(image)
    window = window_of(attributes, shape_of(weights)[2:], plane)
    groups = attributes.int("group")
    return ImageFactor(
        images,
        groups,
        channels // groups,
        window.input,
        window.kernel,
        window.output,
        window.strides,
        window.dilations,
        window.pads[:2],
        element_of(image),
    )


def _plain_conv2d(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation] | str:
    """Weights [O, C / group, kh, kw] times the windows of an image."""
    image, weights, bias, *epilogue_operands = op.ins
    epilogue = BiasEpilogue(f32, epilogue_of(op, epilogue_operands))
    if (problem := other_elements(op, epilogue)) is not None:
        return problem
    windows, (outputs, *taps) = windows_of(op), shape_of(weights)
    groups, pixels, depth = windows.groups, prod(windows.out), prod(taps)
    rows = outputs // groups
    spec = ContractionSpec(
        groups,
        rows,
        windows.images * pixels,
        depth,
        MatrixFactor(groups, rows, depth, True, windows.element),
        windows,
        ImageResult(windows.images, groups, rows, pixels),
        SMALLEST,
        epilogue=epilogue,
    )
    buffers = [op.outs[0], weights, image, bias, *epilogue_operands]
    return launched(spec, choice, buffers)


ROWS: Mapping[type[Operation], Row] = {
    cpu.BatchMatmulOp: _batch_matmul,
    cpu.Int8BatchMatmulOp: _int8_batch_matmul,
    cpu.PlainConv2dOp: _plain_conv2d,
    glow.MatmulOp: _matmul,
}
