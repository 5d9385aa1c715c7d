"""Products of Hopper's warpgroups compute what the interpreter computes, in the simulator.

Where `ptxas` is installed, it assembles them.

Mutants: a kernel without one of its barriers, arrivals, waits, fences, copies or the swizzle is
found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.contraction_cases import Case, error_of
from support.gpu.fake_cuda import ENCODED, FakeCuda
from support.gpu.host_kernels import simulated
from support.gpu.mutants import changed, copy_of, removed
from support.gpu.simulated_networks import compare
from support.gpu.warpgroup_cases import random_warpgroup_case, warpgroup_case
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation

from glow import GlowError
from glow.backends.cuda import driver, tiling
from glow.backends.cuda.cuda_function import open_device
from glow.backends.cuda.driver import CudaDevice, CudaDriver
from glow.backends.cuda.kernel_runner import run_on_device
from glow.backends.cuda.kernels.contraction_spec import GpuTile
from glow.backends.cuda.product import Product, product_of
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.tiling import tile_cost
from glow.backends.cuda.warpgroup_tiling import warpgroup_tiles
from glow.dialects.gpu import bulk_copies, gpu, nvvm, warpgroups
from glow.dialects.gpu.matrix_descriptor import MatrixDescriptor
from glow.interpreter.simt import run_kernel
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(21))
def test_a_random_product_is_the_interpreters(number: int) -> None:
    case = random_warpgroup_case(number)
    result, report = case.simulate()
    assert error_of(case, result) < case.tolerance
    assert report.bank_conflicts == 0


def test_a_descriptor_is_as_the_manual_has_it() -> None:
    """Address 0x2400, eight rows 1024 bytes apart, swizzled by 128: fields in units of 16."""
    found = MatrixDescriptor(0x2400)
    assert found.bits == 1 << 62 | 64 << 32 | 1 << 16 | 0x240
    assert MatrixDescriptor.of(found.bits) == found


def small(number: int = 2) -> Case:
    """Four steps of the depth through two stages."""
    return warpgroup_case(number, (1, 70, 24, 232), (2, 16, 2))


FOUND: dict[type[Operation], str] = {
    bulk_copies.InitOp: "is not ready: nobody gave it a count",
    nvvm.FenceBarriersOp: "no fence has shown to copies",
    gpu.BarrierOp: "race: barrier 0 may not be ready yet",
    bulk_copies.ExpectOp: "waits for a phase that does not end",
    bulk_copies.LoadOp: "waits for a phase that does not end",
    bulk_copies.ArriveOp: "waits for a phase that does not end",
    # Of the warp that copies: tiles are over before anybody looks.
    bulk_copies.TryWaitOp: r"nobody waited for|reads what no tile|does not end",
    nvvm.WaitGroupOp: "reads sums of a product that nobody waited for",
}


@pytest.mark.parametrize("kind", FOUND)
def test_what_is_missing_is_found(kind: type[Operation]) -> None:
    case = small()
    mutants = list(removed(kind, case.kernel))
    assert mutants
    for function in mutants:
        with pytest.raises(GlowError, match=FOUND[kind]):
            run_kernel(function, case.buffers())


def test_a_wait_for_too_few_products_is_found() -> None:
    """Its stage is said to be empty, and a product may still read it."""
    case = small()
    for function, op in changed(warpgroups.MmaOp, case.kernel):
        op.wait_group = IntegerAttr(2, i64)
        with pytest.raises(GlowError, match="race: writes what a product may still"):
            run_kernel(function, case.buffers())


def test_too_few_bytes_expected_are_found() -> None:
    case = small()
    for function, op in changed(bulk_copies.ExpectOp, case.kernel):
        op.operands[1] = op.number
        with pytest.raises(GlowError, match=r"does not end|nobody waited|race: "):
            run_kernel(function, case.buffers())


@pytest.mark.parametrize("number", [0, 1])
def test_a_missing_swizzle_is_found(number: int) -> None:
    """Rows lie plainly, and tensor cores read them swizzled."""
    case = small()
    function = copy_of(case.kernel)
    maps = [
        argument
        for argument in function.body.block.args
        if isinstance(argument.type, bulk_copies.TensorMapType)
    ]
    type_ = bulk_copies.map_of(maps[number])
    words = (type_.l2promo, type_.oob, type_.interleave)
    plain = bulk_copies.TensorMapType(type_.tensor, StringAttr("none"), *words)
    maps[number]._type = plain
    with pytest.raises(GlowError, match="reads a tile that is swizzled by 0 bytes"):
        run_kernel(function, case.buffers())


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_assembly_has_hoppers_instructions(number: int, tmp_path: Path) -> None:
    """Of a large tile: one TF32, f16, bf16; four products a step, no spills."""
    format_, step = [("tf32", 8), ("f16", 16), ("bf16", 16)][number]
    case = warpgroup_case(number, (1, 4096, 4096, 4096), (2, 256, 4))
    text = gpu_kernels_ptx([case.kernel], Target.from_string("sm_90a"))
    assert ".target sm_90a" in text
    product = rf"wgmma.mma_async\S*\.m64n256k{step}\.f32\.{format_}\.{format_} "
    words = (
        product, "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
        "cp.async.bulk.tensor.3d", "mbarrier.init", "mbarrier.try_wait.parity",
        "mbarrier.arrive.expect_tx", r"mbarrier.arrive\.shared", "fence.mbarrier_init",
    )  # fmt: skip
    found = [len(re.findall(rf"^\s*{word}", text, re.MULTILINE)) for word in words]
    assert found == [8, 2, 2, 3, 3, 8, 3, 1, 1, 1]  # A first step is apart.
    assert text.count(".param .align 64 .b8") == 2
    assert "selp.b16" not in text  # A parity is 0 or 1, and not -1.
    (assembled,) = assemble(text, "sm_90a", tmp_path)
    assert assembled.spills == 0
    assert assembled.registers <= 168


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("columns", [64, 256])
def test_the_assembler_says_what_the_model_does(
    number: int, columns: int, tmp_path: Path
) -> None:
    """Of products with epilogues and tails."""
    case = warpgroup_case(number, (1, 500, 1000, 2000), (1, columns, 3), "channel")
    cost = tile_cost(product_of(case.spec), case.spec.tile, GPU_MACHINES["sm_90a"])
    text = gpu_kernels_ptx([case.kernel], Target.from_string("sm_90a"))
    (assembled,) = assemble(text, "sm_90a", tmp_path)
    assert cost is not None
    assert assembled.spills == 0
    assert assembled.registers <= 1.25 * cost.registers
    given = assembled.shared_bytes + case.kernel.dynamic_bytes
    assert given == case.kernel.shared_bytes == cost.shared_bytes


@pytest.fixture
def warpgroups_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of products that warpgroups multiply, no other tiles: small ones have faster ones."""
    others = tiling.tiles

    def tiles(product: Product) -> Iterator[GpuTile]:
        if not any(True for _ in warpgroup_tiles(product, GPU_MACHINES["sm_90a"])):
            yield from others(product)

    monkeypatch.setattr(tiling, "tiles", tiles)
    tiling.choose_tile.cache_clear()
    yield
    tiling.choose_tile.cache_clear()


NETWORK = """
func.func @main(%x: tensor<70x64xf32>) -> tensor<70x80xf32> {
  %w = glow.constant dense<0.25> : tensor<64x72xf32>
  %v = glow.constant dense<-0.5> : tensor<72x80xf32>
  %0 = glow.matmul %x, %w : tensor<70x72xf32>
  %1 = glow.sigmoid %0 : tensor<70x72xf32>
  %2 = glow.matmul %1, %v : tensor<70x80xf32>
  func.return %2 : tensor<70x80xf32>
}
"""


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({"numerics": "fast"}, 2e-3),
        ({"precision": "fp16"}, 2e-3),
        ({"precision": "bf16"}, 2e-2),
    ],
)
@pytest.mark.usefixtures("warpgroups_alone")
def test_a_network_has_tensor_maps_of_its_buffers(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: dict[str, str],
    tolerance: float,
) -> None:
    path = tmp_path / "network.mlir"
    path.write_text(NETWORK)
    x = np.random.default_rng(0).random((70, 64), np.float32)
    before, wanted = len(ENCODED), {"contraction"}
    given = {"target": "sm_90a", **options}
    compare(monkeypatch, path, {"x": x}, given, tolerance, wanted)
    assert len(ENCODED) == before + 4


def test_a_kernel_runs_on_a_device_with_its_maps() -> None:
    case = small()
    library = FakeCuda({"contraction": simulated(case.kernel)})
    opened = CudaDriver(library)
    buffers = case.buffers()
    run_on_device(CudaDevice(opened, opened.facts(0)), case.kernel, buffers)
    assert error_of(case, buffers[0]) < case.tolerance
    assert library.calls.count("cuTensorMapEncodeTiled") == 2


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"gpu": (10, 0)}, "is sm_100, which does not run code for sm_90a"),
        ({"version": 11080}, r"is of CUDA 11\.8, and the kernels' PTX needs 12\.4"),
    ],
)
def test_code_of_one_gpu_alone_is_refused_by_others(
    monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(driver, "driver_library", lambda: FakeCuda({}, **facts))
    with pytest.raises(GlowError, match=said):
        open_device(0, "sm_90a")


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_reads_kernels() -> None:
    texts = [
        str(ModuleOp([random_warpgroup_case(number).kernel.module.clone()])) + "\n"
        for number in range(3)
    ]
    for printed in mlir_opt_each(texts):
        assert "nvgpu.warpgroup.mma" in printed
        assert len(re.findall("nvgpu.tma.async.load", printed)) in (2, 3)
