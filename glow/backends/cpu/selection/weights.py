"""Kernels for weights that are computed: packing at run time, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config_attributes import panels_of
from glow.backends.cpu.dialect.weights import turned_taps
from glow.backends.cpu.kernels.convolution.conv2d_gradient import (
    Conv2dGradientSpec,
    build_conv2d_gradient,
)
from glow.backends.cpu.kernels.convolution.pack_weights import (
    PackWeightsSpec,
    build_pack_weights,
    build_unpack_weights,
)
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection.common import invoke, named_first
from glow.backends.cpu.selection.convolution import window_of
from glow.dialects import instr
from glow.dialects.errors import GlowError
from glow.dialects.node import node_name, shape_of
from glow.lowering.target.target import Target


def _pack_weights(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    attributes = op.attributes_view()
    first, second, height, width = shape_of(op.ins[0])
    group, panels = attributes.int("group"), panels_of(attributes)
    assert panels is not None
    outputs, inputs, turned = first // group, second, None
    if attributes.has("turned"):
        rows, columns = turned_taps((height, width), attributes)
        outputs, inputs, turned = inputs, outputs, (rows, columns)
    spec = PackWeightsSpec(
        group,
        outputs,
        inputs,
        (height, width),
        panels.blocks,
        panels.lanes,
        attributes.int("input_lanes"),
        turned,
    )
    if not spec.supported():
        raise GlowError(
            f"{op.name} needs whole blocks in each phase", node=node_name(op)
        )
    buffers = [op.outs[0], op.ins[0]]
    return invoke("pack_weights", spec, named_first(build_pack_weights), buffers)


def _unpack_weights(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    attributes = op.attributes_view()
    outputs, inputs, height, width = attributes.ints("shape")
    group = attributes.int("group")
    spec = PackWeightsSpec(
        group,
        outputs // group,
        inputs,
        (height, width),
        1,
        attributes.int("lanes"),
        attributes.int("input_lanes"),
    )
    buffers = [op.outs[0], op.ins[0]]
    return invoke("unpack_weights", spec, named_first(build_unpack_weights), buffers)


def _weight_gradient(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, gradient = op.ins
    attributes, shape = op.attributes_view(), shape_of(image)
    batch, _, *output, lanes = shape_of(gradient)
    spec = Conv2dGradientSpec(
        batch,
        attributes.int("input_channels"),
        attributes.int("output_channels"),
        window_of(attributes, attributes.ints("kernel"), shape[2:4], output),
        attributes.int("group"),
        lanes,
        plain_input=len(shape) == 4,
    )
    buffers = [op.outs[0], image, gradient]
    return invoke("conv2d_gradient", spec, named_first(build_conv2d_gradient), buffers)


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    cpu.PackWeightsOp: _pack_weights,
    cpu.UnpackWeightsOp: _unpack_weights,
    cpu.Conv2dWeightGradientOp: _weight_gradient,
}
