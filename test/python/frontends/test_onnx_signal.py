"""Fourier transforms against NumPy's in double precision."""

import numpy as np
import pytest
from support.onnx_models.onnx_testing import check_with_runtime, random
from test_onnx_indexing import model_of

import glow
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model
from glow.interpreter import run


def as_pairs(numbers):
    return np.stack([numbers.real, numbers.imag], axis=-1)


def transform(x, length, inverse, onesided):
    """What ONNX's definition gives along axis 1."""
    numbers = x[..., 0].astype(np.float64)
    if x.shape[-1] == 2:
        numbers = numbers + 1j * x[..., 1]
    if inverse and onesided:
        return np.fft.irfft(numbers, n=length, axis=1)[..., None]
    result = (np.fft.ifft if inverse else np.fft.fft)(numbers, n=length, axis=1)
    return as_pairs(result[:, : length // 2 + 1] if onesided else result)


def assert_near(result, expected):
    assert result.shape == expected.shape
    assert np.linalg.norm(result - expected) <= 1e-6 * np.linalg.norm(expected)


@pytest.mark.parametrize("length", [1, 2, 12, 67, 96, 263])
def test_lengths(length):
    """Tables, factors, and a prime that is a convolution."""
    for parts in (1, 2):
        for inverse, onesided in ((0, 0), (1, 0), (0, 1), (1, 1)):
            given = length // 2 + 1 if inverse and onesided else length
            x = random(3, given, parts)
            operands = x, np.array(length), np.array(1)
            model = model_of(
                "DFT", *operands, opset=20, constants=(1, 2), inverse=inverse,
                onesided=onesided,
            )  # fmt: skip
            results = [run(import_model(model), [x])[0]]
            if length in (96, 263) and parts + inverse + onesided == 2:
                results.append(glow.compile(model)(x))
            for result in results:
                assert_near(result, transform(x, length, inverse, onesided))


@pytest.mark.parametrize("length", [5, 20])
def test_signals_are_cut_and_padded(length):
    x = random(2, 4, 9, 3, 2)
    operands = x, np.array(length), np.array(-3)
    model = model_of("DFT", *operands, opset=20, constants=(1, 2))
    numbers = np.fft.fft(x[..., 0] + 1j * x[..., 1], n=length, axis=2)
    assert_near(glow.compile(model)(x), as_pairs(numbers))
    old = model_of("DFT", x, np.array(length), opset=17, constants=(1,), axis=2)
    assert_near(run(import_model(old), [x])[0], as_pairs(numbers))


def test_the_axis_of_parts_is_no_signal():
    model = model_of("DFT", random(2, 4, 2), opset=17, axis=2)
    with pytest.raises(GlowError, match="axis 2 of signals of shape"):
        import_model(model)


def test_frames():
    x, window = random(2, 50, 1), np.hanning(12).astype(np.float32)
    for onesided in (0, 1):
        operands = x, np.array(5), window, np.array(12)
        model = model_of("STFT", *operands, constants=(1, 3), onesided=onesided)
        check_with_runtime(model, x, window, atol=1e-5)


def test_mel_weights():
    known = [np.array(n) for n in (7, 64, 8000)]
    edges = [np.array(n, np.float32) for n in (100.0, 3900.0)]
    model = model_of("MelWeightMatrix", *known, *edges, constants=range(5))
    check_with_runtime(model)
