"""Lookups, slices and inserts for many threads, in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from xdsl.dialects.builtin import f16, f32, i8, i32, i64

from glow.backends.cpu.kernels.movement.gather import GatherSpec
from glow.backends.cuda.kernels.elementwise import (
    ElementwiseSpec,
    StridedOperand,
    build_elementwise,
)
from glow.backends.cuda.kernels.gather import build_gather
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.interpreter.gpu.memory import Report
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.ir_types import row_major_strides
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import Target

TARGET = Target.from_string("sm_80")
DTYPES = {f32: np.float32, f16: np.float16, i8: np.int8, i32: np.int32, i64: np.int64}


def looked_up(
    spec: GatherSpec, table: np.ndarray, indices: np.ndarray
) -> tuple[np.ndarray, bool, Report]:
    """Rows of a table [outer, extent, inner], whether an error is noted, what it cost."""
    kernel = build_gather(spec, TARGET, "gather")
    kernel.module.verify()
    shape = (spec.outer, spec.count, spec.inner)
    result, noted = np.full(shape, -77, table.dtype), np.zeros(1, np.int8)
    report = run_kernel(kernel.function, [result, table, indices, noted])
    return result, bool(noted[0]), report


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_random_rows_are_those_of_numpy(number: int) -> None:
    """Tables of all elements, indices of all types, negative ones and those outside."""
    random = np.random.default_rng(number)
    outer, extent, inner, count = (int(x) for x in random.integers(1, (4, 90, 40, 30)))
    inner = 4 * inner if number % 2 else inner
    element, index = (f32, f16, i8, i32)[number % 4], (i64, i32, i8)[number % 3]
    spec = GatherSpec(outer, extent, inner, count, element, index, reports=True)
    table = 100 * random.standard_normal((outer, extent, inner))
    table = table.astype(DTYPES[element])
    indices = random.integers(-extent, extent, count).astype(DTYPES[index])
    result, noted, report = looked_up(spec, table, indices)
    assert np.array_equal(result, table[:, indices.astype(np.int64)])
    assert not noted
    assert report.bank_conflicts == 0
    indices[-1] = extent if random.integers(0, 2) else -extent - 1
    result, noted, _ = looked_up(spec, table, indices)
    assert noted
    assert np.array_equal(result[:, :-1], table[:, indices[:-1].astype(np.int64)])


@pytest.mark.gpu
def test_indices_keep_all_their_bits() -> None:
    """One beyond 32 bits is outside, and a byte that is not signed has 256 values."""
    table = np.arange(256, dtype=np.float32).reshape(1, 256, 1)
    spec = GatherSpec(1, 256, 1, 2, f32, i64, reports=True)
    assert looked_up(spec, table, np.array([3, 1 << 32]))[1]
    spec = GatherSpec(1, 256, 1, 2, f32, i8, unsigned=True, reports=True)
    result, noted, _ = looked_up(spec, table, np.array([-1, 5], np.int8))
    assert (result.ravel().tolist(), noted) == ([255, 5], False)


def test_rows_are_read_side_by_side() -> None:
    table = np.ones((1, 64, 128), np.float32)
    spec = GatherSpec(1, 64, 128, 16, f32, i32, reports=True)
    _, _, report = looked_up(spec, table, np.arange(16, dtype=np.int32))
    # A warp reads the 4 bytes of its index from a sector of 32.
    assert report.uncoalesced_sectors <= 16


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_random_boxes_are_read_and_written(number: int) -> None:
    """Slices with steps, also backwards, and inserts into larger arrays."""
    random = np.random.default_rng(number)
    whole = tuple(int(x) for x in random.integers(1, (6, 9, 24)))
    whole = (*whole[:2], 4 * whole[2]) if number % 2 else whole
    starts = tuple(int(random.integers(0, extent)) for extent in whole)
    if number % 4 == 1:
        starts = (*starts[:2], starts[2] // 4 * 4)
    shape = tuple(e - s for e, s in zip(whole, starts, strict=True))
    steps = row_major_strides(whole)
    offset = sum(a * b for a, b in zip(steps, starts, strict=True))
    box, size = StridedOperand(int(np.prod(whole)), steps, offset), int(np.prod(shape))
    copy = ScalarRegion.trace(lambda b, x: x, [f32])
    x = random.standard_normal(whole).astype(np.float32)
    at = tuple(slice(start, None) for start in starts)
    if number % 3 == 0:
        dense = StridedOperand(size, row_major_strides(shape))
        spec = ElementwiseSpec(shape, copy, (dense,), box)
        y = random.standard_normal(shape).astype(np.float32)
        expected, buffers = x.copy(), [x.ravel(), y.ravel()]
        expected[at] = y
    elif number % 3 == 1:
        spec = ElementwiseSpec(shape, copy, (box,))
        expected, buffers = x[at], [np.zeros(size, np.float32), x.ravel()]
    else:
        backwards = tuple(-step for step in steps)
        ends = sum(a * (b - 1) for a, b in zip(steps, whole, strict=True))
        spec = ElementwiseSpec(whole, copy, (StridedOperand(x.size, backwards, ends),))
        expected, buffers = x[::-1, ::-1, ::-1], [np.zeros_like(x).ravel(), x.ravel()]
    kernel = build_elementwise(spec, TARGET, "box")
    kernel.module.verify()
    report = run_kernel(kernel.function, buffers)
    assert np.array_equal(buffers[0], expected.ravel())
    assert report.bank_conflicts == 0


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_lookups_assemble(gpu_name: str, tmp_path: Path) -> None:
    spec = GatherSpec(1, 30522, 768, 128, f32, i64, reports=True)
    text = gpu_kernels_ptx([build_gather(spec, TARGET, "gather")], TARGET)
    assert text.count("ld.global.nc.v4") + text.count("ld.global.v4") == 1
    assert text.count("st.global.v4") == 1
    (found,) = assemble(text, gpu_name, tmp_path)
    assert found.spills == 0
