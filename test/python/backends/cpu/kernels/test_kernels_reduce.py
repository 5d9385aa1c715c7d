"""Reduction, softmax and normalisation kernels against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel
from support.nodes.differential import rows_with_nan
from xdsl.dialects.builtin import i32, i64

from glow.backends.cpu.kernels.reduction.arg_reduce import (
    ArgReduceSpec,
    build_arg_reduce,
)
from glow.backends.cpu.kernels.reduction.layer_norm import (
    LayerNormSpec,
    build_layer_norm,
)
from glow.backends.cpu.kernels.reduction.local_response_norm import (
    LocalResponseNormSpec,
    build_local_response_norm,
)
from glow.backends.cpu.kernels.reduction.reduce import (
    REDUCTIONS,
    ReduceSpec,
    build_reduce,
)
from glow.backends.cpu.kernels.reduction.softmax import SoftmaxSpec, build_softmax

REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "sum_square": lambda x, axis: np.sum(x * x, axis=axis),
    "l1": lambda x, axis: np.sum(np.abs(x), axis=axis),
    "l2": lambda x, axis: np.sqrt(np.sum(x * x, axis=axis)),
    "log_sum": lambda x, axis: np.log(np.sum(x, axis=axis)),
    "log_sum_exp": lambda x, axis: np.logaddexp.reduce(
        np.moveaxis(x, axis, range(len(axis))).reshape(
            -1, *np.delete(x.shape, axis).astype(int)
        )
    ),
}
UNSIGNED: dict[str, Callable[..., np.ndarray]] = {
    "mean_unsigned": lambda x, axis: np.sum(x, axis=axis) // x.shape[axis[0]],
    "max_unsigned": np.max,
    "min_unsigned": np.min,
}
SHAPES = [
    ((5,), (0,)),
    ((1,), (0,)),
    ((300,), (0,)),
    ((3, 130), (1,)),
    ((130, 3), (0,)),
    ((2, 3, 100), (1,)),
    ((4, 3, 5, 70), (0, 2)),
    ((4, 3, 5, 7), (1, 3)),
    ((4, 1, 7), (1,)),
    ((7, 37, 16), (1,)),
    ((6, 3, 5, 16), (0, 2)),
    ((3, 2, 16), (1,)),
]


def reduced(spec: ReduceSpec, x: np.ndarray) -> np.ndarray:
    expected = np.zeros(np.delete(x.shape, spec.axes).astype(int), x.dtype)
    return run_kernel(build_reduce(spec, TARGET), [expected], [x])[0]


def test_every_reduction_has_a_reference() -> None:
    assert REFERENCES.keys() | UNSIGNED.keys() == REDUCTIONS.keys()


@pytest.mark.parametrize("kind", REFERENCES)
def test_reduce(kind: str) -> None:
    for shape, axes in SHAPES:
        x = normal(*shape)
        if kind in ("prod", "log_sum"):
            x = np.abs(x) * np.float32(0.1) + np.float32(0.9)
        found = reduced(ReduceSpec(kind, shape, axes), x)
        exact = REFERENCES[kind](x.astype(np.float64), axis=axes)
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["sum", "max", "min", "log_sum_exp"])
def test_reduce_of_special_values(kind: str) -> None:
    for special in (np.nan, np.inf, -np.inf):
        for shape, axes in (((3, 40), (1,)), ((40, 3), (0,))):
            x = normal(*shape)
            x[1, 1] = special
            found = reduced(ReduceSpec(kind, shape, axes), x)
            with np.errstate(all="ignore"):
                exact = REFERENCES[kind](x.astype(np.float64), axis=axes)
            np.testing.assert_allclose(found, exact, rtol=1e-5)


@pytest.mark.parametrize(("element", "dtype"), [(i32, np.int32), (i64, np.int64)])
def test_reduce_integers(element: object, dtype: type) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (4, 50)).astype(dtype)
    for kind in ("sum", "max", "min"):
        for axes in ((0,), (1,)):
            found = reduced(ReduceSpec(kind, x.shape, axes, element), x)
            np.testing.assert_array_equal(found, REFERENCES[kind](x, axis=axes))


@pytest.mark.parametrize(("element", "dtype"), [(i32, np.int32), (i64, np.int64)])
def test_reduce_products_of_integers(element: object, dtype: type) -> None:
    """They wrap around as NumPy's."""
    x = np.random.default_rng(3).choice([-5, -1, 1, 2, 3], (7, 50)).astype(dtype)
    for axes in ((0,), (1,)):
        found = reduced(ReduceSpec("prod", x.shape, axes, element), x)
        np.testing.assert_array_equal(found, np.prod(x, axis=axes, dtype=dtype))


@pytest.mark.parametrize(("element", "dtype"), [(i32, np.int32), (i64, np.int64)])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_reduce_integers_of_the_whole_range(
    kind: str, element: object, dtype: type
) -> None:
    """Nothing that a reduction starts with is nearer than the extreme numbers."""
    ends = np.iinfo(dtype)
    for extreme in (ends.min, ends.max):
        x = np.full((3, 50), extreme, dtype)
        for axes in ((0,), (1,)):
            found = reduced(ReduceSpec(kind, x.shape, axes, element), x)
            assert (found == extreme).all()


@pytest.mark.parametrize("kind", UNSIGNED)
def test_reduce_unsigned(kind: str) -> None:
    """The upper half of the range counts as large, not as negative."""
    x = np.random.default_rng(2).integers(0, 1 << 32, (4, 50)).astype(np.uint32)
    x //= 64 if kind == "mean_unsigned" else 1
    for axes in ((0,), (1,)):
        found = reduced(ReduceSpec(kind, x.shape, axes, i32), x.view(np.int32))
        expected = UNSIGNED[kind](x, axis=axes)
        np.testing.assert_array_equal(found.view(np.uint32), expected)


def softmax64(x: np.ndarray, axis: int) -> np.ndarray:
    x = x.astype(np.float64)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(
    "shape",
    [(3, 1, 1), (2, 7, 1), (3, 64, 1), (4, 133, 1), (2, 5, 1), (2, 9, 3), (2, 9, 90)],
)
@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax(shape: tuple[int, int, int], logarithm: bool) -> None:
    x = normal(*shape) * 5
    spec = SoftmaxSpec(*shape, logarithm=logarithm)
    (found,) = run_kernel(build_softmax(spec, TARGET), [np.zeros_like(x)], [x])
    exact = softmax64(x, 1)
    exact = np.log(exact) if logarithm else exact
    np.testing.assert_allclose(found, exact, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("shape", [(4, 40, 1), (4, 40, 2)])
def test_softmax_of_special_values(shape: tuple[int, int, int]) -> None:
    x = normal(*shape)
    x[0, 3] = np.nan
    x[1, 5] = -np.inf
    x[2] = 3e38
    x[3, :20] = -1e30
    (found,) = run_kernel(build_softmax(SoftmaxSpec(*shape), TARGET), [x], [x])
    np.testing.assert_allclose(found, softmax64(x, 1), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("extent", [1, 7, 64, 100, 768])
@pytest.mark.parametrize("centred", [True, False])
def test_layer_norm(extent: int, centred: bool) -> None:
    x = normal(5, extent) * 3 + 1000
    scale, bias = normal(extent), normal(extent)
    spec = LayerNormSpec(5, extent, 1e-5, centred=centred, has_statistics=True)
    outputs = [np.zeros_like(x), np.zeros(5, np.float32), np.zeros(5, np.float32)]
    found, mean, inverse = run_kernel(
        build_layer_norm(spec, TARGET), outputs, [x, scale, bias]
    )
    exact = x.astype(np.float64)
    exact_mean = exact.mean(axis=1) if centred else np.zeros(5)
    exact -= exact_mean[:, None]
    deviation = np.sqrt((exact**2).mean(axis=1) + 1e-5)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-6)
    # The mean itself is rounded: 6e-5 of the values here.
    np.testing.assert_allclose(inverse, 1 / deviation, rtol=1e-3)
    exact = exact / deviation[:, None] * scale + bias
    np.testing.assert_allclose(
        found, exact, rtol=1e-3, atol=2e-4 if extent > 1 else 0.1
    )


def test_layer_norm_without_parameters() -> None:
    x = normal(3, 50)
    spec = LayerNormSpec(3, 50, has_scale=False, has_bias=False)
    (found,) = run_kernel(build_layer_norm(spec, TARGET), [np.zeros_like(x)], [x])
    exact = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, exact, atol=1e-5)


@pytest.mark.parametrize(
    "shape", [(3, 1, 1), (3, 5, 1), (3, 100, 1), (2, 9, 1), (2, 9, 70)]
)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_arg_reduce(shape: tuple[int, int, int], largest: bool, last: bool) -> None:
    x = np.round(normal(*shape) * 2)
    spec = ArgReduceSpec(*shape, largest=largest, select_last=last)
    out = np.full((shape[0], shape[2]), -1)
    (found,) = run_kernel(build_arg_reduce(spec, TARGET), [out], [x])
    pick = np.argmax if largest else np.argmin
    exact = shape[1] - 1 - pick(x[:, ::-1], 1) if last else pick(x, 1)
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize("inner", [1, 5, 67])
@pytest.mark.parametrize("last", [True, False])
def test_arg_reduce_finds_nan(inner: int, last: bool) -> None:
    """Rows lie beside each other, so that lanes with and without a NaN are one vector."""
    for extent in (1, 3, 16, 53):
        rows = rows_with_nan(extent)
        shuffled = np.stack([np.roll(rows, n, axis=0) for n in range(inner)], axis=2)
        spec = ArgReduceSpec(len(rows), extent, inner, select_last=last)
        out = np.full((len(rows), inner), -1)
        (found,) = run_kernel(build_arg_reduce(spec, TARGET), [out], [shuffled])
        ends = shuffled[:, ::-1] if last else shuffled
        exact = np.argmax(ends, axis=1)
        np.testing.assert_array_equal(found, extent - 1 - exact if last else exact)


def local_response_norm64(x: np.ndarray, spec: LocalResponseNormSpec) -> np.ndarray:
    x = x.astype(np.float64)
    total = np.zeros_like(x)
    for c in range(spec.channels):
        low, high = max(0, c - spec.before), min(spec.channels, c + spec.after + 1)
        total[:, c] = (x[:, low:high] ** 2).sum(axis=1)
    return x / (spec.bias + spec.alpha / spec.size * total) ** spec.beta


@pytest.mark.parametrize("channels", [3, 16, 20, 50])
@pytest.mark.parametrize(("size", "beta"), [(5, 0.75), (4, 0.5), (1, 0.6)])
def test_local_response_norm(channels: int, size: int, beta: float) -> None:
    x = normal(2, channels, 37) * 10
    spec = LocalResponseNormSpec(2, channels, 37, size, 0.1, beta, 2.0)
    kernel = build_local_response_norm(spec, TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(x)], [x])
    exact = local_response_norm64(x, spec)
    assert relative_error(found, exact) < 1e-6

    lanes = TARGET.lanes(32)
    blocks = -(-channels // lanes)
    padded = np.full((2, blocks * lanes, 37), np.nan, np.float32)
    padded[:, :channels] = x
    blocked = np.ascontiguousarray(
        padded.reshape(2, blocks, lanes, 37).transpose(0, 1, 3, 2)
    )
    spec = LocalResponseNormSpec(2, channels, 37, size, 0.1, beta, 2.0, blocked=True)
    kernel = build_local_response_norm(spec, TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(blocked)], [blocked])
    plain = found.transpose(0, 1, 3, 2).reshape(2, -1, 37)[:, :channels]
    assert relative_error(plain, exact) < 1e-6
