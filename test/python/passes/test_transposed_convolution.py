"""Transposed convolutions as convolutions of their phases, together and apart."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.dialects import glow
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.lower_nodes.transposed_convolution import (
    PhaseAxis,
    conv_transpose,
    phases_apart,
)
from glow.passes.rewriting.operations import all_operations
from glow.universe import new_context

CONTEXT = new_context()


def program(rng: np.random.Generator) -> ModuleOp | None:
    """A transposed convolution of random sizes; None where it would have no outputs."""

    def pair(low: int, high: int) -> list[int]:
        return [int(n) for n in rng.integers(low, high, 2)]

    sizes, kernel, strides, dilations = pair(1, 8), pair(1, 6), pair(1, 4), pair(1, 3)
    pads, more = pair(0, 3) + pair(0, 3), [int(rng.integers(0, s)) for s in strides]
    group = int(rng.choice([1, 2, 4]))
    extents = [
        (sizes[n] - 1) * strides[n] + (kernel[n] - 1) * dilations[n] + 1
        + more[n] - pads[n] - pads[n + 2]
        for n in range(2)
    ]  # fmt: skip
    if min(extents) < 1:
        return None
    x, w = (4, *sizes), (4, 4 // group, *kernel)
    image, weights, result = (
        "x".join(map(str, shape)) for shape in (x, w, (4, *extents))
    )
    return parse_text(
        CONTEXT,
        f"""
func.func @main(%x: tensor<1x{image}xf64>, %w: tensor<{weights}xf64>, %b: tensor<4xf64>)
    -> tensor<1x{result}xf64> {{
  %y = glow.conv_transpose2d %x, %w, %b strides {strides} pads {pads}
    dilations {dilations} output_padding {more} group {group} : tensor<1x{result}xf64>
  func.return %y : tensor<1x{result}xf64>
}}""",
        "test",
    )


def test_phases_compute_the_same() -> None:
    rng, counts = np.random.default_rng(0), [0, 0]
    while min(counts) < 40:
        module = program(rng)
        if module is None:
            continue
        (op,) = (o for o in all_operations(module) if type(o) is glow.ConvTranspose2dOp)
        (function,) = module.body.block.ops
        inputs = [
            rng.standard_normal(argument.type.get_shape())
            for argument in function.regions[0].block.args
        ]
        (before,) = run(module, inputs)
        dilations = op.attributes_view().ints("dilations")
        spread = [
            (size - 1) * d + 1
            for size, d in zip(op.weights.type.get_shape()[2:], dilations, strict=True)
        ]
        counts[phases_apart(op, spread) is not None] += 1
        conv_transpose(op)
        module.verify()
        (after,) = run(module, inputs)
        np.testing.assert_allclose(after, before, atol=1e-12)


def test_phases_share_the_taps() -> None:
    axis = PhaseAxis(size=5, extent=10, kernel=3, stride=2, pad=1)
    assert [(p.first, p.taps, p.before, p.after) for p in axis.phases] == [
        (1, 1, 0, 0),
        (0, 2, 0, 1),
    ]
    assert axis.apart == 5 * 3
    assert axis.together == 6 * 2 * 2
