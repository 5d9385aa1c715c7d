"""Products that are quantized at run time: native code has the interpreter's bits."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from glow.compiler import compile as compile_model
from glow.compiler import context
from glow.frontends.mlir import parse_text

Array = np.ndarray
RANDOM = np.random.default_rng(11)

PRODUCT = """
func.func @main(%x: {input}, %r: {result}) -> {result} {{
  %w = glow.constant dense<{weights}> : {shape}{storage}> as {shape}!quant.uniform<{element}>>
  %b = glow.constant dense<{bias}> : tensor<{columns}xf32>
  %0 = glow.dynamic_matmul %x, %w{use_bias} granularity "{granularity}" : {result}
  %1 = glow.add %0, %r : {result}
  %2 = glow.relu %1 : {result}
  func.return %2 : {result}
}}
"""

SHAPES = [
    ((1,), 1, 1),
    ((5,), 6, 3),
    ((2, 7), 16, 33),
    ((33,), 67, 70),
    ((1, 130), 48, 96),
    ((2, 3, 4), 20, 17),
]


def product(
    outer: tuple[int, ...],
    depth: int,
    columns: int,
    granularity: str,
    *,
    bias: bool = True,
    storage: str = "i8",
) -> ModuleOp:
    """A product of random weights, with a residual sum and a ReLU behind it."""
    low, high, point = (-127, 128, "") if storage == "i8" else (3, 120, ":3")
    scales = [
        f"{scale!r}{point}" for scale in RANDOM.uniform(0.001, 0.02, columns).tolist()
    ]
    rows = "".join(f"{size}x" for size in outer)
    text = PRODUCT.format(
        input=f"tensor<{rows}{depth}xf32>",
        result=f"tensor<{rows}{columns}xf32>",
        shape=f"tensor<{depth}x{columns}x",
        columns=columns,
        weights=RANDOM.integers(low, high, (depth, columns)).tolist(),
        storage=storage,
        element=f"{storage.replace('ui', 'u')}:f32:1, {{{', '.join(scales)}}}",
        bias=RANDOM.standard_normal(columns).tolist(),
        use_bias=", %b" if bias else "",
        granularity=granularity,
    )
    return parse_text(context(), text, "product.mlir")


def inputs(outer: tuple[int, ...], depth: int, columns: int) -> dict[str, Array]:
    """Rows of very different size, one of zeros and one of equal numbers."""
    x = RANDOM.standard_normal((*outer, depth)).astype(np.float32)
    rows = x.reshape(-1, depth)
    rows[::3] *= 1000
    rows[1:2], rows[2:3] = 0, -7.5
    residual = RANDOM.standard_normal((*outer, columns)).astype(np.float32)
    return {"x": x, "r": residual}


def results(module: ModuleOp, arrays: dict[str, Array], **options: object) -> Array:
    (result,) = compile_model(module, **options).run(arrays).values()
    return result


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("target", ["host", "avx2"])
def test_bits(
    shape: tuple[tuple[int, ...], int, int], granularity: str, target: str
) -> None:
    module, arrays = product(*shape, granularity), inputs(*shape)
    expected = results(module, arrays, backend="interpreter")
    for threads in (1, 2):
        found = results(module, arrays, target=target, threads=threads)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("target", ["host", "scalar"])
def test_bits_of_unsigned_weights_without_bias(target: str) -> None:
    shape = (9,), 30, 20
    module = product(*shape, "row", bias=False, storage="ui8")
    arrays = inputs(*shape)
    expected = results(module, arrays, backend="interpreter")
    assert results(module, arrays, target=target).tobytes() == expected.tobytes()


def test_rows_that_are_not_finite() -> None:
    """Such a row is NaN as a whole, and no other row is."""
    shape = (6,), 20, 17
    module, arrays = product(*shape, "row"), inputs(*shape)
    arrays["x"][1, 3], arrays["x"][2, 0], arrays["x"][4, -1] = np.nan, np.inf, -np.inf
    expected = results(module, arrays, backend="interpreter")
    found = results(module, arrays)
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found).any(-1).tolist() == [False, True, True, False, True, False]
