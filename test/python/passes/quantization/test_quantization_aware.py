"""Networks prepared for quantization-aware training, and the integers that they become."""

from __future__ import annotations

import numpy as np
import pytest
from places import ROOT

import glow
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.passes.graph.differentiate.differentiate import DifferentiatePass
from glow.universe import new_context

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


GRADIENTS = """
func.func @main(%x: tensor<3x5x2xf64>, %s: tensor<SHAPExf64>, %z: tensor<SHAPExf64>,
                %g: tensor<3x5x2xf64>) -> tensor<f64> {
  %0 = glow.fake_quantize %x, %s, %z low -8 high 7 AXIS : tensor<3x5x2xf64>
  %1 = glow.mul %0, %g : tensor<3x5x2xf64>
  %loss = glow.reduce_sum %1 axes [0, 1, 2] : tensor<f64>
  func.return %loss : tensor<f64>
}
"""


@pytest.mark.parametrize("axis", [None, 1])
def test_gradients_go_straight_through_rounding(axis: int | None) -> None:
    """Those of x stop at the bounds; the scale's is r - v inside and q outside (LSQ)."""
    shape, attribute = ("", "") if axis is None else ("5x", f"axis {axis}")
    text = GRADIENTS.replace("SHAPEx", shape).replace("AXIS", attribute)
    module = parse_text(new_context(), text, "gradients.mlir")
    DifferentiatePass(loss="loss", wrt=("x", "s", "z")).apply(new_context(), module)
    random = np.random.default_rng(0)
    x, g = random.normal(size=(2, 3, 5, 2))
    count = () if axis is None else (5,)
    s, z = random.uniform(0.05, 0.3, count), np.array([2.0, -3, 0, 7, -8])
    z = z[0] if axis is None else z
    _, *found = run(module, [x, s, np.asarray(z), g])
    wide = (1, -1, 1)
    scale, point = np.reshape(s, wide), np.reshape(z, wide)
    v = x / scale
    q = np.clip(np.rint(v), -8 - point, 7 - point)
    inside = q == np.rint(v)
    each = (
        g * inside,
        g * np.where(inside, q - v, q),
        np.where(inside, 0.0, -g * scale),
    )
    assert 0.1 < inside.mean() < 0.9
    others = None if axis is None else (0, 2)
    expected = [each[0], *(np.sum(array, axis=others) for array in each[1:])]
    for actual, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-12)
