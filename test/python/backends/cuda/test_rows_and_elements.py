"""Reductions, element-wise work and transpositions for many threads, in the simulator."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.mutants import removed, without
from xdsl.dialects import math
from xdsl.dialects.builtin import f32

from glow import GlowError
from glow.backends.cuda.kernels.elementwise import (
    ElementwiseSpec,
    StridedOperand,
    build_elementwise,
)
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.kernels.reduction.rows import (
    RowsSpec,
    build_rows,
    layer_norm,
    reduce_rows,
    rms_norm,
    softmax,
)
from glow.backends.cuda.kernels.transpose import TransposeSpec, build_transpose
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.dialects.arith import XOrIOp
from glow.dialects.gpu import gpu
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target
from glow.universe import new_context

TARGET = Target.from_string("sm_80")
Array = np.ndarray


def interpreted(node: str, result: Sequence[int], inputs: Sequence[Array]) -> Array:
    """What the interpreter makes of a node."""
    types = [f"tensor<{'x'.join(map(str, x.shape))}xf32>" for x in inputs]
    out = f"tensor<{''.join(f'{extent}x' for extent in result)}f32>"
    arguments = ", ".join(f"%{k}: {type_}" for k, type_ in enumerate(types))
    text = (
        f"func.func @main({arguments}) -> {out} {{\n %y = {node} : {out}\n"
        f" func.return %y : {out}\n}}"
    )
    return run(parse_text(new_context(), text, "node.mlir"), inputs)[0]


def simulate(
    kernel: GpuKernel, result: Sequence[int], inputs: Sequence[Array]
) -> tuple[Array, Report]:
    """What a kernel writes over NaN, and what it cost."""
    kernel.module.verify()
    written = np.full(result, np.nan, np.float32)
    return written, run_kernel(kernel.function, [written, *inputs])


NORM = "axis 1 epsilon 1.0e-3"
ROWS: dict[str, tuple[Callable[[int, int], RowsSpec], str, int]] = {
    "softmax": (softmax, "glow.softmax %0 axis 1", 0),
    "layer_norm": (
        lambda m, n: layer_norm(m, n, 1e-3), f"glow.layer_norm %0, %1, %2 {NORM}", 2,
    ),
    "sum": (lambda m, n: reduce_rows(m, n, "add"), "glow.reduce_sum %0 axes [1]", 0),
    "mean": (
        lambda m, n: reduce_rows(m, n, "add", 1 / n), "glow.reduce_mean %0 axes [1]", 0,
    ),
    "max": (lambda m, n: reduce_rows(m, n, "maximumf"), "glow.reduce_max %0 axes [1]", 0),
    "min": (lambda m, n: reduce_rows(m, n, "minimumf"), "glow.reduce_min %0 axes [1]", 0),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(20))
def test_random_rows_are_the_interpreters(number: int) -> None:
    """Rows of a warp and of a block, aligned and not."""
    random = np.random.default_rng(number)
    make, node, operands = list(ROWS.values())[number % len(ROWS)]
    is_long, is_aligned = number % 4 == 3, number % 2
    columns = int(random.integers(1025, 1500) if is_long else random.integers(1, 200))
    columns = -(-columns // 4) * 4 if is_aligned else columns | 1
    rows = int(random.integers(1, 4 if is_long else 10))
    spec = make(rows, columns)
    shapes = [(rows, columns), *[(columns,)] * operands]
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    result = (rows,) if spec.is_reduction else (rows, columns)
    expected = interpreted(node, result, inputs)
    written, report = simulate(build_rows(spec, TARGET, "rows"), result, inputs)
    np.testing.assert_allclose(written, expected, rtol=2e-5, atol=2e-6)
    assert report.bank_conflicts == 0
    if is_aligned:
        assert report.uncoalesced_sectors <= rows * 8 * len(shapes)


@pytest.mark.gpu
def test_root_mean_squares() -> None:
    x = np.random.default_rng(0).standard_normal((5, 36)).astype(np.float32)
    scale = np.arange(36, dtype=np.float32)
    written, _ = simulate(
        build_rows(rms_norm(5, 36, 1e-5), TARGET, "rms"), x.shape, [x, scale]
    )
    root = np.sqrt(np.mean(x.astype(float) ** 2, 1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(written, x / root * scale, rtol=1e-5)


@pytest.mark.gpu
def test_rows_keep_nan_and_infinity() -> None:
    x = np.zeros((3, 8), np.float32)
    x[0, 3], x[1, 2] = np.nan, -np.inf
    written, _ = simulate(build_rows(softmax(3, 8), TARGET, "softmax"), x.shape, [x])
    expected = interpreted("glow.softmax %0 axis 1", (3, 8), [x])
    np.testing.assert_allclose(written, expected, rtol=1e-6)


GELU = ScalarRegion.trace(lambda b, x: b.mulf(x, b.unary(math.ErfOp, x)), [f32])
ADD = ScalarRegion.trace(lambda b, x, y: b.addf(x, y), [f32, f32])
COPY = ScalarRegion.trace(lambda b, x: x, [f32])


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(20))
def test_random_elements_are_the_interpreters(number: int) -> None:
    """Functions of dense arrays, sums of broadcast ones, and arrays with axes exchanged."""
    random = np.random.default_rng(number)
    shape = tuple(int(x) for x in random.integers(1, 9, 3))
    shape = (*shape[:2], 4 * shape[2]) if number % 2 else shape
    dense = StridedOperand(int(np.prod(shape)), (shape[1] * shape[2], shape[2], 1))
    x = random.standard_normal(shape).astype(np.float32)
    if number % 3 == 0:
        spec, inputs, node = ElementwiseSpec(shape, GELU, (dense,)), [x], "glow.erf %0"
    elif number % 3 == 1:
        other = [
            s if keep else 1
            for s, keep in zip(shape, random.integers(0, 2, 3), strict=True)
        ]
        y = random.standard_normal(other).astype(np.float32)
        strides = tuple(
            0 if extent == 1 else int(np.prod(other[k + 1 :]))
            for k, extent in enumerate(other)
        )
        operands = (dense, StridedOperand(y.size, strides))
        spec, inputs = ElementwiseSpec(shape, ADD, operands), [x, y]
        node = "glow.add %0, %1"
    else:
        order = tuple(int(k) for k in random.permutation(3))
        strides = tuple(dense.strides[k] for k in order)
        moved = tuple(shape[k] for k in order)
        spec = ElementwiseSpec(moved, COPY, (StridedOperand(x.size, strides),))
        inputs, node = [x], f"glow.transpose %0 permutation {list(order)}"
    expected = x + y if "add" in node else interpreted(node, spec.shape, inputs)
    if "erf" in node:
        expected = x * expected
    kernel = build_elementwise(spec, TARGET, "elements")
    flat = [each.reshape(-1) for each in inputs]
    written, report = simulate(kernel, (expected.size,), flat)
    np.testing.assert_allclose(
        written.reshape(spec.shape), expected, rtol=1e-5, atol=1e-6
    )
    assert report.bank_conflicts == 0


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(20))
def test_random_matrices_are_transposed(number: int) -> None:
    random = np.random.default_rng(number)
    batch, rows, columns = (int(x) for x in random.integers(1, (3, 45, 45)))
    if number == 0:
        batch, rows, columns = 2, 64, 32
    x = random.standard_normal((batch, rows, columns)).astype(np.float32)
    kernel = build_transpose(TransposeSpec(batch, rows, columns), TARGET, "transpose")
    written, report = simulate(kernel, (batch, columns, rows), [x])
    assert np.array_equal(written, x.swapaxes(1, 2))
    assert report.bank_conflicts == 0
    assert number or report.uncoalesced_sectors == 0


def test_missing_barriers_and_swizzles_are_found() -> None:
    x = np.ones((1, 40, 40), np.float32)
    transpose = build_transpose(TransposeSpec(1, 40, 40), TARGET, "transpose")
    with pytest.raises(GlowError, match="race: "):
        run_kernel(without(transpose, gpu.BarrierOp), [x.copy(), x])
    report = run_kernel(without(transpose, XOrIOp), [x.copy(), x])
    assert report.bank_conflicts > 0
    rows = build_rows(softmax(1, 1028), TARGET, "rows")
    x = np.ones((1, 1028), np.float32)
    mutants = list(removed(gpu.BarrierOp, rows))
    assert len(mutants) == 2
    for function in mutants:
        with pytest.raises(GlowError, match="race: "):
            run_kernel(function, [x.copy(), x])
    run_kernel(rows.function, [x.copy(), x])


def test_vectors_of_16_bytes_are_loaded(tmp_path: Path) -> None:
    dense = StridedOperand(4096, (1,))
    kernels = [
        build_elementwise(ElementwiseSpec((4096,), ADD, (dense, dense)), TARGET, "add"),
        build_rows(layer_norm(64, 768, 1e-5), TARGET, "layer_norm"),
        build_rows(softmax(64, 4096), TARGET, "softmax"),
        build_transpose(TransposeSpec(1, 64, 100), TARGET, "transpose"),
    ]
    text = gpu_kernels_ptx(kernels, TARGET)
    entries = text.split(".visible .entry ")[1:]
    loads = [entry.count("ld.global") for entry in entries]
    wide = [len(re.findall(r"ld\.global\.(nc\.)?v4", entry)) for entry in entries]
    assert wide[:3] == loads[:3]
    assert wide[0] == 2
    assert "shfl.sync.bfly" in entries[1]
    assert all(one.spills == 0 for one in assemble(text, "sm_80", tmp_path))
