"""Batched int8 matmuls with dynamic operands, in the simulator: the interpreter's bits.

Where `ptxas` is installed, it assembles them.

Mutants: a kernel without one of its barriers, waits, swizzles or products is found.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.host_kernels import host_kernels
from support.gpu.instruction_cases import same_bits
from support.gpu.int8_batch_matmul import (
    Int8BatchMatmul,
    Product,
    product_case,
    product_in,
    random_product,
)
from support.gpu.mutants import changed, removed, without
from support.gpu.simulated_networks import compare
from xdsl.ir import Operation

from glow import GlowError
from glow.backends.cpu.program.program import Invocation
from glow.backends.cuda.kernels.contraction_spec import GpuTile
from glow.backends.cuda.product import product_of
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.selection import threads_of
from glow.backends.cuda.selection.choice import Choice
from glow.backends.cuda.selection.common import ThreadRequest
from glow.backends.cuda.tiling import tile_cost
from glow.dialects.arith import XOrIOp
from glow.dialects.gpu import gpu, nvgpu
from glow.interpreter.simt import run_kernel
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target
from glow.options import CompileOptions


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(40))
def test_a_random_product_has_the_interpreters_bits(number: int) -> None:
    """Factors in any order of axes, of both signs, with zero points that are 0 and others."""
    case = random_product(number)
    same_bits(case)


@pytest.mark.gpu
@pytest.mark.parametrize("value", [0, 255])
def test_sums_of_the_largest_products_do_not_saturate(value: int) -> None:
    sizes = Product((5, 4100), (4100, 6), ((0, 1), (1, 0), (0, 1)), (255 - value, 255))
    case = product_case(0, sizes, None)
    case.inputs[0][:], case.inputs[1][:] = value, 255 - value
    same_bits(case)


@pytest.mark.gpu
def test_parts_of_the_depth_have_the_zero_points() -> None:
    sizes = Product(
        (16, 8192), (8192, 40), ((0, 1), (0, 1), (0, 1)), epilogue="bytes of operands"
    )
    case = product_case(0, sizes, None)
    labels = [call.kernel.label for call in case.calls]
    assert labels == ["contraction", "part_sums"]
    same_bits(case)


ORDERS = {"rows of the depth": (1, 0), "rows along m and n": (0, 1)}
"""Of the two axes of A [k, m] and B [k, n], the one which lies first."""
TILE = GpuTile(32, 32, 32, (2, 1), 3)


def small(name: str) -> Int8BatchMatmul:
    """Some steps of the depth, and several blocks."""
    first, second = ORDERS[name]
    orders = ((second, first), (first, second), (0, 1))
    return product_case(0, Product((48, 160), (160, 80), orders), TILE)


@pytest.mark.parametrize("kind", [gpu.BarrierOp, nvgpu.WaitOp])
@pytest.mark.parametrize("name", ORDERS)
def test_a_missing_barrier_or_wait_is_found(name: str, kind: type[Operation]) -> None:
    case = small(name)
    mutants = list(removed(kind, case.kernel))
    assert mutants
    for function in mutants:
        with pytest.raises(GlowError, match=r"race: |nobody waited"):
            run_kernel(function, case.buffers())


@pytest.mark.parametrize("name", ORDERS)
def test_a_missing_swizzle_is_found(name: str) -> None:
    case = small(name)
    (whole,), report = case.simulate()
    buffers = case.buffers()
    plain = run_kernel(without(case.kernel, XOrIOp), buffers)
    assert np.array_equal(buffers[0], whole)
    assert plain.bank_conflicts > report.bank_conflicts == 0


@pytest.mark.parametrize("name", ORDERS)
def test_a_missing_product_is_found(name: str) -> None:
    """Of fragments with each other, and with ones: sums that remain as they were."""
    case = small(name)
    mutants = list(changed(nvgpu.MmaSyncOp, case.kernel))
    rows, columns = TILE.warp_rows // 16, TILE.warp_columns // 8
    assert len(mutants) == rows * columns + rows + columns
    for function, op in mutants:
        op.res.replace_all_uses_with(op.c)
        op.detach()
        op.erase()
        buffers = case.buffers()
        run_kernel(function, buffers)
        assert not np.array_equal(buffers[0], case.expected()[0])


def attention(name: str, is_signed: bool, words: int) -> Int8BatchMatmul:
    """Of 12 heads of 64 numbers: queries times keys, or weights times values."""
    point = 0 if is_signed else 120
    if name == "scores":
        shapes = (1, 12, words, 64), (1, 12, 64, words)
        orders = (0, 2, 1, 3), (0, 3, 1, 2), (0, 1, 2, 3)
        sizes = Product(*shapes, orders, (138, point), is_signed, "numbers")
    else:
        shapes = (1, 12, words, words), (1, 12, words, 64)
        orders = (0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 1, 3)
        sizes = Product(*shapes, orders, (0, point), is_signed, "bytes")
    return product_case(0, sizes, None)


KINDS = {
    ("scores", False): {"u8.u8", "u8.s8", "s8.u8"},
    ("scores", True): {"u8.s8", "s8.s8"},
    ("values", False): {"u8.u8", "u8.s8"},
    ("values", True): {"u8.s8"},
}
"""The matmul itself, and the sums of rows and of columns."""


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("words", [128, 131, 512])
@pytest.mark.parametrize(("name", "is_signed"), KINDS)
def test_products_of_attention_assemble(
    name: str, is_signed: bool, words: int, gpu_name: str, tmp_path: Path
) -> None:
    """By tensor cores, without spills, with the memory and about the registers of the model."""
    case, machine = attention(name, is_signed, words), GPU_MACHINES[gpu_name]
    calls = threads_of(case.instruction, Choice(machine))
    assert not isinstance(calls, str)
    (request,) = (call.kernel for call in calls if isinstance(call, Invocation))
    assert isinstance(request, ThreadRequest)
    target = Target.from_string(gpu_name)
    kernel, spec = request.build_threads("product", target), product_in(request)
    text = gpu_kernels_ptx([kernel], target)
    found = re.findall(r"mma\.sync\S*\.s32\.([su]8\.[su]8)\.s32", text)
    assert set(found) == KINDS[name, is_signed]
    assert "ldmatrix" in text
    (assembled,) = assemble(text, gpu_name, tmp_path)
    cost = tile_cost(product_of(spec), spec.tile, machine)
    assert cost is not None
    assert assembled.spills == 0
    assert assembled.registers <= 1.1 * cost.registers
    assert assembled.shared_bytes == cost.shared_bytes


NETWORK = """
!q = tensor<2x9x3x16x!quant.uniform<u8:f32, 0.03125:POINT>>
!v = tensor<2x3x9x16x!quant.uniform<u8:f32, 0.03125:POINT>>
!k = tensor<2x3x16x9x!quant.uniform<u8:f32, 0.03125:POINT>>
!s = tensor<2x3x9x9x!quant.uniform<u8:f32, 0.125:128>>
func.func @main(%x: tensor<2x9x3x16xf32>, %y: tensor<2x9x3x16xf32>) -> tensor<2x3x9x16xf32> {
  %0 = quant.qcast %x : tensor<2x9x3x16xf32> to !q
  %1 = quant.qcast %y : tensor<2x9x3x16xf32> to !q
  %2 = glow.transpose %0 permutation [0, 2, 1, 3] : !v
  %3 = glow.transpose %1 permutation [0, 2, 3, 1] : !k
  %4 = glow.transpose %1 permutation [0, 2, 1, 3] : !v
  %5 = glow.matmul %2, %3 : !s
  %6 = glow.matmul %5, %4 : !v
  %7 = quant.dcast %6 : !v to tensor<2x3x9x16xf32>
  func.return %7 : tensor<2x3x9x16xf32>
}
"""


@pytest.mark.gpu
def test_a_network_of_computed_factors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Scores of queries and keys times values; no kernel of slices is left."""
    path, random = tmp_path / "network.mlir", np.random.default_rng(0)
    path.write_text(NETWORK.replace("POINT", "120"))
    inputs = {
        name: random.standard_normal((2, 9, 3, 16)).astype(np.float32) for name in "xy"
    }
    kernels = host_kernels(path, CompileOptions("cuda", "sm_80"))
    assert not [name for name in kernels if "_entry" in name]
    compare(monkeypatch, path, inputs, {}, 0, {"contraction"})
