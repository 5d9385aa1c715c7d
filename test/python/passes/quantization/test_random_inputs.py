"""Networks without data are calibrated on random inputs: as few as tell their ranges."""

from __future__ import annotations

import numpy as np
import pytest
from support.nodes.interpreter_testing import parse

from glow.dialects.errors import GlowError
from glow.interpreter import run
from glow.passes.quantization.profiling import ranges
from glow.passes.quantization.profiling.ranges import (
    MOST_BATCHES,
    SEED,
    synthetic_inputs,
    synthetic_profile,
)
from glow.signature import main_function

SMALL = """
func.func @main(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %w = glow.constant dense<0.5> : tensor<3x1x3x3xf32>
  %conv = glow.conv2d %x, %w group 3 pads [1, 1, 1, 1] : tensor<2x3x4x4xf32>
  %1 = glow.neg %conv : tensor<2x3x4x4xf32>
  func.return %1 : tensor<2x3x4x4xf32>
}
"""


def test_ranges_are_those_of_all_values():
    module = parse(SMALL)
    function = main_function(module)
    with pytest.warns(UserWarning, match=f"calibrating on {MOST_BATCHES} random"):
        profile = synthetic_profile(module, "minmax")
    generator = np.random.default_rng(SEED)
    results = [
        run(module, synthetic_inputs(function, generator))[0]
        for _ in range(MOST_BATCHES)
    ]
    seen = profile["neg"]
    assert (seen.low, seen.high) == (np.min(results), np.max(results))
    np.testing.assert_array_equal(
        seen.channel_high, np.max(results, axis=(0, 1, 3, 4)).astype(np.float64)
    )
    assert not seen.histogram.any()
    assert seen.channel_mean is None


def test_other_calibrations_have_histograms():
    with pytest.warns(UserWarning, match="random inputs"):
        profile = synthetic_profile(parse(SMALL), "entropy")
    assert profile["neg"].histogram.sum() == MOST_BATCHES * 2 * 3 * 4 * 4


def test_large_networks_take_one_input(monkeypatch):
    monkeypatch.setattr(ranges, "SYNTHETIC_STEPS", 1000)
    with pytest.warns(UserWarning, match=r"calibrating on 1 random input \("):
        profile = synthetic_profile(parse(SMALL), "minmax")
    assert profile.batches == 1


def test_infinity_names_the_value():
    text = SMALL.replace("glow.neg %conv", "glow.log %z").replace(
        "%1 =", "%z = glow.splat 0.0 : tensor<2x3x4x4xf32>\n  %1 ="
    )
    with (
        pytest.warns(UserWarning, match="random inputs"),
        pytest.raises(GlowError, match="infinity in value 'log' in batch 0"),
    ):
        synthetic_profile(parse(text), "minmax")
