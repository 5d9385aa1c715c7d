"""Regions whose bins hold as many samples as the regions say, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from support.onnx_models.onnx_testing import make_model, node, random

import glow

REGIONS = np.array(
    [[1, 1, 6, 4], [0, 2, 9, 9], [3, 3, 3.2, 3.1], [-2, -1, 1, 20], [4, 4, 2, 1]],
    np.float32,
)
"""Some are empty, end outside, or have no extent."""


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_samples_by_the_size_of_regions(backend):
    image, images = random(2, 3, 10, 12), np.array([0, 1, 1, 0, 0])
    settings = {"output_height": 2, "output_width": 3, "spatial_scale": 0.8}
    inputs = [("x", [2, 3, 10, 12]), ("r", [5, 4])]
    model = make_model(
        [node("RoiAlign", "x r b", **settings)], inputs, weights={"b": images}, opset=16
    )
    check(model, backend, image, REGIONS)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_largest_pixels_of_regions(backend):
    image = random(2, 3, 10, 12)
    images = np.array([[0], [1], [1], [0], [0]], np.float32)
    regions = np.concatenate([images, REGIONS], axis=1)
    pool = node("MaxRoiPool", "x r", pooled_shape=[2, 3], spatial_scale=0.8)
    model = make_model([pool], [("x", [2, 3, 10, 12]), ("r", [5, 5])])
    check(model, backend, image, regions)


@pytest.mark.parametrize(
    ("operator", "names", "settings"),
    [
        ("RoiAlign", "x r b", {"output_height": 2, "output_width": 3}),
        ("MaxRoiPool", "x r", {"pooled_shape": [2, 3]}),
    ],
)
def test_no_region(operator, names, settings):
    regions = np.zeros((0, 4 if operator == "RoiAlign" else 5), np.float32)
    inputs = [("x", [1, 3, 10, 12]), ("r", regions.shape)]
    weights = {"b": np.zeros(0, np.int64)}
    model = make_model([node(operator, names, **settings)], inputs, weights=weights)
    found = glow.compile(model, threads=1)(random(1, 3, 10, 12), regions)
    assert found.shape == (0, 3, 2, 3)


def check(model, backend, image, regions):
    """Compare two calls, of which the second one has smaller regions."""
    model.ir_version = 10
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = glow.compile(model, backend=backend)
    smaller = regions.copy()
    smaller[:, -4:] *= 0.4
    for found in (regions, smaller):
        (expected,) = session.run(None, {"x": image, "r": found})
        np.testing.assert_allclose(compiled(image, found), expected, 1e-5, 1e-5)
