"""Kernels of int8 products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import i8, i16
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import ConvConfig, MatmulConfig
from glow.backends.cpu.dialect.config_attributes import config_of
from glow.backends.cpu.kernels.channelwise.int8_depthwise import (
    Int8DepthwiseSpec,
    build_int8_depthwise,
)
from glow.backends.cpu.kernels.channelwise.int8_sum_pool import (
    Int8SumPoolSpec,
    build_int8_sum_pool,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import (
    Int8Conv2dSpec,
    input_step,
)
from glow.backends.cpu.kernels.convolution.matrix_conv2d import build_int8_convolution
from glow.backends.cpu.kernels.convolution.matrix_conv_plan import (
    wrong_int8_conv_config,
)
from glow.backends.cpu.kernels.int8_winograd.kernel import (
    WRITTEN,
    build_int8_winograd,
)
from glow.backends.cpu.kernels.int8_winograd.spec import (
    KERNEL,
    Int8WinogradSpec,
    int8_winograd_tiling,
    scratch_sizes,
    wrong_int8_winograd_config,
)
from glow.backends.cpu.kernels.matmul.int8_batch_matmul import (
    Int8BatchMatmulSpec,
    build_int8_batch_matmul,
)
from glow.backends.cpu.kernels.matmul.matmul import build_matmul
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import (
    checked,
    epilogue_of,
    invoke,
    is_unsigned,
    named_first,
)
from glow.backends.cpu.selection.convolution import (
    check_scratch,
    check_supported,
    planes_of,
    window_of,
    winograd_sums,
)
from glow.backends.cpu.selection.matmul import permuted_strides
from glow.backends.cpu.tiling.int8_tile import product_step
from glow.dialects import instr
from glow.dialects.attributes import Attributes
from glow.dialects.node import element_of, shape_of
from glow.lowering.target.target import Target


def padding_of(attributes: Attributes) -> int:
    """The byte that pads the input; 0 where none does, so that kernels are shared."""
    return attributes.int("zero_point") if any(attributes.ints("pads")) else 0


def _conv2d(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, bias, *epilogue_operands = op.ins
    attributes, shape = op.attributes_view(), shape_of(image)
    wide = element_of(image) == i16
    spec = Int8Conv2dSpec(
        batch=shape[0],
        in_channels=attributes.int("input_channels"),
        out_channels=attributes.int("output_channels"),
        window=window_of(attributes, attributes.ints("kernel"), shape[2:4]),
        groups=attributes.int("group"),
        lanes=shape_of(bias)[1],
        has_bias=True,
        epilogue=epilogue_of(op, epilogue_operands),
        block_lanes=shape[4],
        zero_point=padding_of(attributes),
        step=input_step(shape[4], target, wide=wide),
        wide_input=wide,
        signed_input=attributes.has("signed_input"),
        config=config_of(attributes, ConvConfig),
    )
    spec = replace(spec, borders=shape_of(bias)[0] // spec.bias_rows)
    spec = checked(op, spec, wrong_int8_conv_config, target)
    buffers = [op.outs[0], image, weights, bias, *epilogue_operands]
    return invoke("int8_conv2d", spec, named_first(build_int8_convolution), buffers)


def _winograd(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, bias, *epilogue_operands = op.ins
    attributes = op.attributes_view()
    spec = replace(
        winograd_sums(attributes, image, (KERNEL, KERNEL), Int8WinogradSpec),
        epilogue=epilogue_of(op, epilogue_operands),
        zero_point=padding_of(attributes),
    )
    check_supported(op, spec)
    spec = checked(op, spec, wrong_int8_winograd_config, target)
    check_scratch(op, scratch_sizes(int8_winograd_tiling(spec, target)))
    buffers = [*op.outs, *op.inouts, image, weights, bias, *epilogue_operands]
    build = named_first(build_int8_winograd)
    return invoke("int8_winograd", spec, build, buffers, WRITTEN)


def _depthwise(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, bias, *epilogue_operands = op.ins
    attributes = op.attributes_view()
    spec = Int8DepthwiseSpec(
        replace(planes_of(attributes, image), element=i8),
        padding_of(attributes),
        epilogue_of(op, epilogue_operands),
    )
    spec = checked(op, spec, lambda spec, _: spec.planes.wrong_config(), target)
    buffers = [op.outs[0], image, weights, bias, *epilogue_operands]
    return invoke("int8_depthwise", spec, named_first(build_int8_depthwise), buffers)


def _sum_pool(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, *epilogue_operands = op.ins
    attributes = op.attributes_view()
    batch, blocks, *plane, lanes = shape_of(image)
    kernel, extents = attributes.ints("kernel"), shape_of(op.outs[0])[2:4]
    window = window_of(attributes, kernel, plane, extents)
    planes = BlockedPlanes(batch, blocks * lanes, window, lanes, i8)
    small_loops = target.prefers_small_loops
    config = planes.choose_config(target.core, small_loops=small_loops)
    spec = Int8SumPoolSpec(
        replace(planes, config=config),
        attributes.int("zero_point"),
        is_unsigned(image),
        epilogue_of(op, epilogue_operands),
    )
    buffers = [op.outs[0], image, *epilogue_operands]
    return invoke("int8_sum_pool", spec, named_first(build_int8_sum_pool), buffers)


def _matmul(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    lhs, weights, bias, *epilogue_operands = op.ins
    (*rows, depth), wide = shape_of(lhs), element_of(lhs) == i16
    spec = MatmulSpec(
        prod(rows),
        shape_of(bias)[0],
        depth,
        has_bias=True,
        epilogue=epilogue_of(op, epilogue_operands),
        element=i8,
        signed_input=op.attributes_view().has("signed_input"),
        step=product_step(depth, target, wide=wide),
        wide_input=wide,
        config=config_of(op.attributes_view(), MatmulConfig),
    )
    spec = checked(op, spec, MatmulSpec.wrong_config, target)
    buffers = [op.outs[0], lhs, weights, bias, *epilogue_operands]
    return invoke("int8_matmul", spec, build_matmul, buffers)


def int8_batch_matmul_spec(
    attributes: Attributes, output: SSAValue, lhs: SSAValue, rhs: SSAValue
) -> Int8BatchMatmulSpec:
    """The sums of an int8 matmul with dynamic operands, as it is configured."""
    lhs_axes, rhs_axes = attributes.ints("lhs_axes"), attributes.ints("rhs_axes")
    result_axes = attributes.ints("result_axes")
    stored = [result_axes.index(axis) for axis in range(len(result_axes))]
    *batch, rows, columns = (shape_of(output)[axis] for axis in stored)
    return Int8BatchMatmulSpec(
        tuple(batch),
        rows,
        columns,
        shape_of(lhs)[lhs_axes[-1]],
        permuted_strides(shape_of(lhs), lhs_axes),
        permuted_strides(shape_of(rhs), rhs_axes),
        permuted_strides(shape_of(output), stored),
        signed_b=not is_unsigned(rhs),
        plain_a=attributes.has("plain_lhs"),
        plain_b=attributes.has("plain_rhs"),
        config=config_of(attributes, MatmulConfig),
    )


def _batch_matmul(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    lhs, rhs, points, *epilogue_operands = op.ins
    spec = int8_batch_matmul_spec(op.attributes_view(), op.outs[0], lhs, rhs)
    spec = replace(spec, epilogue=epilogue_of(op, epilogue_operands))
    spec = checked(op, spec, Int8BatchMatmulSpec.wrong_config, target)
    buffers = [op.outs[0], lhs, rhs, points, *epilogue_operands]
    return invoke("int8_batch_matmul", spec, build_int8_batch_matmul, buffers)


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    cpu.Int8Conv2dOp: _conv2d,
    cpu.Int8WinogradConv2dOp: _winograd,
    cpu.Int8DepthwiseConv2dOp: _depthwise,
    cpu.Int8SumPool2dOp: _sum_pool,
    cpu.Int8MatmulOp: _matmul,
    cpu.Int8BatchMatmulOp: _batch_matmul,
}
