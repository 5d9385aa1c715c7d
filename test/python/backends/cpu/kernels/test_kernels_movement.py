"""Transposition, copy, pad, gather and plain loop nest kernels against NumPy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from support.kernels.kernel_testing import RANDOM, TARGET, normal, run_kernel
from xdsl.dialects.builtin import f32, f64, i8, i16, i32, i64
from xdsl.parser import Parser

import glow
from glow.backends.cpu.kernels.movement.gather import (
    GatherElementsSpec,
    GatherSpec,
    RepeatSpec,
    build_gather,
    build_gather_elements,
    build_repeat,
)
from glow.backends.cpu.kernels.movement.transpose import (
    CopySpec,
    PadSpec,
    TransposeSpec,
    build_copy,
    build_pad,
    build_transpose,
)
from glow.backends.cpu.kernels.reduction.structured import (
    Affine,
    Dimension,
    Operand,
    StructuredSpec,
    Window,
    build_structured,
)
from glow.compiler import context
from glow.lowering.loop_builder.scalar_region import ScalarRegion

WIDTHS = [(i8, np.int8), (i16, np.int16), (f32, np.float32), (f64, np.float64)]


def numbers(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("permutation", list(permutations(range(3))))
@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 20, 33), (17, 1, 16), (16, 48, 5)])
def test_transpose(permutation: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    expected = np.ascontiguousarray(x.transpose(permutation))
    kernel = build_transpose(TransposeSpec(shape, permutation), TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(expected)], [x])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("element", "dtype"), WIDTHS)
@pytest.mark.parametrize("permutation", [(2, 0, 1), (0, 2, 1), (1, 0, 2)])
def test_transpose_widths(
    element: object, dtype: type, permutation: tuple[int, ...]
) -> None:
    x = numbers((3, 18, 21), dtype)
    expected = np.ascontiguousarray(x.transpose(permutation))
    kernel = build_transpose(TransposeSpec(x.shape, permutation, element), TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(expected)], [x])
    np.testing.assert_array_equal(found, expected)


def test_channel_shuffle() -> None:
    x = normal(1, 4, 6, 5, 7)
    kernel = build_transpose(TransposeSpec(x.shape, (0, 2, 1, 3, 4)), TARGET)
    expected = np.ascontiguousarray(x.transpose(0, 2, 1, 3, 4))
    (found,) = run_kernel(kernel, [np.zeros_like(expected)], [x])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("element", "dtype"), WIDTHS)
def test_slice_with_steps(element: object, dtype: type) -> None:
    x = numbers((6, 50), dtype)
    expected = np.ascontiguousarray(x[1::2, 40:3:-3])
    spec = CopySpec(
        expected.shape, (100, -3), (13, 1), x.size, expected.size, 90, 0, element
    )
    (found,) = run_kernel(build_copy(spec, TARGET), [np.zeros_like(expected)], [x])
    np.testing.assert_array_equal(found, expected)


def test_concatenation_inserts() -> None:
    x = normal(3, 40)
    out = normal(3, 100)
    expected = out.copy()
    expected[:, 60:] = x
    spec = CopySpec((3, 40), (40, 1), (100, 1), 120, 300, out_offset=60)
    (found,) = run_kernel(build_copy(spec, TARGET), [out], [x])
    np.testing.assert_array_equal(found, expected)


def test_expansion() -> None:
    x = normal(3, 1)
    spec = CopySpec((2, 3, 50), (0, 1, 0), (150, 50, 1), 3, 300)
    out = np.zeros((2, 3, 50), np.float32)
    (found,) = run_kernel(build_copy(spec, TARGET), [out], [x])
    np.testing.assert_array_equal(found, np.broadcast_to(x, (2, 3, 50)))


def test_copy_of_a_large_run_is_cut() -> None:
    x = normal(100_001)
    kernel = build_copy(CopySpec((100_001,), (1,), (1,), 100_001, 100_001), TARGET)
    assert kernel.work_items > 16
    (found,) = run_kernel(kernel, [np.zeros_like(x)], [x])
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize(
    ("shape", "before", "after"),
    [
        ((5,), (2,), (3,)),
        ((3, 4), (1, 0), (0, 70)),
        ((2, 3, 50), (0, 1, 1), (0, 2, 1)),
        ((4, 9), (-1, -2), (1, -3)),
    ],
)
@pytest.mark.parametrize(("element", "dtype"), WIDTHS)
def test_pad(
    shape: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
    element: object,
    dtype: type,
) -> None:
    x = numbers(shape, dtype)
    crop = tuple(
        slice(max(0, -b), n - max(0, -a))
        for n, b, a in zip(shape, before, after, strict=True)
    )
    amounts = [(max(0, b), max(0, a)) for b, a in zip(before, after, strict=True)]
    expected = np.pad(x[crop], amounts, constant_values=7)
    spec = PadSpec(shape, before, after, 7, element)
    (found,) = run_kernel(build_pad(spec, TARGET), [np.zeros_like(expected)], [x])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("inner", [1, 3, 64, 100])
@pytest.mark.parametrize(("index", "dtype"), [(i32, np.int32), (i64, np.int64)])
def test_gather(inner: int, index: object, dtype: type) -> None:
    data = normal(2, 10, inner)
    indices = np.array([0, 9, -1, -10, 5, 5], dtype)
    kernel = build_gather(GatherSpec(2, 10, inner, 6, index=index), TARGET)
    expected = np.take(data, indices, axis=1)
    (found,) = run_kernel(kernel, [np.zeros_like(expected)], [data, indices])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("extent", [1, 7, 37])
@pytest.mark.parametrize("count", [2, 3])
def test_repeat(extent: int, count: int) -> None:
    data = normal(3, extent)
    kernel = build_repeat(RepeatSpec(3, extent, count), TARGET)
    expected = np.repeat(data, count, axis=1)
    (found,) = run_kernel(kernel, [np.zeros_like(expected)], [data])
    np.testing.assert_array_equal(found, expected)


def test_gather_of_single_elements_by_known_indices() -> None:
    data, indices = normal(70, 10), np.array([9, 0, 0, 4])
    spec = GatherSpec(70, 10, 1, 4, inside=True)
    out = np.zeros((70, 4), np.float32)
    (found,) = run_kernel(build_gather(spec, TARGET), [out], [data, indices])
    np.testing.assert_array_equal(found, data[:, indices])


def test_gather_clamps_indices_that_lie_outside() -> None:
    data = normal(1, 10, 8)
    indices = np.array([10, -11, 2**62, -(2**62)])
    kernel = build_gather(GatherSpec(1, 10, 8, 4), TARGET)
    out = np.zeros((1, 4, 8), np.float32)
    (found,) = run_kernel(kernel, [out], [data, indices])
    np.testing.assert_array_equal(found, data[:, [9, 0, 9, 0]])


@pytest.mark.parametrize(("index", "dtype"), [(i8, np.int8), (i16, np.uint16)])
def test_gather_of_an_entry_for_each_index(index: object, dtype: type) -> None:
    """All indices are inside; a negative one counts from the end."""
    indices = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    data = normal(1, len(indices), 1)
    spec = GatherSpec(1, len(indices), 1, len(indices), index=index)
    kernel = build_gather(spec, TARGET)
    (found,) = run_kernel(kernel, [np.zeros_like(data)], [data, indices])
    np.testing.assert_array_equal(found, np.take(data, indices, axis=1))


def test_gather_by_numbers_without_a_sign() -> None:
    data, indices = normal(1, 300, 3), np.array([0, 127, 128, 255], np.uint8)
    spec = GatherSpec(1, 300, 3, len(indices), index=i8, unsigned=True)
    out = np.zeros((1, len(indices), 3), np.float32)
    (found,) = run_kernel(build_gather(spec, TARGET), [out], [data, indices])
    np.testing.assert_array_equal(found, data[:, indices])


ROWS = 200
TABLE = (
    f"glow.constant dense<{[[k % 7, k] for k in range(ROWS)]}> : tensor<{ROWS}x2xui8> as "
    f"tensor<{ROWS}x2x!quant.uniform<u8:f32:0, {{{', '.join(['0.5:3'] * ROWS)}}}>>"
)
GATHERS = {
    "elements": "glow.gather_elements %x, %i axis 0 : tensor<200x2xf32>",
    "rows": "glow.gather %table, %i : tensor<200x2x2xf32>",
    "slices": "glow.gather %x, %i : tensor<200x2x2xf32>",
}
INDICES = {"i8": np.int8, "ui8": np.uint8, "ui16": np.uint16}


@pytest.mark.parametrize("gather", GATHERS)
@pytest.mark.parametrize("index", INDICES)
def test_gathers_take_the_sign_of_their_indices(gather: str, index: str) -> None:
    result = GATHERS[gather].rpartition(" : ")[-1]
    text = f"""
    func.func @main(%x: tensor<{ROWS}x2xf32>, %i: tensor<{ROWS}x2x{index}>) -> {result} {{
      %table = {TABLE}
      %0 = {GATHERS[gather]}
      func.return %0 : {result}
    }}"""
    indices = np.arange(2 * ROWS).reshape(-1, 2) % ROWS
    arrays = normal(ROWS, 2), indices.astype(INDICES[index])
    expected, found = (
        glow.compile(Parser(context(), text).parse_module(), backend=backend)(*arrays)
        for backend in ("interpreter", "cpu")
    )
    np.testing.assert_array_equal(found, expected)


def test_gather_elements() -> None:
    data = normal(4, 5, 6)
    indices = RANDOM.integers(-5, 5, (3, 7, 6))
    spec = GatherElementsSpec(data.shape, indices.shape, 1)
    out = np.zeros(indices.shape, np.float32)
    (found,) = run_kernel(build_gather_elements(spec, TARGET), [out], [data, indices])
    np.testing.assert_array_equal(found, np.take_along_axis(data[:3], indices % 5, 1))


MULTIPLY_ADD = ScalarRegion.trace(
    lambda b, acc, x, y: b.addf(acc, b.mulf(x, y)), [f32, f32, f32]
)


def test_structured_matmul_is_vectorised() -> None:
    a, b = normal(5, 7), normal(7, 70)
    operands = (
        Operand(35, Affine((7, 0, 1))),
        Operand(490, Affine((0, 1, 70))),
    )
    spec = StructuredSpec((5, 70), (7,), operands, MULTIPLY_ADD)
    kernel = build_structured(spec, TARGET)
    assert kernel.work_items < 5 * 70
    (found,) = run_kernel(kernel, [np.zeros((5, 70), np.float32)], [a, b])
    np.testing.assert_allclose(found, a @ b, rtol=1e-5, atol=1e-5)


def test_structured_convolution_with_borders() -> None:
    x, w = normal(9, 11), normal(3, 3)
    window = Window(
        (
            Dimension(9, 11, (2, 0, 1, 0), -1),
            Dimension(11, 1, (0, 1, 0, 1), -1),
        )
    )
    operands = (Operand(99, window), Operand(9, Affine((0, 0, 3, 1))))
    spec = StructuredSpec((5, 11), (3, 3), operands, MULTIPLY_ADD)
    out = np.zeros((5, 11), np.float32)
    (found,) = run_kernel(build_structured(spec, TARGET), [out], [x, w])
    padded = np.pad(x, 1)
    expected = sum(
        padded[kh : kh + 9 : 2, kw : kw + 11] * w[kh, kw]
        for kh in range(3)
        for kw in range(3)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_structured_transposed_convolution() -> None:
    x, w = normal(4), normal(3)
    # out[o] = sum over k, i with o = 2 i + k of x[i] w[k].
    source = Window((Dimension(4, 1, (1, -1), 0, 2, exact=True),))
    operands = (Operand(4, source), Operand(3, Affine((0, 1))))
    spec = StructuredSpec((9,), (3,), operands, MULTIPLY_ADD)
    (found,) = run_kernel(
        build_structured(spec, TARGET), [np.zeros(9, np.float32)], [x, w]
    )
    expected = np.zeros(9)
    for i in range(4):
        expected[2 * i : 2 * i + 3] += x[i] * w
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_structured_nearest_resize_of_whole_rows() -> None:
    x = normal(4, 40)
    source = Window(
        (
            Dimension(4, 40, (1, 0), divisor=3, clamped=True),
            Dimension(40, 1, (0, 1), inside=True),
        )
    )
    copy = ScalarRegion.trace(lambda b, v: v, [f32])
    spec = StructuredSpec((13, 40), (), (Operand(160, source),), copy)
    out = np.zeros((13, 40), np.float32)
    (found,) = run_kernel(build_structured(spec, TARGET), [out], [x])
    np.testing.assert_array_equal(found, x[np.minimum(np.arange(13) // 3, 3)])


def test_structured_finish() -> None:
    x = normal(6, 9)
    absolute_sum = ScalarRegion.trace(
        lambda b, acc, v: b.addf(acc, b.mulf(v, v)), [f32, f32]
    )
    half = ScalarRegion.trace(lambda b, v: b.mulf(v, b.constant(0.5, f32)), [f32])
    operands = (Operand(54, Affine((9, 1))),)
    spec = StructuredSpec((6,), (9,), operands, absolute_sum, finish=half)
    (found,) = run_kernel(
        build_structured(spec, TARGET), [np.zeros(6, np.float32)], [x]
    )
    np.testing.assert_allclose(found, (x * x).sum(1) / 2, rtol=1e-5)
