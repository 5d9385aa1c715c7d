"""Convolutions of 16-bit floats, whose sums are of f32, against the interpreter."""

import ml_dtypes
import numpy as np
import pytest
from support.onnx_models.operator_testing import model_of

import glow

RNG = np.random.default_rng(0)
TYPES = {"f16": (np.float16, 2e-3), "bf16": (ml_dtypes.bfloat16, 1.6e-2)}

CASES = {
    "plane": ("Conv", (1, 32, 5, 6), (16, 32, 3, 3), {"pads": [1] * 4}),
    "channels alone": ("Conv", (1, 32, 5, 6), (32, 1, 3, 3), {"group": 32}),
    "volume": ("Conv", (1, 32, 4, 5, 6), (16, 32, 3, 3, 3), {"pads": [1] * 6}),
    "volume, few channels": (
        "Conv", (2, 3, 4, 8, 8), (20, 3, 2, 4, 4), {"strides": [2, 4, 4]}
    ),
    "volume, groups": ("Conv", (1, 8, 4, 5, 6), (8, 2, 3, 1, 1), {"group": 4}),
    "transposed row": (
        "ConvTranspose", (1, 32, 9), (32, 16, 8), {"strides": [4], "pads": [2, 2]}
    ),
    "transposed": ("ConvTranspose", (1, 32, 5, 6), (32, 16, 2, 2), {"strides": [2, 2]}),
    "transposed, overlapping": (
        "ConvTranspose", (2, 20, 5, 6), (20, 3, 3, 3), {"pads": [1] * 4}
    ),
    "transposed volume": (
        "ConvTranspose", (1, 32, 2, 3, 4), (32, 16, 2, 2, 2), {"strides": [2] * 3}
    ),
}  # fmt: skip


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("case", CASES)
def test_half_convolutions(case: str, element: str) -> None:
    operator, shape, weights_shape, attributes = CASES[case]
    dtype, near = TYPES[element]
    x, weights = (
        (RNG.standard_normal(sizes) / 4).astype(dtype)
        for sizes in (shape, weights_shape)
    )
    model, feeds = model_of(operator, [x, weights], (1,), **attributes)
    found, expected = (
        next(iter(glow.compile(model, backend=backend).run(feeds).values()))
        for backend in ("cpu", "interpreter")
    )
    assert found.dtype == dtype
    one, other = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(one, other, near, near)
