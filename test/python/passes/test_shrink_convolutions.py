"""Convolutions without the weights that meet padding alone compute what they did before."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.loop_builder.window import Window
from glow.passes.graph.shrink_convolutions import ShrinkConvolutionsPass
from glow.universe import new_context

CONTEXT = new_context()


def random_window(rng: np.random.Generator) -> Window:
    """A window whose filter may reach far beyond a small image."""

    def pair(low: int, high: int) -> tuple[int, int]:
        first, second = map(int, rng.integers(low, high, 2))
        return first, second

    pads = pair(0, 12) + pair(0, 12)
    return Window(pair(1, 9), pair(1, 5), pair(1, 4), pair(1, 10), pads)


def convolution(window: Window) -> ModuleOp:
    """A module of one convolution of one channel."""
    image, kernel = ("x".join(map(str, n)) for n in (window.input, window.kernel))
    height, width = window.output
    rows, columns = window.kernel
    row = ", ".join(f"{n + 1}.0" for n in range(columns))
    weights = ", ".join([f"[{row}]"] * rows)
    return parse_text(
        CONTEXT,
        f"""
func.func @main(%x: tensor<1x1x{image}xf32>) -> tensor<1x1x{height}x{width}xf32> {{
  %w = glow.constant dense<[[[{weights}]]]> : tensor<1x1x{kernel}xf32>
  %0 = glow.conv2d %x, %w strides {list(window.strides)} pads {list(window.pads)}
    dilations {list(window.dilations)} : tensor<1x1x{height}x{width}xf32>
  func.return %0 : tensor<1x1x{height}x{width}xf32>
}}""",
        "test",
    )


def test_results_stay() -> None:
    rng = np.random.default_rng(0)
    changed = same = 0
    while changed < 100 or same < 30:
        window = random_window(rng)
        if min(window.output) < 1:
            continue
        module = convolution(window)
        x = rng.standard_normal((1, 1, *window.input)).astype(np.float32)
        text = str(module)
        (before,) = run(module, [x])
        ShrinkConvolutionsPass().apply(CONTEXT, module)
        module.verify()
        (after,) = run(module, [x])
        np.testing.assert_array_equal(before, after)
        changed += text != str(module)
        same += text == str(module)
