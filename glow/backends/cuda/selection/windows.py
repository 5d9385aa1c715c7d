"""Pools, depthwise convolutions, those of groups that lie in a block, and norms of channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.program.program import Invocation
from glow.backends.cpu.selection.common import (
    epilogue_of,
    is_unsigned,
    stored_element,
)
from glow.backends.cpu.selection.convolution import group_size, window_of
from glow.backends.cpu.selection.integers import padding_of
from glow.backends.cpu.selection.normalization import local_response_norm_spec
from glow.backends.cuda.kernels.reduction.channel_norm import (
    ChannelNormSpec,
    build_channel_norm,
)
from glow.backends.cuda.kernels.window_spec import WindowsSpec
from glow.backends.cuda.kernels.windows import build_windows
from glow.backends.cuda.selection.choice import Choice, Row
from glow.backends.cuda.selection.common import BiasEpilogue, launch, other_elements
from glow.backends.cuda.window_tiling import choose_tile
from glow.dialects import glow, instr
from glow.dialects.node import element_of, shape_of
from glow.lowering.loop_builder.window import Window

BLOCKED = 3
"""The axes of a plane and its lanes."""
POOLED: Mapping[type[Operation] | None, Sequence[Attribute]] = {
    glow.MaxPool2dOp: (f32, i8),
    glow.AvgPool2dOp: (f32,),
}
"""The elements of pools."""


def launched(
    spec: WindowsSpec, choice: Choice, buffers: Sequence[SSAValue]
) -> Sequence[Invocation] | str:
    """The kernel with the best tile."""
    if (problem := other_elements(spec.buffers, buffers)) is not None:
        return problem
    spec = replace(spec, tile=choose_tile(spec, choice.machine))
    return launch("windows", spec, build_windows, buffers)


def window(op: instr.InstructionOp) -> Window:
    """That of a plain image or of one in blocks."""
    attributes = op.attributes_view()
    plane, extents = (shape_of(value)[2:4] for value in (op.ins[0], op.outs[0]))
    return window_of(attributes, attributes.ints("kernel"), plane, extents)


def _pool(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    """A plain tensor has blocks of one channel."""
    image, attributes = op.ins[0], op.attributes_view()
    if (element := stored_element(image)) not in POOLED[op.node]:
        return f"it has elements of {element_of(image)}"
    images, blocks, *plane = shape_of(image)
    spec = WindowsSpec(
        images,
        blocks,
        plane[2] if len(plane) == BLOCKED else 1,
        window(op),
        "max" if op.node is glow.MaxPool2dOp else "average",
        count_include_pad=attributes.has("count_include_pad"),
        element=element,
        signed=not is_unsigned(image),
    )
    return launched(spec, choice, [op.outs[0], image])


def _depthwise(op: instr.InstructionOp, choice: Choice) -> Sequence[Invocation] | str:
    """Of floats, whose groups may have some channels, or of unsigned bytes with signed ones."""
    image, weights, bias, *epilogue_operands = op.ins
    images, blocks, _, _, lanes = shape_of(image)
    is_int8 = op.node is cpu.Int8DepthwiseConv2dOp
    epilogue = BiasEpilogue(i32 if is_int8 else f32, epilogue_of(op, epilogue_operands))
    spec = WindowsSpec(images, blocks, lanes, window(op), "multiply", epilogue=epilogue)
    if is_int8:
        spec = replace(spec, element=i8, zero_point=padding_of(op.attributes_view()))
    else:
        spec = replace(spec, group=group_size(weights))
    if spec.width % spec.group:
        return "a thread has not all channels of a group"
    buffers = [op.outs[0], image, weights, bias, *epilogue_operands]
    return launched(spec, choice, buffers)


def _int8_sum_pool(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation] | str:
    image, *epilogue_operands = op.ins
    images, blocks, _, _, lanes = shape_of(image)
    spec = WindowsSpec(
        images,
        blocks,
        lanes,
        window(op),
        "sum",
        epilogue=epilogue_of(op, epilogue_operands),
        element=i8,
        signed=not is_unsigned(image),
        zero_point=op.attributes_view().int("zero_point"),
    )
    return launched(spec, choice, [op.outs[0], image, *epilogue_operands])


def _local_response_norm(
    op: instr.InstructionOp, choice: Choice
) -> Sequence[Invocation] | str:
    if any(element_of(value) != f32 for value in (op.outs[0], op.ins[0])):
        return "it computes in other elements than f32"
    norm = local_response_norm_spec(op)
    spec = ChannelNormSpec(norm, shape_of(op.ins[0])[-1] if norm.blocked else 1)
    buffers = [op.outs[0], op.ins[0]]
    return launch("channel_norm", spec, build_channel_norm, buffers)


ROWS: Mapping[type[Operation], Row] = {
    glow.MaxPool2dOp: _pool,
    glow.AvgPool2dOp: _pool,
    cpu.DepthwiseConv2dOp: _depthwise,
    cpu.GroupedConv2dOp: _depthwise,
    cpu.Int8DepthwiseConv2dOp: _depthwise,
    cpu.Int8SumPool2dOp: _int8_sum_pool,
    cpu.LocalResponseNormOp: _local_response_norm,
    glow.LocalResponseNormOp: _local_response_norm,
}
