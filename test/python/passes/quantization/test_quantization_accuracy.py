"""Trained networks in 8 bits, beside every static setting of ONNX Runtime.

`python -m benchmarks.quantization_accuracy` prints the figures.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import current_thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.onnx_models.quantized_models import model_of

import glow
from benchmarks.quantization_accuracy import Row, digit_networks, digit_rows
from glow import QuantizationOptions
from glow.interpreter.integer_arithmetic import dequantize
from glow.interpreter.shared_work import shared_with
from glow.passes.quantization.adjustment.parts import (
    ELEMENTS_AT_ONCE,
    for_each_part,
    output_parts,
)
from glow.passes.quantization.adjustment.rounding import round_kernels
from glow.passes.quantization.profiling.schema import weight_parameters

Array = npt.NDArray[Any]

AHEAD = {"mlp": 1.0, "digits": 1.0, "depthwise": 0.0, "depthwise, rescaled": 15.0}
"""Decibels that our defaults must be ahead of ONNX Runtime's best setting."""

LINEAR_DECIBELS = 35.0
"""A product with random weights in 8 bits."""

IN_8_BITS, POWERS_OF_TWO = 0.4, 1.0
"""Points of accuracy that may be lost."""


@pytest.fixture(scope="module", params=sorted(AHEAD))
def rows(request: pytest.FixtureRequest) -> tuple[str, list[Row]]:
    """A network's name and its figures."""
    return request.param, digit_rows(digit_networks()[request.param])


def figures(rows: list[Row], compiler: str) -> dict[str, tuple[float, float]]:
    """Ratio and accuracy by setting."""
    return {row[1]: row[2:] for row in rows if row[0] == compiler}


def test_accuracy(rows: tuple[str, list[Row]]) -> None:
    name, found = rows
    ours, theirs = figures(found, "glow"), figures(found, "onnxruntime")
    exact, right = ours["float"][1], ours["default"][1]
    assert right >= exact - IN_8_BITS
    assert ours["schema=power-of-two"][1] >= exact - POWERS_OF_TWO
    best = max(ratio for ratio, _ in theirs.values())
    assert ours["default"][0] >= best + AHEAD[name]


@pytest.mark.parametrize("per_channel", [True, False])
def test_errors_of_a_kernel_cancel(per_channel: bool) -> None:
    """Each kernel's errors sum up to half a step, and no weight moves by more than one."""
    weights = np.random.default_rng(0).standard_normal((8, 3, 5, 5)).astype(np.float32)
    data = weight_parameters(weights, 0 if per_channel else None)
    stored = round_kernels(weights, data)
    scales = np.array(data.scales).reshape(-1, 1, 1, 1)
    errors = (dequantize(stored, data) - weights) / scales
    low, high = data.limits
    assert low <= stored.min() <= stored.max() <= high
    assert np.abs(errors).max() < 1
    assert np.abs(errors.sum(axis=(2, 3))).max() <= 0.5 + 1e-4


@pytest.mark.parametrize("per_channel", [True, False])
def test_weights_are_rounded_in_parts(per_channel: bool) -> None:
    """Each output as it is by itself, also where not all fit in a part."""
    shape = (9, ELEMENTS_AT_ONCE // 36, 3, 3)
    weights = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    data = weight_parameters(weights, 0 if per_channel else None)
    stored = round_kernels(weights, data)
    assert len([*output_parts(weights)]) == 3
    for place in range(len(weights)):
        scales = data.scales[place : place + 1] if per_channel else data.scales
        one = replace(data, scales=scales, zero_points=(0,))
        alone = round_kernels(weights[place : place + 1], one)
        np.testing.assert_array_equal(stored[place], alone[0])


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (1, 3), (2, 3), (2, 1, 3)])
def test_factors_of_any_rank(batch: tuple[int, ...], per_channel: bool) -> None:
    """Weights of products round to the nearest; a batch of them is no kernel."""
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((*batch, 5, 4)).astype(np.float32)
    image = generator.standard_normal((*batch[:-2], 3, 6, 5)).astype(np.float32)
    model = model_of("MatMul", {"x": image}, ["x", weights])
    profile = glow.profile(model, [{"x": image}])
    options = QuantizationOptions(per_channel=per_channel)
    quantized = glow.compile(model, quantize=profile, quantization=options)
    exact = image.astype(np.float64) @ weights
    error = np.square(quantized.run({"x": image})["y0"] - exact).mean()
    assert 10 * np.log10(np.square(exact).mean() / error) > LINEAR_DECIBELS


def test_threads_share_weights() -> None:
    """Whoever rounds a part: the same integers."""
    shape = (9, ELEMENTS_AT_ONCE // 36, 3, 3)
    weights = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    data = weight_parameters(weights, 0)
    alone = round_kernels(weights, data)
    names: set[str] = set()
    with ThreadPoolExecutor(1, "other") as pool, shared_with(pool):
        for_each_part(weights, lambda part: names.add(current_thread().name))
        np.testing.assert_array_equal(round_kernels(weights, data), alone)
    assert names == {current_thread().name, "other_0"}
