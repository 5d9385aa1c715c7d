"""Kernels of convolutions, pools, and the packing of channel blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Operation, SSAValue

from glow.backends.cpu import dialect as cpu
from glow.backends.cpu.dialect.config import (
    ConvConfig,
    DepthwiseConfig,
    PlainConvConfig,
    WinogradConfig,
)
from glow.backends.cpu.dialect.config_attributes import config_of
from glow.backends.cpu.kernels.channelwise.arg_max_pool import (
    ArgMaxPoolSpec,
    build_arg_max_pool,
)
from glow.backends.cpu.kernels.channelwise.depthwise import (
    DepthwiseSpec,
    build_depthwise,
)
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.channelwise.pool import PoolSpec, build_pool
from glow.backends.cpu.kernels.convolution.conv2d import Conv2dSpec, build_conv2d
from glow.backends.cpu.kernels.convolution.conv2d_config import wrong_conv_config
from glow.backends.cpu.kernels.convolution.direct_conv import (
    DirectConvSpec,
    build_direct_conv,
    wrong_plain_config,
)
from glow.backends.cpu.kernels.convolution.sparse_conv2d import build_sparse_conv2d
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import SparseConv2dSpec
from glow.backends.cpu.kernels.movement.pack import PackSpec, build_pack, build_unpack
from glow.backends.cpu.kernels.winograd.config import wrong_winograd_config
from glow.backends.cpu.kernels.winograd.direct import (
    WinogradDirectSpec,
    build_winograd_direct,
)
from glow.backends.cpu.kernels.winograd.kernel import (
    Operand,
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.pixel_sizes import (
    build_pixel_sizes,
    pixel_sizes_of,
)
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import (
    choose_winograd_tiling,
    scratch_sizes,
)
from glow.backends.cpu.layout.conv_shape import (
    Winograd,
    winograd_kernel,
    winograd_shape_of,
    winograd_spec,
)
from glow.backends.cpu.program.program import Invocation, KernelSelector
from glow.backends.cpu.selection import plain
from glow.backends.cpu.selection.common import (
    checked,
    epilogue_of,
    invoke,
    is_unsigned,
    named_first,
    stored_element,
)
from glow.dialects import glow, instr
from glow.dialects.attributes import Attributes
from glow.dialects.errors import GlowError
from glow.dialects.node import element_of, node_name, shape_of
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.target import Target


def window_of(
    attributes: Attributes,
    kernel: Sequence[int],
    plane: Sequence[int],
    output: Sequence[int] | None = None,
) -> Window:
    """The sliding window of a convolution or pool."""
    top, left, bottom, right = attributes.ints("pads")
    return Window(
        _pair(plane),
        _pair(kernel),
        _pair(attributes.ints("strides")),
        _pair(attributes.ints("dilations")),
        (top, left, bottom, right),
        None if output is None else _pair(output),
    )


def _pair(values: Sequence[int]) -> tuple[int, int]:
    height, width = values
    return height, width


def _float_element(buffer: SSAValue) -> AnyFloat:
    return cast("AnyFloat", element_of(buffer))


def _conv2d(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, bias, *epilogue_operands = op.ins
    attributes, shape = op.attributes_view(), shape_of(image)
    spec = Conv2dSpec(
        batch=shape[0],
        in_channels=attributes.int("input_channels"),
        out_channels=attributes.int("output_channels"),
        window=window_of(attributes, attributes.ints("kernel"), shape[2:4]),
        groups=attributes.int("group"),
        lanes=shape_of(bias)[1],
        plain_input=len(shape) == 4,
        has_bias=True,
        epilogue=epilogue_of(op, epilogue_operands),
        element=_float_element(image),
        config=config_of(attributes, ConvConfig),
    )
    spec = checked(op, spec, wrong_conv_config, target)
    buffers = [op.outs[0], image, weights, bias, *epilogue_operands]
    return invoke("conv2d", spec, named_first(build_conv2d), buffers)


def _sparse_conv2d(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    table, image, weights, bias, *epilogue_operands = op.ins
    attributes, shape = op.attributes_view(), shape_of(image)
    spec = SparseConv2dSpec(
        batch=shape[0],
        in_channels=attributes.int("input_channels"),
        out_channels=attributes.int("output_channels"),
        window=window_of(attributes, attributes.ints("kernel"), shape[2:4]),
        lanes=shape_of(bias)[1],
        has_bias=True,
        epilogue=epilogue_of(op, epilogue_operands),
        element=_float_element(image),
        tile_blocks=attributes.int("tile_blocks"),
        entries=attributes.ints("entries"),
        config=config_of(attributes, ConvConfig),
    )
    spec = checked(op, spec, wrong_conv_config, target)
    buffers = [op.outs[0], image, weights, bias, *epilogue_operands, table]
    return invoke("sparse_conv2d", spec, named_first(build_sparse_conv2d), buffers)


def winograd_sums(
    attributes: Attributes,
    image: SSAValue,
    kernel: tuple[int, int],
    kind: type[Winograd],
) -> Winograd:
    """The sums of a convolution by Winograd's method, as it is configured."""
    shape = winograd_shape_of(attributes, shape_of(image), kernel)
    config, lanes = config_of(attributes, WinogradConfig), shape_of(image)[-1]
    return winograd_spec(shape, attributes.int("tile"), lanes, config, kind)


def _winograd(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    """One kernel for each phase, or one for all, on the instruction's scratch memory.

    Before those of phases one for the sizes of pixels, behind them one for tiles where these are
    uneven.
    """
    factors, image, weights, bias, *epilogue_operands = op.ins
    attributes = op.attributes_view()
    kernel = winograd_kernel(attributes)
    spec = replace(
        winograd_sums(attributes, image, kernel, WinogradSpec),
        pool=attributes.int("pool"),
        epilogue=epilogue_of(op, epilogue_operands),
        element=_float_element(image),
        has_zero_taps=attributes.has("zero_taps"),
        axes=attributes.ints("axes"),
    )
    _check_winograd(op, spec, target)
    patches, products, sizes = op.inouts
    buffers: dict[Operand, Sequence[SSAValue]] = {
        "output": op.outs,
        "patches": [patches],
        "products": [products],
        "sizes": [sizes],
        "input": [image],
        "factors": [factors],
        "weights": [weights],
        "bias": [bias],
        "epilogue_operands": epilogue_operands,
    }
    phases = winograd_phases(spec, target)
    calls = [
        invocation
        for phase in phases
        for invocation in invoke(
            f"winograd_{phase.name}",
            phase,
            named_first(build_winograd_phase),
            [buffer for operand in phase.operands for buffer in buffers[operand]],
            phase.writes,
        )
    ]
    if not any("sizes" in phase.operands for phase in phases):
        pixels, measured = pixel_sizes_of(spec), [sizes, image, factors]
        calls = [*invoke("pixel_sizes", pixels, build_pixel_sizes, measured), *calls]
    direct = WinogradDirectSpec(spec)
    uneven = [*op.outs, sizes, image, weights, bias, *epilogue_operands]
    return [*calls, *invoke("winograd_direct", direct, build_winograd_direct, uneven)]


def _check_winograd(
    op: instr.InstructionOp, spec: WinogradSpec, target: Target
) -> None:
    """Raises GlowError where layouts were assigned for another target."""
    check_supported(op, spec)
    checked(op, spec, wrong_winograd_config, target)
    tiling = choose_winograd_tiling(spec, target)
    check_scratch(op, scratch_sizes(tiling))


def check_supported(op: instr.InstructionOp, spec: WinogradSpec) -> None:
    """Raises GlowError where there is no kernel."""
    if not spec.supported():
        raise GlowError(f"{op.name} has no kernel for these shapes", node=node_name(op))


def check_scratch(op: instr.InstructionOp, needed: Sequence[int]) -> None:
    """Raises GlowError unless an instruction has scratch memory of those sizes."""
    if list(op.attributes_view().ints("scratch")) != list(needed):
        raise GlowError(
            f"{op.name} needs scratch {list(needed)} on this target",
            node=node_name(op),
            hint="layouts must be assigned for the target that code is made for",
        )


def group_size(weights: SSAValue) -> int:
    """The channels of a group, of the weights of a depthwise or grouped convolution."""
    shape = shape_of(weights)
    return shape[3] if len(shape) == 5 else 1


def planes_of(attributes: Attributes, image: SSAValue, group: int = 1) -> BlockedPlanes:
    """The planes of a depthwise or grouped convolution, as it is configured."""
    batch, blocks, *plane, lanes = shape_of(image)
    return BlockedPlanes(
        batch,
        blocks * lanes,
        window_of(attributes, attributes.ints("kernel"), plane),
        lanes,
        stored_element(image),
        config_of(attributes, DepthwiseConfig),
        group,
    )


def _depthwise(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, bias, *epilogue_operands = op.ins
    planes = planes_of(op.attributes_view(), image, group_size(weights))
    epilogue = epilogue_of(op, epilogue_operands)
    spec = DepthwiseSpec(planes, has_bias=True, epilogue=epilogue)
    spec = checked(op, spec, lambda spec, _: spec.planes.wrong_config(), target)
    buffers = [op.outs[0], image, weights, bias, *epilogue_operands]
    return invoke("depthwise", spec, named_first(build_depthwise), buffers)


def _plain_conv2d(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, bias, *epilogue_operands = op.ins
    return _direct(op, target, image, weights, [bias], epilogue_operands)


def _glow_conv2d(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    image, weights, *bias = op.ins
    if isinstance(element_of(image), IntegerType):
        attributes = op.attributes_view()
        kernel, plane = shape_of(weights)[2:], shape_of(image)[2:]
        window = window_of(attributes, kernel, plane)
        return plain.conv2d(op, window, attributes.int("group"))
    return _direct(op, target, image, weights, bias, [])


def plain_conv_spec(
    attributes: Attributes, image: SSAValue, weights: SSAValue
) -> DirectConvSpec:
    """The sums of a convolution in the plain layout, as it is configured."""
    batch, channels, *plane = shape_of(image)
    outputs, _, *kernel = shape_of(weights)
    return DirectConvSpec(
        batch=batch,
        in_channels=channels,
        out_channels=outputs,
        window=window_of(attributes, kernel, plane),
        groups=attributes.int("group"),
        element=_float_element(image),
        config=config_of(attributes, PlainConvConfig),
    )


def _direct(
    op: instr.InstructionOp,
    target: Target,
    image: SSAValue,
    weights: SSAValue,
    bias: Sequence[SSAValue],
    epilogue_operands: Sequence[SSAValue],
) -> Sequence[Invocation]:
    spec = plain_conv_spec(op.attributes_view(), image, weights)
    epilogue = epilogue_of(op, epilogue_operands)
    spec = replace(spec, has_bias=bool(bias), epilogue=epilogue)
    spec = checked(op, spec, wrong_plain_config, target)
    buffers = [op.outs[0], image, weights, *bias, *epilogue_operands]
    return invoke("plain_conv2d", spec, named_first(build_direct_conv), buffers)


def _pool(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    """A pool of channel blocks; a plain tensor has blocks of one channel."""
    image, attributes = op.ins[0], op.attributes_view()
    batch, channels, *plane = shape_of(image)
    lanes = plane[2] if len(plane) == 3 else 1
    window = window_of(
        attributes, attributes.ints("kernel"), plane[:2], shape_of(op.outs[0])[2:4]
    )
    if isinstance(element_of(image), IntegerType):
        if op.node is glow.MaxPool2dOp:
            return _integer_max_pool(op, window, lanes)
        raise GlowError(
            f"the cpu backend averages floats only, not {element_of(image)}",
            node=node_name(op),
        )
    spec = PoolSpec(
        BlockedPlanes(batch, channels * lanes, window, lanes, _float_element(image)),
        "max" if op.node is glow.MaxPool2dOp else "average",
        attributes.has("count_include_pad"),
    )
    return invoke("pool", spec, named_first(build_pool), [op.outs[0], image])


def _integer_max_pool(
    op: instr.InstructionOp, window: Window, lanes: int
) -> Sequence[Invocation]:
    """Blocks in vectors, plain tensors in plain loops."""
    (image,) = op.ins
    if lanes == 1:
        return plain.max_pool(op, window)
    batch, blocks = shape_of(image)[:2]
    planes = BlockedPlanes(batch, blocks * lanes, window, lanes, stored_element(image))
    spec = PoolSpec(planes, "max", unsigned=is_unsigned(image))
    return invoke("pool", spec, named_first(build_pool), [op.outs[0], image])


def _arg_max_pool(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    (image,), attributes = op.ins, op.attributes_view()
    batch, channels, *plane = shape_of(image)
    kernel, extents = attributes.ints("kernel"), shape_of(op.outs[0])[2:]
    window = window_of(attributes, kernel, plane, extents)
    spec = ArgMaxPoolSpec(
        batch * channels, window, stored_element(image), is_unsigned(image)
    )
    return invoke("arg_max_pool", spec, build_arg_max_pool, [op.outs[0], image])


def _pack(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    batch, channels, height, width = shape_of(op.ins[0])
    lanes = op.attributes_view().int("lanes")
    element = stored_element(op.ins[0])
    spec = PackSpec(batch, channels, (height, width), lanes, element)
    return invoke("pack", spec, named_first(build_pack), [op.outs[0], op.ins[0]])


def _unpack(op: instr.InstructionOp, target: Target) -> Sequence[Invocation]:
    batch, channels, height, width = shape_of(op.outs[0])
    lanes = shape_of(op.ins[0])[4]
    element = stored_element(op.ins[0])
    spec = PackSpec(batch, channels, (height, width), lanes, element)
    return invoke("unpack", spec, named_first(build_unpack), [op.outs[0], op.ins[0]])


SELECTORS: Mapping[type[Operation], KernelSelector] = {
    cpu.Conv2dOp: _conv2d,
    cpu.SparseConv2dOp: _sparse_conv2d,
    cpu.WinogradConv2dOp: _winograd,
    cpu.DepthwiseConv2dOp: _depthwise,
    cpu.GroupedConv2dOp: _depthwise,
    cpu.PlainConv2dOp: _plain_conv2d,
    glow.Conv2dOp: _glow_conv2d,
    glow.MaxPool2dOp: _pool,
    glow.AvgPool2dOp: _pool,
    glow.ArgMaxPool2dOp: _arg_max_pool,
    cpu.PackOp: _pack,
    cpu.UnpackOp: _unpack,
}
