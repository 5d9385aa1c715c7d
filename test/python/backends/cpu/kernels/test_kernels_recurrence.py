"""Steps of recurrent layers: a product with packed weights, and a cell, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels.kernel_testing import TARGET, normal, relative_error, run_kernel
from xdsl.dialects.builtin import f32

from glow.backends.cpu.kernels.recurrence.kernel import RecurrenceSpec, build_recurrence
from glow.backends.cpu.kernels.recurrence.weights import StepShape, pack_recurrence
from glow.lowering.loop_builder.scalar_region import ScalarRegion
from glow.lowering.target.target import PRESETS, Target
from glow.runtime.testing import compile_function

SHAPES = [
    (1, 1, 4),
    (1, 16, 4),
    (1, 40, 3),
    (2, 7, 1),
    (3, 33, 4),
    (9, 64, 3),
    (7, 96, 1),
]
"""Rows, units and gates: few units, partly filled registers, several tiles of rows."""


def cell(gates: int) -> ScalarRegion:
    """Two states: each sum times its gate's input, and that plus a state times a number."""

    def body(b, *values):
        sums, entering = values[:gates], values[gates : 2 * gates]
        hidden, state, number = values[2 * gates :]
        total = hidden
        for a, x in zip(sums, entering, strict=True):
            total = b.addf(total, b.mulf(a, x))
        return total, b.addf(b.mulf(state, number), total)

    return ScalarRegion.trace(body, [f32] * (2 * gates + 3))


def packed(weights: np.ndarray, shape: StepShape, target: Target) -> np.ndarray:
    """The packed weights; whatever was there before is overwritten."""
    outs = [np.full(shape.packed_elements(target), n, weights.dtype) for n in (1, 2)]
    for out in outs:
        pack_recurrence(weights, shape, target, out)
    np.testing.assert_array_equal(*outs)
    return outs[0]


@pytest.mark.parametrize("target", [TARGET, PRESETS["avx2"]], ids=["host", "avx2"])
@pytest.mark.parametrize(("rows", "units", "gates"), SHAPES)
@pytest.mark.parametrize("widens", [False, True])
def test_step(rows: int, units: int, gates: int, widens: bool, target: Target) -> None:
    if widens and units % 2:
        units += 1
    shape = StepShape(rows, units, gates, widens)
    spec = RecurrenceSpec(shape, cell(gates), (True, False))
    weights = normal(units, gates * units)
    bits = (weights.view(np.uint32) >> 16).astype(np.uint16)
    if widens:
        weights = (bits.astype(np.uint32) << 16).view(np.float32)
    stored = packed(bits if widens else weights, shape, target)
    entering, hidden = normal(rows, gates, units), normal(rows, units)
    state, number = normal(rows, units), normal(units)
    outputs = [np.full((rows, units), np.nan, np.float32) for _ in range(2)]
    found = run_kernel(
        build_recurrence(spec, target),
        outputs,
        [entering, hidden, stored, state, number],
        target,
    )
    sums = (hidden.astype(np.float64) @ weights).reshape(rows, gates, units)
    total = hidden + (sums * entering).sum(axis=1)
    assert relative_error(found[0], total) < 2e-6
    assert relative_error(found[1], state * number + total) < 2e-6


def test_a_state_may_be_updated_in_place() -> None:
    shape = StepShape(7, 41, 4)
    kernel = build_recurrence(RecurrenceSpec(shape, cell(4), (True, False)), TARGET)
    call = compile_function(kernel.function, target=TARGET)
    weights = packed(normal(41, 164), shape, TARGET)
    entering, hidden, state, number = (
        normal(7, 4, 41),
        normal(7, 41),
        normal(7, 41),
        normal(41),
    )
    new, other = np.empty_like(hidden), np.empty_like(state)
    inputs = (entering, hidden, weights)
    call(new, other, *inputs, state, number, 0, kernel.work_items)
    again = np.empty_like(hidden)
    call(again, state, *inputs, state, number, 0, kernel.work_items)
    assert state.tobytes() == other.tobytes()
    assert again.tobytes() == new.tobytes()


@pytest.mark.parametrize("name", ["avx512", "avx2", "neon"])
@pytest.mark.parametrize(("rows", "gates"), [(1, 4), (1, 3), (1, 1), (3, 4), (16, 3)])
def test_tiles_fit_the_registers(name: str, rows: int, gates: int) -> None:
    target, shape = PRESETS[name], StepShape(rows, 512, gates)
    sums = shape.tile_rows(target) * gates * shape.blocks(target)
    assert shape.tile_rows(target) == 1 or sums < target.num_vector_registers
    assert shape.whole_blocks(target) % shape.blocks(target) == 0
    assert shape.work_items(target) >= 8
