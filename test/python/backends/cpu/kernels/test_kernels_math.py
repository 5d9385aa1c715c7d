"""Math functions and fused element-wise kernels against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, run_kernel, ulps
from xdsl.dialects import math
from xdsl.dialects.builtin import f32, f64, i1, i8, i32, i64

from glow.backends.cpu.kernels.elementwise import activations
from glow.backends.cpu.kernels.elementwise.kernel import (
    ElementwiseSpec,
    build_elementwise,
)
from glow.dialects import arith
from glow.lowering.loop_builder import math_functions
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.runtime.testing import compile_function

RANDOM = np.random.default_rng(0)


def apply_region(region: ScalarRegion, *inputs: np.ndarray) -> np.ndarray:
    spec = ElementwiseSpec(inputs[0].shape, tuple(x.shape for x in inputs), region)
    kernel = build_elementwise(spec, TARGET)
    return run_kernel(kernel, [np.zeros_like(inputs[0])], inputs)[0]


def unary_region(function: Callable[..., object]) -> ScalarRegion:
    return ScalarRegion.trace(function, [f32])


def of_operation(operation: type) -> ScalarRegion:
    return unary_region(lambda b, x: b.unary(operation, x))


LAST_EXPONENTS = [88.72283, 88.72284, 127.99999, 128]
"""Of e and 2: those of the last finite results, and those behind them."""
EDGES = np.append(
    [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, 1e38, -1e38, 1000, -1000],
    LAST_EXPONENTS,
).astype(np.float32)
SMALL = (10.0 ** np.linspace(-30, 0, 5001)).astype(np.float32)
POSITIVE = np.exp(np.linspace(-103, 88.7, 100_001)).astype(np.float32)
MIDDLE = np.linspace(-12, 12, 100_001).astype(np.float32)
ANGLES = np.concatenate(
    [
        np.linspace(-30, 30, 100_001),
        np.arange(1, 50_001) * np.pi / 2,
        *(sign * np.exp(np.linspace(-80, 88.7, 20_001)) for sign in (1, -1)),
        [16367173 * 2.0**72],  # The float next to a multiple of pi/2.
    ]
).astype(np.float32)
UNIT = np.concatenate(
    [np.linspace(-1, 1, 100_001), 1 - 10.0 ** np.linspace(-7, 0, 999)]
)
UNIT = np.append(UNIT.astype(np.float32), SMALL)
EXPONENTS = np.linspace(-87.3, 88.7, 100_001).astype(np.float32)


def softplus64(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, x)


def sigmoid64(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def erf64(x: np.ndarray) -> np.ndarray:
    return np.array([erf(value) for value in x.ravel()]).reshape(x.shape)


MATH = {
    "exp": (of_operation(math.ExpOp), np.exp, EXPONENTS, 1.01),
    "exp2": (of_operation(math.Exp2Op), np.exp2, MIDDLE, 2),
    "expm1": (of_operation(math.ExpM1Op), np.expm1, np.append(MIDDLE, SMALL), 3),
    "log": (of_operation(math.LogOp), np.log, POSITIVE, 1.01),
    "log_near_1": (
        of_operation(math.LogOp),
        np.log,
        MIDDLE / 24 + np.float32(1.25),
        1.01,
    ),
    "log1p": (of_operation(math.Log1pOp), np.log1p, np.append(POSITIVE, SMALL), 3),
    "log2": (of_operation(math.Log2Op), np.log2, POSITIVE, 3),
    "log10": (of_operation(math.Log10Op), np.log10, POSITIVE, 3),
    "tanh": (of_operation(math.TanhOp), np.tanh, np.append(MIDDLE, SMALL), 5),
    "erf": (of_operation(math.ErfOp), erf64, np.append(MIDDLE, SMALL), 6),
    "sin": (of_operation(math.SinOp), np.sin, ANGLES, 3),
    "cos": (of_operation(math.CosOp), np.cos, ANGLES, 3),
    "tan": (of_operation(math.TanOp), np.tan, ANGLES, 4),
    "asin": (of_operation(math.AsinOp), np.arcsin, UNIT, 3),
    "acos": (of_operation(math.AcosOp), np.arccos, UNIT, 3),
    "atan": (of_operation(math.AtanOp), np.arctan, ANGLES, 3),
    "rsqrt": (of_operation(math.RsqrtOp), lambda x: 1 / np.sqrt(x), POSITIVE, 1.5),
    "sigmoid": (unary_region(activations.sigmoid), sigmoid64, MIDDLE, 3),
    "softplus": (unary_region(activations.softplus), softplus64, MIDDLE, 3),
}


@pytest.mark.parametrize("name", MATH)
def test_math_function(name: str) -> None:
    region, reference, samples, bound = MATH[name]
    bound += 0 if TARGET.fma_instruction else 2
    found = apply_region(region, samples)
    with np.errstate(all="ignore"):
        assert ulps(found, reference(samples.astype(np.float64))) <= bound
        at_edges = apply_region(region, EDGES)
        expected = reference(EDGES.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(at_edges, expected, rtol=1e-6, atol=1.2e-38)


SCALE_RELU = ScalarRegion.trace(
    lambda b, x, scale: b.maximumf(b.mulf(x, scale), b.constant(0.0, f32)), [f32, f32]
)
BLOCKED = {
    "channel": ((2, 3, 5, 7, 16), (1, 3, 1, 1, 16)),
    "whole": ((1, 3, 8, 6, 16), (1, 3, 8, 6, 16)),
    "row": ((2, 3, 5, 7, 16), (2, 3, 5, 1, 16)),
    "one block": ((2, 1, 5, 5, 16), (1, 1, 1, 1, 16)),
    "one pixel": ((3, 4, 1, 1, 16), (1, 4, 1, 1, 16)),
    "one number a block": ((2, 3, 4, 4, 1), (2, 3, 1, 1, 1)),
    "many pixels": ((2, 3, 64, 32, 16), (1, 3, 1, 1, 16)),
    "chunks of unequal size": ((1, 2, 61, 37, 16), (1, 2, 1, 1, 16)),
    "two registers": ((1, 2, 47, 37, 32), (1, 2, 1, 1, 32)),
    "number a pixel": ((1, 2, 61, 37, 16), (1, 1, 61, 37, 1)),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_elementwise_on_channel_blocks(name: str) -> None:
    x, scale = (normal(*shape) for shape in BLOCKED[name])
    found = apply_region(SCALE_RELU, x, scale)
    np.testing.assert_array_equal(found, np.maximum(x * scale, 0))


def test_threads_share_the_planes_of_channel_blocks() -> None:
    shape, channel = BLOCKED["whole"][0], (1, 3, 1, 1, 16)
    kernel = build_elementwise(
        ElementwiseSpec(shape, (shape, channel), SCALE_RELU), TARGET
    )
    call = compile_function(kernel.function, target=TARGET)
    out = np.full(shape, -1, np.float32)
    call(out, normal(*shape), normal(*channel), 0, kernel.work_items // 2)
    written = (out != -1).all((0, 1, 3, 4))
    assert list(written) == [True] * 4 + [False] * 4


def test_pow_with_a_constant_exponent() -> None:
    x = np.concatenate([normal(100) * 3, EDGES])
    for exponent in (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 5.0):
        region = unary_region(
            lambda b, v, e=exponent: b.binary(math.PowFOp, v, b.constant(e, f32))
        )
        with np.errstate(all="ignore"):
            expected = np.power(x, np.float32(exponent))
        np.testing.assert_allclose(apply_region(region, x), expected, rtol=1e-6)


def test_general_pow_of_negative_bases() -> None:
    region = ScalarRegion.trace(lambda b, x, y: b.binary(math.PowFOp, x, y), [f32, f32])
    x, y = normal(999) * 3, np.round(normal(999) * 3)
    np.testing.assert_allclose(apply_region(region, x, y), np.power(x, y), rtol=1e-6)


def of_two(operation: type) -> ScalarRegion:
    return ScalarRegion.trace(lambda b, x, y: b.binary(operation, x, y), [f32, f32])


def pairs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """All floats with all others, and the edges with each other."""
    bits = np.random.default_rng(seed).integers(0, 2**32, (2, 50_000), np.uint64)
    x, y = bits.astype(np.uint32).view(np.float32)
    edges = np.array([0.5, 2.0, 3.0, -1.5, 2.0**24, 8388609, 3.4e38, -1e-40])
    edges = np.append(EDGES, edges.astype(np.float32))
    repeated = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    return np.append(x, repeated[0]), np.append(y, repeated[1])


def test_remainders_are_exact() -> None:
    x, y = pairs(1)
    found = apply_region(of_two(arith.RemfOp), x, y)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def test_powers_of_all_numbers() -> None:
    x, y = pairs(2)
    usual = np.random.default_rng(3).uniform(0.01, 90, (2, 50_000)).astype(np.float32)
    x, y = np.append(x, usual[0]), np.append(y, usual[1] / 4)
    found = apply_region(of_two(math.PowFOp), x, y)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        expected = exact.astype(np.float32)
    finite = np.isfinite(expected)
    assert ulps(found[finite], exact[finite]) <= 8
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("exponent", [0.75, 0.5, 0.25, 1.0, 2.75, -0.75, 0.6, -1.3])
def test_power_of_positive(exponent: float) -> None:
    x = np.linspace(0.1, 50, 1000).astype(np.float32)
    power = partial(math_functions.power_of_positive, exponent=exponent)
    found = apply_region(unary_region(power), x)
    np.testing.assert_allclose(found, x.astype(np.float64) ** exponent, rtol=1e-6)


# Element-wise kernels


ADD_RELU = ScalarRegion.trace(
    lambda b, x, y: b.maximumf(b.addf(x, y), b.constant(0.0, f32)), [f32, f32]
)

BROADCASTS = [
    ((1,), (1,)),
    ((7,), (7,)),
    ((1000,), (1,)),
    ((3, 70), (70,)),
    ((70, 3), (70, 1)),
    ((2, 30, 5, 11), (30, 1, 1)),
    ((2, 30, 5, 11), (2, 1, 5, 1)),
    ((1, 64, 14, 14), (1, 64, 14, 14)),
    ((2, 5000), (2, 1)),
    ((4, 1, 6), (4, 1, 6)),
]


@pytest.mark.parametrize(("shape", "other"), BROADCASTS)
def test_elementwise_broadcast(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    x, y = normal(*shape), normal(*other)
    x.flat[0] = np.nan
    kernel = build_elementwise(ElementwiseSpec(shape, (shape, other), ADD_RELU), TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(x)], [x, y])
    np.testing.assert_array_equal(found, np.maximum(x + y, 0))


def test_elementwise_of_no_elements() -> None:
    kernel = build_elementwise(
        ElementwiseSpec((3, 0), ((3, 0), (1,)), ADD_RELU), TARGET
    )
    assert kernel.work_items == 0


def test_elementwise_in_place() -> None:
    x, y = normal(5, 77), normal(77)
    kernel = build_elementwise(
        ElementwiseSpec(x.shape, (x.shape, (77,)), ADD_RELU), TARGET
    )
    expected = np.maximum(x + y, 0)
    compile_function(kernel.function)(x, x, y, 0, kernel.work_items)
    np.testing.assert_array_equal(x, expected)


def test_lstm_gates_have_several_outputs() -> None:
    def cell(b, i, o, f, c, state):
        sigmoid, tanh = activations.sigmoid, math_functions.tanh
        forgotten = b.mulf(sigmoid(b, f), state)
        new = b.addf(forgotten, b.mulf(sigmoid(b, i), tanh(b, c)))
        return b.mulf(sigmoid(b, o), tanh(b, new)), new

    region = ScalarRegion.trace(cell, [f32] * 5)
    inputs = [normal(3, 50) for _ in range(5)]
    spec = ElementwiseSpec((3, 50), ((3, 50),) * 5, region)
    outputs = [np.zeros((3, 50), np.float32) for _ in range(2)]
    h, c = run_kernel(build_elementwise(spec, TARGET), outputs, inputs)
    i, o, f, g, state = (x.astype(np.float64) for x in inputs)
    new = sigmoid64(f) * state + sigmoid64(i) * np.tanh(g)
    np.testing.assert_allclose(c, new, atol=1e-6)
    np.testing.assert_allclose(h, sigmoid64(o) * np.tanh(new), atol=1e-6)


@pytest.mark.parametrize(
    ("element", "dtype"),
    [(f64, np.float64), (i64, np.int64), (i32, np.int32), (i8, np.int8)],
)
def test_elementwise_types(element: object, dtype: type) -> None:
    def body(b, x, y):
        if element == f64:
            return b.addf(x, y)
        return b.binary_integer(arith.AddiOp, x, y)

    region = ScalarRegion.trace(body, [element, element])
    x, y = (RANDOM.integers(-50, 50, 333).astype(dtype) for _ in range(2))
    kernel = build_elementwise(
        ElementwiseSpec((333,), ((333,), (333,)), region), TARGET
    )
    (found,) = run_kernel(kernel, [np.zeros_like(x)], [x, y])
    np.testing.assert_array_equal(found, x + y)


def test_elementwise_booleans_and_conversions() -> None:
    less = ScalarRegion.trace(lambda b, x, y: b.cmpf("olt", x, y), [f32, f32])
    x, y = normal(100), normal(100)
    kernel = build_elementwise(ElementwiseSpec((100,), ((100,), (100,)), less), TARGET)
    (found,) = run_kernel(kernel, [np.zeros(100, bool)], [x, y])
    np.testing.assert_array_equal(found, x < y)

    choose = ScalarRegion.trace(
        lambda b, c, x, n: b.select(c, x, b.cast(arith.SIToFPOp, n, f32)),
        [i1, f32, i64],
    )
    n = np.arange(100)
    spec = ElementwiseSpec((100,), ((100,),) * 3, choose)
    kernel = build_elementwise(spec, TARGET)
    (chosen,) = run_kernel(kernel, [np.zeros_like(x)], [found, x, n])
    np.testing.assert_array_equal(chosen, np.where(x < y, x, n))


def test_unsigned_division_cannot_trap() -> None:
    x, y = np.array([7, 250, 5], np.uint8), np.array([2, 7, 0], np.uint8)
    for operation, expected in (
        (arith.DivUIOp, [3, 35, 0]),
        (arith.RemUIOp, [1, 5, 0]),
    ):
        region = ScalarRegion.trace(
            lambda b, p, q, o=operation: b.binary_integer(o, p, q), [i8, i8]
        )
        kernel = build_elementwise(ElementwiseSpec((3,), ((3,), (3,)), region), TARGET)
        (found,) = run_kernel(kernel, [np.zeros_like(x)], [x, y])
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("operation", [arith.DivSIOp, arith.RemSIOp])
def test_integer_division_cannot_trap(operation: type) -> None:
    x = np.array([7, -7, 7, -(2**31), 5, -(2**31)], np.int32)
    y = np.array([2, 2, -3, -1, 0, 0], np.int32)
    region = ScalarRegion.trace(
        lambda b, p, q: b.binary_integer(operation, p, q), [i32, i32]
    )
    kernel = build_elementwise(ElementwiseSpec((6,), ((6,), (6,)), region), TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(x)], [x, y])
    quotients = [3, -3, -2, -(2**31), 0, 0]
    remainders = [1, -1, 1, 0, 0, 0]
    expected = quotients if operation is arith.DivSIOp else remainders
    np.testing.assert_array_equal(found, expected)


def test_region_key_tells_regions_apart() -> None:
    def scaled(factor: float) -> ScalarRegion:
        return unary_region(lambda b, x: b.mulf(x, b.constant(factor, f32)))

    assert scaled(0.1) == scaled(0.1)
    assert hash(scaled(0.1)) == hash(scaled(0.1))
    assert scaled(0.1) != scaled(0.1 + 1e-7)
    assert scaled(0.1) != of_operation(math.ExpOp)
