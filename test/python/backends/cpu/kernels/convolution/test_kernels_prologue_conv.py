"""1 x 1 convolutions with element-wise work on their input, against NumPy, and their joining."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernels.conv_testing import (
    LANES,
    TARGET,
    AddScaleRelu,
    Array,
    assert_close,
    convolution,
    random,
    to_blocks,
    to_plain,
)
from support.kernels.kernel_testing import run_kernel
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from glow.backends.cpu.kernels.convolution.conv2d import (
    Conv2dSpec,
    pack_channels,
    pack_conv_weights,
)
from glow.backends.cpu.kernels.convolution.conv2d_config import choose_conv_config
from glow.backends.cpu.kernels.convolution.fused_prologue import build_prologue_conv2d
from glow.backends.cpu.kernels.convolution.prologue_spec import PrologueConv2dSpec
from glow.backends.cpu.kernels.elementwise.kernel import ElementwiseSpec
from glow.backends.cpu.passes.instr_to_loops import build_program
from glow.backends.cpu.program.kernel_table import kernel_table
from glow.backends.cpu.program.program import BufferBinding, KernelCall, KernelRequest
from glow.backends.cpu.program.prologue_fusion import LABEL, prologue_convolution
from glow.compiler import compile, context, lower_to
from glow.dialects.weights import weights_of
from glow.interpreter import run
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.loop_builder.window import Window

AFFINE_RELU = ScalarRegion.trace(
    lambda b, x, scale, shift: b.maximumf(b.fma(x, scale, shift), b.constant(0.0, f32)),
    [f32] * 3,
)
"""Of the input, and of one number a channel each."""
PRODUCT = ScalarRegion.trace(lambda b, x, y: b.mulf(x, y), [f32, f32])

CONVOLUTIONS = {
    "one run": (1, 16, 32, (2, 3)),
    "several runs": (1, 40, 48, (8, 14)),
    "batch": (2, 24, 16, (6, 7)),
    "odd blocks": (1, 16, 112, (8, 14)),
    "prime plane": (1, 16, 80, (1, 13)),
    "a row": (3, 64, 128, (1, 28)),
}


def fused_spec(name: str, region: ScalarRegion, *, full: int = 1) -> PrologueConv2dSpec:
    """A spec whose region takes so many full inputs, and of the others one number a channel."""
    batch, inputs, outputs, plane = CONVOLUTIONS[name]
    window = Window(plane, (1, 1))
    spec = Conv2dSpec(batch, inputs, outputs, window, lanes=LANES, has_bias=True)
    whole, channel = spec.input_type.get_shape(), (1, spec.input_blocks, 1, 1, LANES)
    shapes = [whole if k < full else channel for k, _ in enumerate(region.input_types)]
    return PrologueConv2dSpec(spec, ElementwiseSpec(whole, tuple(shapes), region))


def run_fused(fused: PrologueConv2dSpec, w: Array, *more: Array) -> Array:
    """The output for the first full input, the bias, epilogue operands and the other inputs."""
    spec, (source, bias, *others) = fused.spec, more
    output = np.full(spec.output_type.get_shape(), np.inf, np.float32)
    packed = pack_conv_weights(w, spec, TARGET)
    kernel = build_prologue_conv2d("kernel", fused, TARGET)
    inputs = [to_blocks(source), packed, pack_channels(bias, LANES), *others]
    return to_plain(run_kernel(kernel, [output], inputs)[0], spec.out_channels)


def channels(values: Array) -> Array:
    return pack_channels(values, LANES).reshape(1, -1, 1, 1, LANES)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_prologue_convolution(name: str) -> None:
    fused = fused_spec(name, AFFINE_RELU)
    spec = fused.spec
    x = random(spec.batch, spec.in_channels, *spec.window.input)
    w, bias = (
        random(spec.out_channels, spec.in_channels, 1, 1),
        random(spec.out_channels),
    )
    scale, shift = random(2, spec.in_channels)
    output = run_fused(fused, w, x, bias, channels(scale), channels(shift))
    values = np.maximum(x * scale[:, None, None] + shift[:, None, None], 0)
    assert_close(output, convolution(values, w, spec.window, 1) + bias[:, None, None])


def test_two_full_inputs_and_an_epilogue() -> None:
    fused = fused_spec("several runs", PRODUCT, full=2)
    spec = replace(fused.spec, epilogue=AddScaleRelu())
    fused = replace(fused, spec=spec)
    x, y = random(2, 1, spec.in_channels, *spec.window.input)
    w, bias = (
        random(spec.out_channels, spec.in_channels, 1, 1),
        random(spec.out_channels),
    )
    residual = random(1, spec.out_channels, *spec.window.output)
    scale, offset = random(spec.out_channels), random(1)
    epilogue_operands = to_blocks(residual), pack_channels(scale, LANES), offset
    output = run_fused(fused, w, x, bias, *epilogue_operands, to_blocks(y))
    total = convolution(x * y, w, spec.window, 1) + bias[:, None, None] + residual
    expected = np.maximum(total * scale[:, None, None] + offset, 0)
    assert_close(output, expected)


def test_runs_that_do_not_fit_are_two_kernels() -> None:
    fused = fused_spec("several runs", AFFINE_RELU)
    whole = fused.spec.input_type.get_shape()

    def on_plane(height: int, width: int, inputs: int = 40) -> PrologueConv2dSpec:
        window = Window((height, width), (1, 1))
        spec = replace(fused.spec, window=window, in_channels=inputs)
        shape = spec.input_type.get_shape()
        channel = (1, spec.input_blocks, 1, 1, LANES)
        work = ElementwiseSpec(shape, (shape, channel, channel), AFFINE_RELU)
        return PrologueConv2dSpec(spec, work)

    assert fused.supported(TARGET)
    assert not on_plane(53, 53).supported(TARGET), "no run divides a square of a prime"
    assert not on_plane(8, 14, 100_000).supported(TARGET), (
        "weights pass by once per run"
    )
    rows = replace(fused.prologue, input_shapes=(whole, (1, 1, 8, 1, 1), whole))
    assert not replace(fused, prologue=rows).supported(TARGET)


def test_calls_whose_buffers_overlap_stay_apart() -> None:
    fused = fused_spec("several runs", PRODUCT, full=2)
    work, spec = fused.prologue, fused.spec

    def request(label: str, content: object) -> KernelRequest:
        return KernelRequest(
            label, (label, content), lambda *_: pytest.fail("not built")
        )

    def joined(output: int, *, feeds_prologue: bool = True) -> KernelCall | None:
        x, y, source, weights, bias = (
            BufferBinding("activations", offset * 10_000, 10_000)
            for offset in (output, 1, 2, 3, 4)
        )
        first = KernelCall(
            request("elementwise", work),
            (y, source, source),
            feeds_prologue=feeds_prologue,
        )
        second = KernelCall(request("conv2d", spec), (x, y, weights, bias))
        return prologue_convolution(first, second, TARGET)

    assert joined(output=0) is not None
    assert joined(output=1) is not None, "where the prologue's results would have been"
    assert joined(output=2) is None, "the input would be overwritten"
    assert joined(output=0, feeds_prologue=False) is None, (
        "others read the prologue's results"
    )


NETWORK = """
func.func @main(%x: tensor<1x3x16x16xf32>) -> tensor<1x32x8x8xf32> {{
  %w = glow.constant @w : tensor<32x3x3x3xf32>
  %v = glow.constant @v : tensor<32x32x{size}x{size}xf32>
  %scale = glow.constant @scale : tensor<1x32x1x1xf32>
  %a = glow.conv2d %x, %w pads [1, 1, 1, 1] : tensor<1x32x16x16xf32>
  %p = glow.max_pool2d %a kernel [2, 2] strides [2, 2] : tensor<1x32x8x8xf32>
  %m = glow.mul %p, %scale : tensor<1x32x8x8xf32>
  %r = glow.sigmoid %m : tensor<1x32x8x8xf32>
  %y = glow.conv2d %r, %v pads [{pad}, {pad}, {pad}, {pad}] : tensor<1x32x8x8xf32>
  %z = glow.add %y, %{other} : tensor<1x32x8x8xf32>
  func.return %z : tensor<1x32x8x8xf32>
}}
"""
JOINED = {
    "1 x 1": (1, "p", 1),
    "3 x 3": (3, "p", 0),
    "the prologue's result is a residual": (1, "r", 0),
    "3 x 3, a residual": (3, "r", 0),
}


def network(size: int, other: str) -> ModuleOp:
    text = NETWORK.format(size=size, pad=size // 2, other=other)
    module = Parser(context(), text).parse_module()
    table = weights_of(module)
    shapes = {"w": (32, 3, 3, 3), "v": (32, 32, size, size), "scale": (1, 32, 1, 1)}
    for name, shape in shapes.items():
        table[name] = random(*shape) / 4
    return module


@pytest.mark.parametrize("name", JOINED)
def test_calls_of_a_network_are_joined(name: str) -> None:
    size, other, count = JOINED[name]
    module = network(size, other)
    lower_to(module, "instr")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    labels = [
        call.kernel.label
        for call in build_program(function, TARGET, kernel_table("cpu")).calls()
    ]
    assert labels.count(LABEL) == count
    image = random(1, 3, 16, 16)
    (expected,) = run(network(size, other), [image])
    actual = compile(network(size, other), threads=2)(image)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_edited_configuration_says_the_run() -> None:
    fused = fused_spec("several runs", AFFINE_RELU)
    best = choose_conv_config(fused.spec, TARGET)
    chosen = replace(fused, spec=replace(fused.spec, config=best))
    assert chosen.run_pixels(TARGET) == fused.run_pixels(TARGET)
    assert chosen.supported(TARGET)
    for pixels, joins in ((4, True), (5, False)):  # of 8 x 14
        config = replace(best, pixels=(pixels,) * len(best.pixels))
        edited = replace(fused, spec=replace(fused.spec, config=config))
        assert edited.run_pixels(TARGET) == pixels
        assert edited.supported(TARGET) == joins
    spec, w = fused.spec, random(48, 40, 1, 1)
    inputs = (
        random(1, 40, 8, 14), random(48), channels(random(40)), channels(random(40)),
    )  # fmt: skip
    config = replace(best, pixels=(4,) * len(best.pixels))
    edited = replace(fused, spec=replace(spec, config=config))
    np.testing.assert_array_equal(
        run_fused(edited, w, *inputs), run_fused(fused, w, *inputs)
    )
