"""linalg on tensors, operation by operation, is what NumPy computes, on both backends."""

from pathlib import Path

import numpy as np
import pytest

import glow

RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def convolved(x, w):
    """[n, c, h] by [f, c, k], stride 2."""
    taps = w.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(x, taps, 2)[:, :, ::2]
    return np.einsum("ncok,fck->nfo", windows, w)


def pooled(x):
    """The largest of windows of 2 x 2, channels last."""
    return x.reshape(1, 2, 2, 2, 2, 3).max((2, 4))


CASES = {
    "contraction": (
        (floats(3, 2, 4), floats(2, 5, 3)),
        lambda a, b: np.einsum("kbm,bnk->nbm", a, b),
    ),
    "convolution": (
        (floats(2, 3, 9), floats(4, 3, 3)),
        lambda a, b: convolved(a, b) + 1,
    ),
    "arg_max": (
        (floats(4, 3),),
        lambda a: (a.argmax(1), np.expm1(a - a.max(1, keepdims=True)).T),
    ),
    "pools": (
        (floats(1, 4, 4, 3),),
        lambda a: (
            pooled(a),
            pooled(a).sum((0, 1, 2)),
            np.repeat(np.exp(pooled(a).sum((0, 1, 2)))[1:, None], 4, 1),
        ),
    ),
    "depthwise": (
        (floats(1, 4, 4, 2), floats(1, 1, 2, 3)),
        lambda a, w: np.pad(a, ((0, 0), (1, 1), (0, 0), (0, 0)))[..., None] * w[0, 0],
    ),
    "embedding": (
        (np.array([[0, 4, 2], [3, 3, 1]]), floats(5, 4)),
        lambda x, table: (table[x], table[x, 2]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    inputs, reference = CASES[name]
    path = Path(__file__).parent / "linalg" / f"{name}.mlir"
    wanted = reference(*inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for backend in ("interpreter", "cpu"):
        found = glow.compile(path, backend=backend)(*inputs)
        found = found if isinstance(found, tuple) else (found,)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
