"""Products for many threads compute what the interpreter computes, in the simulator.

Mutants: a kernel without one of its barriers, waits or swizzles is found.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.gpu.contraction_cases import (
    FORMATS,
    TARGET,
    conv_case,
    error_of,
    fixed_matmul,
    random_case,
)
from support.gpu.mutants import removed, without
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import Operation

from glow import GlowError
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    MatrixFactor,
    MatrixResult,
)
from glow.dialects.arith import XOrIOp
from glow.dialects.gpu import gpu, nvgpu
from glow.interpreter.simt import run_kernel


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(20))
def test_a_random_product_is_the_interpreters(number: int) -> None:
    case = random_case(number)
    result, report = case.simulate()
    assert error_of(case, result) < case.tolerance
    assert report.bank_conflicts == 0


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(len(FORMATS)))
def test_a_nan_stays_in_its_row(number: int) -> None:
    """Also that of all bits, which GPUs make and rounding carries into zero."""
    case = fixed_matmul(number, (1, 5, 20, 36), (True, True))
    case.inputs[0].view(np.int32)[0, 3, 7] = 0x7FFFFFFF
    result, _ = case.simulate()
    assert np.isnan(result[0]).all(axis=1).tolist() == [row == 3 for row in range(5)]
    assert np.isnan(result[0]).any(axis=1).tolist() == [row == 3 for row in range(5)]


@pytest.mark.gpu
def test_bytes_are_multiplied_exactly() -> None:
    m, n, k = 35, 21, 72
    a, b = MatrixFactor(1, m, k, True, i8), MatrixFactor(1, n, k, True, i8)
    tile = GpuTile(32, 32, 32, (2, 1))
    spec = ContractionSpec(1, m, n, k, a, b, MatrixResult(1, m, n), tile)
    random = np.random.default_rng(0)
    x, y = (random.integers(-128, 128, (1, e, k)).astype(np.int8) for e in (m, n))
    result = np.zeros((1, m, n), np.int32)
    kernel = build_contraction(spec, TARGET, "bytes")
    report = run_kernel(kernel.function, [result, x, y])
    assert np.array_equal(result[0], x[0].astype(np.int32) @ y[0].astype(np.int32).T)
    assert report.bank_conflicts == 0


MUTATED = {
    "threads": lambda: fixed_matmul(0, (1, 33, 32, 35), (True, True)),
    "threads, columns": lambda: fixed_matmul(0, (2, 32, 36, 36), (False, False)),
    "words": lambda: fixed_matmul(1, (1, 40, 24, 40), (True, False)),
    "matrices": lambda: fixed_matmul(3, (1, 30, 33, 72), (True, True)),
    "matrices, columns": lambda: fixed_matmul(4, (1, 24, 40, 66), (False, False)),
    "image": lambda: conv_case(32, "none"),
}
"""A kernel of each way to read tiles, some tiles deep."""


@pytest.mark.parametrize("kind", [gpu.BarrierOp, nvgpu.WaitOp])
@pytest.mark.parametrize("name", MUTATED)
def test_a_missing_barrier_or_wait_is_found(name: str, kind: type[Operation]) -> None:
    case = MUTATED[name]()
    mutants = list(removed(kind, case.kernel))
    assert mutants
    for function in mutants:
        with pytest.raises(GlowError, match=r"race: |nobody waited"):
            run_kernel(function, case.buffers())


@pytest.mark.parametrize("name", ["threads", "words", "matrices", "matrices, columns"])
def test_a_missing_swizzle_is_found(name: str) -> None:
    case = MUTATED[name]()
    whole, report = case.simulate()
    buffers = case.buffers()
    plain = run_kernel(without(case.kernel, XOrIOp), buffers)
    assert np.array_equal(buffers[0], whole)
    assert plain.bank_conflicts > report.bank_conflicts == 0


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_reads_kernels() -> None:
    texts = [
        str(ModuleOp([random_case(number).kernel.module.clone()])) + "\n"
        for number in range(6)
    ]
    for printed in mlir_opt_each(texts):
        assert "nvgpu.device_async_wait" in printed
        assert "kernel attributes" in printed
