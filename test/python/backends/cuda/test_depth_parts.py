"""Products in parts of their depth: sums of the parts, in the simulator or on a GPU."""

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
    conv_case,
    error_of,
    fixed_matmul,
)
from xdsl.dialects.builtin import f32

from glow.backends.cuda.depth_tiling import PARTS, choose_parts, depth_parts
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    MatrixFactor,
    MatrixResult,
)
from glow.backends.cuda.kernels.depth_parts import (
    PartSumsSpec,
    build_part_sums,
    part_product,
)
from glow.backends.cuda.product import product_of
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.tiling import choose_tile
from glow.interpreter import simt
from glow.lowering.target.gpu_machine import GPU_MACHINES


def in_parts(case: Case, parts: int) -> np.ndarray:
    """What the kernels of the parts and of their sums write."""
    product, sums = part_product(case.spec, parts), PartSumsSpec(case.spec, parts)
    kernels = [
        build_contraction(product, TARGET, "contraction"),
        build_part_sums(sums, TARGET, "part_sums"),
    ]
    result, a, b, *operands = case.buffers()
    scratch = np.full(sums.sums.get_shape(), np.nan, np.float32)
    for kernel, buffers in zip(
        kernels, ([scratch, a, b], [result, scratch, *operands]), strict=True
    ):
        kernel.module.verify()
        report = simt.run_kernel(kernel.function, buffers)
        assert report.bank_conflicts == 0
    return result


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(20))
def test_a_random_matmul_is_the_interpreters(number: int) -> None:
    """Of all formats and epilogues, batches, and rows and columns of any extent."""
    random = np.random.default_rng(number)
    batch, m, n = (int(x) for x in random.integers(1, (3, 42, 42)))
    parts, finish = int(random.choice([2, 3, 4])), list(FINISHES)[number % 6]
    sizes = (batch, m, 4 * n if number % 2 else n, 8 * parts * (1 + number % 5))
    is_k_last = tuple(bool(x) for x in random.integers(0, 2, 2))
    case = fixed_matmul(number, sizes, is_k_last, finish)
    # Sums that the epilogue rounds to f16 are added up in another order.
    tolerance = max(2 * case.tolerance, 1e-3 if finish == "half" else 0)
    assert error_of(case, in_parts(case, parts)) < tolerance


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(2, 34, 3))
def test_a_random_convolution_is_the_interpreters(number: int) -> None:
    """Windows with pads, strides and groups: a part begins at any tap."""
    case = conv_case(number, "channel")
    copied = max(factor.width for factor in (case.spec.a, case.spec.b))
    parts = next((p for p in (2, 3, 5) if case.spec.k % (p * copied) == 0), 1)
    assert error_of(case, in_parts(case, parts)) < 2 * case.tolerance


def product(m: int, n: int, k: int, machine: str = "sm_90") -> ContractionSpec:
    """A product of f32 by three TF32, with its tile."""
    a, b = (MatrixFactor(1, extent, k, True, f32) for extent in (m, n))
    case = fixed_matmul(1, (1, 16, 16, 16), (True, True))
    result = MatrixResult(1, m, n)
    spec = replace(case.spec, m=m, n=n, k=k, a=a, b=b, result=result)
    spec = replace(spec, precision="default")
    tile = choose_tile(product_of(spec), GPU_MACHINES[machine])
    return replace(spec, tile=tile)


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_parts_are_for_few_blocks(name: str) -> None:
    """A deep product of few results has parts, and one that fills the GPU has none."""
    machine = GPU_MACHINES[name]
    deep = choose_parts(product(49, 128, 4608, name), machine)
    assert deep is not None
    assert deep.parts in PARTS
    assert choose_parts(product(4096, 4096, 4096, name), machine) is None
    assert choose_parts(product(49, 512, 64, name), machine) is None
    assert list(depth_parts(product(49, 512, 60, name))) == []


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_sums_assemble(gpu_name: str, tmp_path: Path) -> None:
    """Four results a thread, read 16 bytes at a time."""
    sums = choose_parts(product(49, 512, 4608), GPU_MACHINES["sm_90"])
    assert sums is not None
    text = gpu_kernels_ptx([build_part_sums(sums, TARGET, "part_sums")], TARGET)
    assert text.count("ld.global") == text.count("v4.b32") - 1 == sums.parts
    (found,) = assemble(text, gpu_name, tmp_path)
    assert found.spills == 0
