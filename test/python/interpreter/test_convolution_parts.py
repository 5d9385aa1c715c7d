"""Convolutions of the interpreter: some outputs or rows at a time, the same as all at once."""

import numpy as np
import pytest

from glow.dialects.attributes import Attributes, ints_attr
from glow.dialects.glow import Conv2dOp
from glow.interpreter import convolution
from glow.interpreter.convolution import convolve

LIMITS = ("ELEMENTS_AT_ONCE", "TAPS_AT_ONCE", "FEWEST_COLUMNS")


@pytest.mark.parametrize("limit", [1, 40, 10**6])
@pytest.mark.parametrize(
    ("weights", "group", "windows"),
    [
        ((6, 4, 3, 3), 1, ((1, 1), (1, 1, 1, 1), (1, 1))),
        ((6, 4, 3, 2), 1, ((2, 1), (0, 2, 1, 0), (2, 3))),
        ((6, 2, 3, 3), 2, ((1, 2), (2, 0, 0, 1), (1, 1))),
        ((4, 1, 3, 3), 4, ((2, 2), (1, 1, 1, 1), (1, 1))),
        ((8, 1, 2, 2), 4, ((1, 1), (0, 0, 0, 0), (1, 1))),
        ((6, 4, 1, 1), 1, ((1, 1), (3, 0, 4, 0), (1, 1))),
    ],
)
def test_parts(
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    weights: tuple[int, ...],
    group: int,
    windows: tuple[tuple[int, ...], ...],
) -> None:
    """Sums of whole numbers are exact, in any parts; those of padding alone are the bias."""
    for name in LIMITS:
        monkeypatch.setattr(convolution, name, limit)
    generator = np.random.default_rng(0)
    image = generator.integers(-9, 9, (2, 4, 9, 8)).astype(np.float32)
    kernel = generator.integers(-9, 9, weights).astype(np.float32)
    bias = generator.integers(-9, 9, weights[0]).astype(np.float32)
    strides, pads, dilations = windows
    given = {"strides": strides, "pads": pads, "dilations": dilations}
    attributes = Attributes(
        Conv2dOp.get_irdl_definition(),
        {name: ints_attr(*numbers) for name, numbers in given.items()},
    )
    found = convolve(attributes, image, kernel, bias, group)
    padded = np.pad(image, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    inputs, per_output = weights[1], weights[0] // group
    for n, output, y, x in np.ndindex(*found.shape):
        first = output // per_output * inputs
        window = padded[
            n,
            first : first + inputs,
            y * strides[0] :: dilations[0],
            x * strides[1] :: dilations[1],
        ][:, : weights[2], : weights[3]]
        assert found[n, output, y, x] == (window * kernel[output]).sum() + bias[output]
