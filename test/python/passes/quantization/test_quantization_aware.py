"""Networks prepared for quantization-aware training, and the integers that they become."""

from __future__ import annotations

import numpy as np
import pytest
from places import ROOT

import glow

FOLDER = ROOT / "examples" / "digits"
STEPS = 255


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    with np.load(FOLDER / "calibration.npz") as data:
        return data["image"].reshape(-1, 1, 1, 8, 8)


@pytest.mark.parametrize("name", ["digits", "depthwise"])
@pytest.mark.parametrize("schema", ["asymmetric", "power-of-two"])
def test_integers_have_the_results_of_fake_quantization(
    images: np.ndarray, name: str, schema: str
) -> None:
    """Within a step of the logits; powers of two lose nothing in floats, so bit for bit."""
    model = FOLDER / f"{name}.onnx"
    profile = glow.profile(model, images[:64])
    options = glow.QuantizationOptions(schema=schema)
    module = glow.prepare_qat(model, profile, options)
    exact, rounded, stored = (
        np.array([compiled(image) for image in images])
        for compiled in (
            glow.compile(model),
            glow.compile(module),
            glow.compile(module, quantize=True),
        )
    )
    step = np.ptp(exact) / STEPS
    assert not np.allclose(rounded, exact, atol=0.1 * step)
    tolerance = 0 if schema == "power-of-two" else step
    np.testing.assert_allclose(stored, rounded, rtol=0, atol=tolerance)


def test_trained_scales_begin_at_those_of_the_profile(images: np.ndarray) -> None:
    model = FOLDER / "mlp.onnx"
    profile = glow.profile(model, images[:16])
    kept, trained = (
        glow.prepare_qat(model, profile, train_scales=train) for train in (False, True)
    )
    names = {op.variable_name for op in trained.walk() if op.name == "glow.variable"}
    assert "layer.0.flatten.log2_scale" in names
    assert "layer.5.linear.weight.transposed.log2_scale" in names
    assert not any(op.name == "glow.variable" for op in kept.walk())
    first, second = (
        glow.compile(module, backend="interpreter")(images[0])
        for module in (kept, trained)
    )
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-5)
