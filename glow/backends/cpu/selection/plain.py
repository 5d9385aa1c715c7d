"""Loops from an operator's definition, for element types without a special kernel.

Integers wrap in their own type, which gives what a wider sum would when it is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import Attribute, Block, SSAValue

from glow.backends.cpu.kernels.reduction.structured import (
    Access,
    Affine,
    Dimension,
    Operand,
    StructuredSpec,
    Window,
    build_structured,
)
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.common import invoke, is_unsigned
from glow.dialects import instr
from glow.dialects.node import element_of, shape_of
from glow.dialects.weight_table import dtype_of
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.window import Window as SlidingWindow
from glow.lowering.type_guards import is_integer
from glow.passes.rewriting.scalar_builder import ScalarBuilder

Step = Callable[[ScalarBuilder, Sequence[SSAValue]], SSAValue]
"""Appends the scalar code of one step: takes the accumulator and the elements."""


def region(element: Attribute, inputs: int, step: Step) -> ScalarRegion:
    """The region of a step over scalars of one type."""
    block = Block(arg_types=[element] * inputs)
    builder = ScalarBuilder(block)
    builder.yield_(step(builder, block.args))
    return ScalarRegion(block)


def lowest(buffer: SSAValue) -> float:
    """The number of a buffer's element type that never wins a maximum."""
    element = element_of(buffer)
    if not is_integer(element):
        return float("-inf")
    if is_unsigned(buffer):
        return 0
    return -(2 ** (8 * dtype_of(element).itemsize - 1))


def multiply_add(
    op: instr.InstructionOp,
    parallel: tuple[int, ...],
    reduced: tuple[int, ...],
    *accesses: Access,
) -> Sequence[Invocation]:
    """The sums over `reduced` of products of the two operands' elements."""
    left, right = op.ins
    operands = tuple(
        Operand(prod(shape_of(buffer)), access)
        for buffer, access in zip((left, right), accesses, strict=True)
    )
    step = region(element_of(left), 3, lambda b, x: b.add(x[0], b.mul(x[1], x[2])))
    spec = StructuredSpec(parallel, reduced, operands, step)
    return invoke("plain", spec, build_structured, [op.outs[0], left, right])


def _places(window: SlidingWindow, axis: int, stride: int) -> Dimension:
    """Where the taps of an axis lie, for coordinates (y, x, row tap, column tap)."""
    factors = [0, 0, 0, 0]
    factors[axis], factors[2 + axis] = window.strides[axis], window.dilations[axis]
    return Dimension(window.input[axis], stride, tuple(factors), -window.pads[axis])


def _moved(dimension: Dimension, before: int, between: int, after: int) -> Dimension:
    """A place of a window under further coordinates that do not move it."""
    y, x, row, column = dimension.factors
    factors = (*[0] * before, y, x, *[0] * between, row, column, *[0] * after)
    return Dimension(dimension.extent, dimension.stride, factors, dimension.offset)


def conv2d(
    op: instr.InstructionOp, window: SlidingWindow, groups: int
) -> Sequence[Invocation]:
    """A convolution without bias; coordinates (n, group, o, y, x, c, row, column)."""
    image, weights = op.ins
    batch, channels, height, width = shape_of(image)
    outputs, depth, rows, columns = shape_of(weights)
    plane, taps = height * width, rows * columns
    source = Window(
        (
            Dimension(batch, channels * plane, (1, 0, 0, 0, 0, 0, 0, 0), inside=True),
            Dimension(channels, plane, (0, depth, 0, 0, 0, 1, 0, 0), inside=True),
            _moved(_places(window, 0, width), 3, 1, 0),
            _moved(_places(window, 1, 1), 3, 1, 0),
        )
    )
    filters = Affine(
        (0, outputs // groups * depth * taps, depth * taps, 0, 0, taps, columns, 1)
    )
    parallel = (batch, groups, outputs // groups, *window.output)
    return multiply_add(op, parallel, (depth, rows, columns), source, filters)


def max_pool(op: instr.InstructionOp, window: SlidingWindow) -> Sequence[Invocation]:
    """A maximum over windows; coordinates (plane, y, x, lane, row, column)."""
    (image,) = op.ins
    batch, channels, height, width, *blocked = shape_of(image)
    lanes, planes = (blocked or [1])[0], batch * channels
    source = Window(
        (
            Dimension(planes, height * width * lanes, (1, 0, 0, 0, 0, 0), inside=True),
            _moved(_places(window, 0, width * lanes), 1, 1, 0),
            _moved(_places(window, 1, lanes), 1, 1, 0),
            Dimension(lanes, 1, (0, 0, 0, 1, 0, 0), inside=True),
        )
    )
    step = region(element_of(image), 2, lambda b, x: b.maximum(*x))
    number = lowest(image)
    spec = StructuredSpec(
        (planes, *window.output, lanes),
        window.kernel,
        (Operand(prod(shape_of(image)), source, number),),
        step,
        number,
    )
    return invoke("plain", spec, build_structured, [op.outs[0], image])
