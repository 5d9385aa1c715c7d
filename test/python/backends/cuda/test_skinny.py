"""Products of few rows by warps that have some columns each, in the simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.contraction_cases import (
    FINISHES,
    TARGET,
    Case,
    error_of,
    fixed_matmul,
)
from support.gpu.mutants import removed
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute

from glow import GlowError
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    MatrixFactor,
    MatrixResult,
    Precision,
)
from glow.backends.cuda.kernels.skinny import WARPS, SkinnySpec, build_skinny
from glow.backends.cuda.product import product_of
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.skinny_tiling import choose_skinny, registers_of, seconds_of
from glow.backends.cuda.tiling import choose_tile, tile_cost
from glow.dialects.gpu import gpu
from glow.interpreter.simt import run_kernel
from glow.lowering.target.gpu_machine import GPU_MACHINES


def skinny_of(case: Case, columns: int, shares_depth: bool) -> SkinnySpec:
    """The product of a case, cut in that way."""
    whole = columns * (1 if shares_depth else WARPS)
    tile = GpuTile(case.spec.m, whole, 32, (1, WARPS), 2)
    return SkinnySpec(replace(case.spec, tile=tile), columns, shares_depth)


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_a_random_product_is_the_interpreters(number: int) -> None:
    """Of all formats and epilogues, batches, odd sizes; what is read lies side by side."""
    random = np.random.default_rng(number)
    m, n = int(random.choice([1, 2, 3, 5, 16])), int(random.integers(1, 40))
    k = int(random.integers(1, 700)) if number % 3 else 8 * int(random.integers(1, 90))
    finish, sizes = list(FINISHES)[number % len(FINISHES)], (1 + number % 2, m, n, k)
    case = fixed_matmul(number, sizes, (True, True), finish)
    spec = skinny_of(case, int(random.choice([1, 2, 4])), number % 2 == 0)
    kernel = build_skinny(spec, TARGET, "skinny")
    kernel.module.verify()
    result, report = case.simulate(kernel)
    # Products of f16 of the interpreter's sums are rounded to f16 where the epilogue does.
    assert error_of(case, result) < max(case.tolerance, 2e-6)
    assert report.bank_conflicts == 0


def test_results_are_rounded_one_by_one() -> None:
    """To f16, of which tiles round two at once."""
    case = fixed_matmul(0, (1, 2, 9, 64), (True, True), "half")
    kernel = build_skinny(skinny_of(case, 1, False), TARGET, "skinny")
    assert "cvt.rn.f16.f32" in gpu_kernels_ptx([kernel], TARGET)


def test_lanes_read_side_by_side() -> None:
    """All but the store of a few results takes no more sectors than its bytes fill."""
    case = fixed_matmul(0, (1, 1, 16, 1024), (True, True))
    kernel = build_skinny(skinny_of(case, 4, False), TARGET, "skinny")
    _, report = case.simulate(kernel)
    assert report.uncoalesced_sectors == 0


@pytest.mark.parametrize("shares_depth", [False, True])
def test_a_missing_barrier_or_exchange_is_found(shares_depth: bool) -> None:
    case = fixed_matmul(0, (1, 3, 9, 512), (True, True))
    kernel = build_skinny(skinny_of(case, 2, shares_depth), TARGET, "skinny")
    (function,) = removed(gpu.BarrierOp, kernel)
    with pytest.raises(GlowError, match="race: "):
        run_kernel(function, case.buffers())


@pytest.mark.gpu
def test_sums_do_not_depend_on_the_grid() -> None:
    """Columns of a warp change no sum: each is added up in one order."""
    case = fixed_matmul(0, (1, 2, 24, 515), (True, True))
    results = [
        case.simulate(build_skinny(skinny_of(case, c, False), TARGET, "skinny"))[0]
        for c in (1, 2, 4)
    ]
    assert all(np.array_equal(results[0], each) for each in results[1:])


def large(
    m: int, n: int, k: int, element: Attribute, precision: Precision
) -> ContractionSpec:
    """A product of few rows with weights in rows, as it is chosen for sm_90."""
    a, b = (MatrixFactor(1, extent, k, True, element) for extent in (m, n))
    tile = GpuTile(16, 16, 16, (1, 1))
    spec = ContractionSpec(1, m, n, k, a, b, MatrixResult(1, m, n), tile, precision)
    return replace(spec, tile=choose_tile(product_of(spec), GPU_MACHINES["sm_90"]))


FORMATS: list[tuple[Attribute, Precision]] = [(f32, "default"), (bf16, "exact")]


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_few_rows_are_bound_by_memory(name: str) -> None:
    """By the model at least nine tenths of what DRAM sends, and never slower than tiles."""
    machine = GPU_MACHINES[name]
    for element, precision in FORMATS:
        product = large(1, 4096, 4096, element, precision)
        spec = choose_skinny(product, machine)
        assert spec is not None
        moved = product_of(product).operand_bytes / machine.dram_bytes_per_second
        assert seconds_of(spec, machine) <= moved / 0.9
        assert choose_skinny(large(17, 4096, 4096, element, precision), machine) is None
        for rows in (2, 8, 16):
            product = large(rows, 1000, 2048, element, precision)
            spec, tiled = choose_skinny(product, machine), product_of(product)
            cost = tile_cost(tiled, product.tile, machine)
            assert cost is not None
            assert spec is None or seconds_of(spec, machine) <= cost.seconds


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_skinny_products_assemble(gpu_name: str, tmp_path: Path) -> None:
    """Loads of 16 bytes, no spills, registers near those of the model."""
    specs = [
        choose_skinny(large(m, n, 2048, element, precision), GPU_MACHINES["sm_90"])
        for element, precision in FORMATS
        for m, n in ((1, 4096), (1, 500), (4, 4096))
    ]
    chosen = [spec for spec in specs if spec is not None]
    assert len(chosen) == len(specs)
    made = [build_skinny(spec, TARGET, f"skinny{k}") for k, spec in enumerate(chosen)]
    text = gpu_kernels_ptx(made, TARGET)
    for entry in text.split(".visible .entry ")[1:]:
        assert entry.count("ld.global") == entry.count("ld.global.nc.v4")
    found = {one.name: one for one in assemble(text, gpu_name, tmp_path)}
    for number, spec in enumerate(chosen):
        assert found[f"skinny{number}"].spills == 0
        assert found[f"skinny{number}"].registers <= 1.25 * registers_of(spec)
