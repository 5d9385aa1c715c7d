"""Splits grouped convolutions into one for each group where that allows fewer multiplications.

Kernels that transform their inputs know no groups. Groups that fill whole channel blocks
are slices of memory, and so are their results, so that splitting costs no copy.

    %y = glow.conv2d %x, %w group 2 pads [1, 1, 1, 1] : tensor<1x384x13x13xf32>
  becomes
    %0 = glow.slice %x starts [0, 0, 0, 0] sizes [1, 192, 13, 13] ... : tensor<1x192x13x13xf32>
    %1 = glow.conv2d %0, %w.group0 pads [1, 1, 1, 1] : tensor<1x192x13x13xf32>
    %2 = glow.slice %x starts [0, 192, 0, 0] sizes [1, 192, 13, 13] ... : tensor<1x192x13x13xf32>
    %3 = glow.conv2d %2, %w.group1 pads [1, 1, 1, 1] : tensor<1x192x13x13xf32>
    %y = glow.concat %1, %3 axis 1 : tensor<1x384x13x13xf32>
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from glow.backends.cpu.layout.convolution import conv_shape, is_blocked
from glow.backends.cpu.layout.layout import is_f32
from glow.backends.cpu.layout.packer import Packer
from glow.dialects import glow
from glow.dialects.node import shape_of
from glow.dialects.weights import Array, constant_value
from glow.passes.rewriting.node_builder import NodeBuilder, attributes_of, name_of
from glow.passes.rewriting.operations import all_operations

MAX_GROUPS = 8
"""More groups would only be more kernel calls, each with little to do."""


def split_groups(module: ModuleOp, packer: Packer) -> None:
    """Split the grouped convolutions whose groups are faster on their own."""
    for op in all_operations(module):
        if isinstance(op, glow.Conv2dOp) and should_split(op, packer):
            split(op)


def should_split(op: glow.Conv2dOp, packer: Packer) -> bool:
    """Whether each group is memory of its own and takes few multiplications alone."""
    shape = conv_shape(op)
    groups = shape.group
    if not 1 < groups <= MAX_GROUPS or shape.batch != 1:
        return False
    if not is_blocked(shape, packer.lanes) or not is_f32(op.input, op.weights, op.bias):
        return False
    known = op.bias is None or constant_value(op.bias) is not None
    if not known or constant_value(op.weights) is None:
        return False
    inputs, outputs = shape.input_channels // groups, shape.output_channels // groups
    one = replace(shape, input_channels=inputs, output_channels=outputs, group=1)
    return packer.choose_winograd(one) is not None


def split(op: glow.Conv2dOp) -> None:
    """Replace a convolution by one for each group."""
    builder, groups = NodeBuilder(op), op.attributes_view().int("group")
    _, channels, *plane = shape_of(op.input)
    size = channels // groups
    results: list[SSAValue] = []
    for index in range(groups):
        image = builder.node(
            glow.SliceOp,
            op.input,
            starts=[0, index * size, 0, 0],
            sizes=[1, size, *plane],
            steps=[1, 1, 1, 1],
        )
        parameters = [
            _part(builder, value, index, groups)
            for value in (op.weights, op.bias)
            if value is not None
        ]
        attributes = {**attributes_of(op), "group": 1}
        operands = [image, *parameters]
        results.append(builder.create(glow.Conv2dOp, operands, attributes))
    builder.replace(builder.node(glow.ConcatOp, *results, axis=1))


def _part(builder: NodeBuilder, value: SSAValue, index: int, groups: int) -> SSAValue:
    """The weights or the bias of one group."""
    array: Array | None = constant_value(value)
    assert array is not None
    size = len(array) // groups
    part = array[index * size : (index + 1) * size]
    return builder.constant(part, f"{name_of(value)}.group{index}")
