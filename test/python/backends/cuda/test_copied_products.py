"""Products of warpgroups whose tiles threads copy, in the simulator: convolutions of blocks compute
what a sum over the taps does, bytes bit for bit.

Where `ptxas` is installed, it assembles them.

Mutants: a kernel without one of its fences, waits, barriers, groups or the swizzle is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.copied_cases import (
    TARGET,
    Convolution,
    CopiedCase,
    conv_case,
    matmul_case,
    random_conv_case,
    random_matmul_case,
)
from support.gpu.mutants import changed, copy_of, erase, removed
from support.gpu.simulated_networks import compare
from support.programs.upstream import ABSENT, find_mlir_opt, mlir_opt_each
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Operation

from glow import GlowError
from glow.backends.cuda import assembler, tiling
from glow.backends.cuda.kernels import contraction
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    WarpgroupTile,
)
from glow.backends.cuda.kernels.copied_contraction import build_copied
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.product import Product, product_of
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.tiling import choose_tile, tile_cost
from glow.backends.cuda.warpgroup_tiling import warpgroup_tiles
from glow.dialects import arith
from glow.dialects.gpu import gpu, nvgpu, nvvm, wgmma
from glow.dialects.gpu.matrix_descriptor import MatrixDescriptor
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(32))
def test_a_random_convolution_is_a_sum_over_the_taps(number: int) -> None:
    case = random_conv_case(number)
    result, report = case.simulate()
    assert case.error(result) <= case.tolerance
    assert report.bank_conflicts == 0


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_a_random_product_is_exact(number: int) -> None:
    case = random_matmul_case(number)
    result, report = case.simulate()
    assert case.error(result) <= case.tolerance
    assert report.bank_conflicts == 0


def small() -> CopiedCase:
    """Five steps of the depth through three stages, of a window with pads."""
    window = Window((6, 7), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1))
    return conv_case(2, Convolution(1, 1, 32, 64, window), (1, 1, 64, 3), "relu")


FOUND: dict[type[Operation], str] = {
    wgmma.FenceProxyOp: "race: reads what a thread wrote, without a fence between",
    wgmma.FenceOp: "takes sums that no fence has ordered before it",
    wgmma.CommitGroupOp: "writes what a product may still|sums of a product that nobody",
    nvvm.WaitGroupOp: "writes what a product may still|sums of a product that nobody",
    nvgpu.WaitOp: "reads what is copied, and nobody waited for the copy",
    gpu.BarrierOp: "race: reads what a thread wrote, without a barrier",
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
    case = small()
    for function, op in changed(nvvm.WaitGroupOp, case.kernel):
        op.group = IntegerAttr(op.group.value.data + 1, i64)
        with pytest.raises(GlowError, match=FOUND[nvvm.WaitGroupOp]):
            run_kernel(function, case.buffers())


def test_a_wait_for_too_few_copies_is_found() -> None:
    case = small()
    for function, op in changed(nvgpu.WaitOp, case.kernel):
        op.num_groups = IntegerAttr(op.num_groups.value.data + 1, i32)
        with pytest.raises(GlowError, match=FOUND[nvgpu.WaitOp]):
            run_kernel(function, case.buffers())


def test_a_fence_behind_the_barrier_is_found() -> None:
    """A warpgroup does not know that the others have come so far."""
    case = small()
    ((function, op),) = changed(wgmma.FenceProxyOp, case.kernel)
    barrier = op.next_op
    assert isinstance(barrier, gpu.BarrierOp)
    op.detach()
    barrier.parent.insert_op_after(op, barrier)
    with pytest.raises(GlowError, match=FOUND[gpu.BarrierOp]):
        run_kernel(function, case.buffers())


def test_a_fence_before_the_wait_is_found() -> None:
    """Copies write when they are there, which is when they have been waited for."""
    case = small()
    ((function, op),) = changed(wgmma.FenceProxyOp, case.kernel)
    wait = op.prev_op
    assert isinstance(wait, nvgpu.WaitOp)
    op.detach()
    wait.parent.insert_op_before(op, wait)
    with pytest.raises(GlowError, match=FOUND[wgmma.FenceProxyOp]):
        run_kernel(function, case.buffers())


def test_a_missing_swizzle_gives_other_results() -> None:
    case = small()
    function = copy_of(case.kernel)
    swizzles = [op for op in function.walk() if isinstance(op, arith.XOrIOp)]
    assert swizzles
    for op in swizzles:
        erase(op)
    buffers = case.buffers()
    run_kernel(function, buffers)
    assert case.error(buffers[0]) > 0.1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (MatrixDescriptor(0, swizzle=0), "which is not simulated"),
        (MatrixDescriptor(0, stride=1 << 17), "reads outside of shared memory"),
        (MatrixDescriptor(128), "which is not simulated"),
    ],
)
def test_a_wrong_descriptor_is_found(wrong: MatrixDescriptor, said: str) -> None:
    """Tiles begin where rows repeat, eight rows are 1024 bytes, and chunks change places."""
    case = small()
    function = copy_of(case.kernel)
    right = IntegerAttr(MatrixDescriptor(0).signed_bits, i64)
    (constant,) = (
        op
        for op in function.walk()
        if isinstance(op, arith.ConstantOp) and op.value == right
    )
    constant.properties["value"] = IntegerAttr(wrong.signed_bits, i64)
    with pytest.raises(GlowError, match=said):
        run_kernel(function, case.buffers())


LAYERS: dict[str, tuple[Convolution, tuple[int, int, int, int]]] = {
    "3x3": (
        Convolution(2, 1, 256, 256, Window((14, 14), (3, 3), pads=(1, 1, 1, 1))),
        (2, 1, 256, 4),
    ),
    "1x1": (Convolution(2, 1, 512, 128, Window((28, 28), (1, 1))), (2, 2, 128, 4)),
    "strides, tails": (
        Convolution(
            3, 1, 144, 272, Window((29, 31), (3, 3), (2, 2), pads=(1, 0, 1, 2))
        ),
        (2, 2, 128, 3),
    ),
    "groups, dilations": (
        Convolution(
            2, 2, 136, 272, Window((28, 27), (3, 3), (1, 1), (2, 2), (2, 2, 2, 2))
        ),
        (2, 1, 256, 4),
    ),
    "narrow": (
        Convolution(2, 1, 64, 64, Window((56, 56), (3, 3), pads=(1, 1, 1, 1))),
        (1, 2, 64, 3),
    ),
}
"""Convolutions with the sizes of their tiles."""


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("layer", LAYERS)
def test_the_assembler_says_what_the_model_does(
    number: int, layer: str, tmp_path: Path
) -> None:
    """Of one TF32, f16, bf16 and bytes; products run beside what follows."""
    case = conv_case(number, *LAYERS[layer], "full")
    text = gpu_kernels_ptx([case.kernel], TARGET)
    (assembled,) = assemble(text, "sm_90a", tmp_path)
    cost = tile_cost(product_of(case.spec), case.spec.tile, GPU_MACHINES["sm_90a"])
    assert cost is not None
    assert assembled.spills == 0
    assert assembled.registers <= 1.2 * cost.registers
    given = assembled.shared_bytes + case.kernel.dynamic_bytes
    assert given == case.kernel.shared_bytes == cost.shared_bytes
    ptxas = assembler.find_ptxas()
    assert ptxas is not None
    said = assembler.run_assembler(ptxas, text, "sm_90a", tmp_path).stderr
    assert "(C7" not in said  # Serialized, or with waits that the assembler adds.


@pytest.mark.parametrize("number", range(4))
def test_the_assembly_has_hoppers_instructions(number: int) -> None:
    names = (
        "k8.f32.tf32.tf32",
        "k16.f32.f16.f16",
        "k16.f32.bf16.bf16",
        "k32.s32.u8.s8",
    )
    case = conv_case(number, *LAYERS["3x3"])
    text = gpu_kernels_ptx([case.kernel], TARGET)
    words = (
        rf"wgmma.mma_async\S*\.m64n256{names[number]} ", "wgmma.fence", "wgmma.commit_group",
        r"wgmma.wait_group\S* 1", r"wgmma.wait_group\S* 0", "fence.proxy.async.shared::cta",
    )  # fmt: skip
    found = [len(re.findall(rf"^\s*{word}", text, re.MULTILINE)) for word in words]
    steps = found[1]  # Some loops have their first step apart.
    assert found == [4 * steps, steps, steps, steps, 1, steps]
    assert ".version 8.4" in text
    assert "callseq" not in text


def test_small_products_keep_tiles_of_warps() -> None:
    machine = GPU_MACHINES["sm_90a"]
    large = conv_case(2, *LAYERS["3x3"]).spec
    small_one = conv_case(
        2, Convolution(1, 1, 32, 64, Window((6, 7), (3, 3))), (1, 1, 64, 3)
    ).spec
    tile = choose_tile(product_of(small_one), machine)
    assert not isinstance(tile, WarpgroupTile)
    product = Product(
        1, 32 * 28 * 28, 128, 1152, large.element, is_copied_to_warpgroups=True
    )
    tile = choose_tile(product, machine)
    assert isinstance(tile, WarpgroupTile)
    assert not tile.is_mapped
    assert not isinstance(choose_tile(product, GPU_MACHINES["sm_90"]), WarpgroupTile)


@pytest.fixture
def warpgroups_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Of products that warpgroups multiply, no other tiles: small ones have faster ones."""
    others = tiling.tiles

    def tiles(product: Product) -> Iterator[GpuTile]:
        if not any(True for _ in warpgroup_tiles(product, GPU_MACHINES["sm_90a"])):
            yield from others(product)

    built: list[str] = []

    def build(spec: ContractionSpec, target: Target, name: str) -> GpuKernel:
        built.append(name)
        return build_copied(spec, target, name)

    monkeypatch.setattr(tiling, "tiles", tiles)
    monkeypatch.setattr(contraction, "build_copied", build)
    tiling.choose_tile.cache_clear()
    yield
    tiling.choose_tile.cache_clear()
    assert built


FLOATS = """
func.func @main(%x: tensor<2x72x9x8xf32>) -> tensor<2x64x5x4xf32> {
  %w = glow.constant dense<0.25> : tensor<72x72x3x3xf32>
  %b = glow.constant dense<-0.5> : tensor<72xf32>
  %v = glow.constant dense<0.125> : tensor<64x72x1x1xf32>
  %0 = glow.conv2d %x, %w, %b pads [1, 1, 1, 1] : tensor<2x72x9x8xf32>
  %1 = glow.sigmoid %0 : tensor<2x72x9x8xf32>
  %2 = glow.conv2d %1, %v strides [2, 2] : tensor<2x64x5x4xf32>
  func.return %2 : tensor<2x64x5x4xf32>
}
"""
BYTES = """
!image = tensor<2x128x9x8x!quant.uniform<u8:f32, 0.03125:POINT>>
!result = tensor<2x64x9x8x!quant.uniform<u8:f32, 1.0:128>>
!weights = tensor<64x128x3x3x!quant.uniform<i8:f32, 0.0078125>>
func.func @main(%x: tensor<2x128x9x8xf32>) -> tensor<2x64x9x8xf32> {
  %w = glow.constant dense<WEIGHTS> : tensor<64x128x3x3xi8> as !weights
  %0 = quant.qcast %x : tensor<2x128x9x8xf32> to !image
  %1 = glow.conv2d %0, %w pads [1, 1, 1, 1] : !result
  %2 = quant.dcast %1 : !result to tensor<2x64x9x8xf32>
  func.return %2 : tensor<2x64x9x8xf32>
}
"""


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 2e-3), ("bf16", 2e-2)])
@pytest.mark.usefixtures("warpgroups_alone")
def test_a_network_of_convolutions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, precision: str, tolerance: float
) -> None:
    path = tmp_path / "network.mlir"
    path.write_text(FLOATS)
    x = np.random.default_rng(0).standard_normal((2, 72, 9, 8)).astype(np.float32)
    given = {"target": "sm_90a", "precision": precision}
    compare(monkeypatch, path, {"x": x}, given, tolerance, {"contraction"})


@pytest.mark.parametrize("point", [0, 77])
@pytest.mark.usefixtures("warpgroups_alone")
def test_a_network_of_bytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, point: int
) -> None:
    """Unsigned bytes times signed ones, padded with the zero point."""
    path = tmp_path / "network.mlir"
    random = np.random.default_rng(0)
    weights = str(random.integers(-128, 128, (64, 128, 3, 3)).tolist())
    path.write_text(BYTES.replace("POINT", str(point)).replace("WEIGHTS", weights))
    x = 2 * random.standard_normal((2, 128, 9, 8)).astype(np.float32)
    compare(monkeypatch, path, {"x": x}, {"target": "sm_90a"}, 0, {"contraction"})


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_upstream_reads_kernels() -> None:
    cases = [random_conv_case(number) for number in range(4)]
    cases += [matmul_case(3, (1, 70, 24, 232), (1, 1, 16, 3))]
    texts = [str(ModuleOp([case.kernel.module.clone()])) + "\n" for case in cases]
    for printed in mlir_opt_each(texts):
        assert len(re.findall("nvvm.wgmma.mma_async", printed)) % 4 == 0
        assert "nvvm.fence.proxy" in printed
