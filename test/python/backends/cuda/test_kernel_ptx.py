"""Kernels for many threads as PTX: the instructions that they are made for, and no spills.

Where `ptxas` is installed, it assembles them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.gpu.assembler import assemble
from support.gpu.contraction_cases import random_case
from xdsl.dialects.builtin import bf16, f32, i8
from xdsl.ir import Attribute

from glow import GlowError
from glow.backends.cuda.kernels.blocked import BlockedImage, BlockedResult
from glow.backends.cuda.kernels.contraction import build_contraction
from glow.backends.cuda.kernels.contraction_spec import (
    ContractionSpec,
    GpuTile,
    MatrixFactor,
    MatrixResult,
    Precision,
)
from glow.backends.cuda.kernels.gpu_builder import GpuKernel
from glow.backends.cuda.product import product_of
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.selection.common import BiasEpilogue
from glow.backends.cuda.tiling import tile_cost
from glow.dialects import arith
from glow.lowering.loop_builder.scalar_region import RegionEpilogue, ScalarRegion
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.lowering.target.target import Target


def large(element: Attribute, precision: Precision, tile: GpuTile) -> GpuKernel:
    """A product of matrices of 4096 x 4096, the second one transposed where it is of bytes."""
    n = 4096
    a = MatrixFactor(1, n, n, True, element)
    b = MatrixFactor(1, n, n, element == i8, element)
    spec = ContractionSpec(1, n, n, n, a, b, MatrixResult(1, n, n), tile, precision)
    return build_contraction(spec, Target.from_string("sm_80"), "large")


def counts(text: str, *words: str) -> list[int]:
    """How often instructions stand in an assembly."""
    return [len(re.findall(rf"^\s+{word}", text, re.MULTILINE)) for word in words]


LARGE = {
    "bf16": (
        (bf16, "exact", GpuTile(128, 128, 32, (2, 2))),
        "sm_90",
        64,
        "bf16.bf16.f32",
    ),
    "i8": ((i8, "exact", GpuTile(128, 128, 64, (2, 2))), "sm_80", 64, "s32.s8.s8.s32"),
    "3 x tf32": (
        (f32, "default", GpuTile(128, 64, 16, (4, 2))),
        "sm_80",
        48,
        "tf32.tf32",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_tensor_cores_multiply_fragments(name: str, tmp_path: Path) -> None:
    arguments, gpu, products, kind = LARGE[name]
    kernel = large(*arguments)
    text = gpu_kernels_ptx([kernel], Target.from_string(gpu))
    assert counts(text, "mma.sync") == [products]
    assert kind in text
    copies, groups, waits, barriers, matrices = counts(
        text, "cp.async.cg", "cp.async.commit", "cp.async.wait_group", "bar", "ldmatrix"
    )
    # Copies of two stages and an empty group before the loop, those of one in it.
    assert (groups, waits, barriers) == (4, 1, 1)
    assert (copies % 3, matrices > 0) == (0, True)
    (columns,) = counts(text, r"ldmatrix\S*\.trans")
    assert columns == 8 * kind.startswith("bf16")
    (assembled,) = assemble(text, gpu, tmp_path)
    assert assembled.spills == 0
    assert assembled.registers <= 255
    assert assembled.shared_bytes == kernel.shared_bytes


def test_threads_multiply_and_add_in_registers(tmp_path: Path) -> None:
    """Eight loads of 16 bytes of each factor for 256 fused multiply-adds, four steps."""
    kernel = large(f32, "exact", GpuTile(128, 128, 16, (4, 2), 2))
    text = gpu_kernels_ptx([kernel], Target.from_string("sm_80"))
    assert counts(text, "fma.rn.f32", "ld.shared.v4", "st.global.v4") == [1024, 64, 16]
    (assembled,) = assemble(text, "sm_80", tmp_path)
    assert assembled.spills == 0
    assert assembled.registers <= 168
    assert assembled.shared_bytes == kernel.shared_bytes == 32768


def test_kernels_with_tails_assemble(tmp_path: Path) -> None:
    """Convolutions, matmuls and epilogues of all formats; those of f16 without copies, too."""
    for number in (0, 2, 3):
        kernel = random_case(number).kernel
        text = gpu_kernels_ptx([kernel], Target.from_string("sm_80"))
        assert ".func" not in text
        (assembled,) = assemble(text, "sm_80", tmp_path)
        assert (number, assembled.spills) == (number, 0)


def test_a_large_tile_with_a_tail_of_rows_does_not_spill(tmp_path: Path) -> None:
    """A layer of ResNet-50 in bf16: the last 64 rows of the pixels are outside."""
    narrow = ScalarRegion.trace(lambda b, x: b.cast(arith.TruncFOp, x, bf16), [f32])
    image = BlockedImage(1, 1, 64, 8, Window((56, 56), (1, 1)), bf16)
    spec = ContractionSpec(
        1,
        56 * 56,
        256,
        64,
        image,
        MatrixFactor(1, 256, 64, True, bf16),
        BlockedResult(1, 1, 256, 56 * 56, 8),
        GpuTile(128, 128, 32, (2, 2)),
        epilogue=BiasEpilogue(f32, RegionEpilogue(narrow)),
    )
    target = Target.from_string("sm_90a")
    text = gpu_kernels_ptx([build_contraction(spec, target, "layer")], target)
    (assembled,) = assemble(text, "sm_90a", tmp_path)
    cost = tile_cost(product_of(spec), spec.tile, GPU_MACHINES["sm_90a"])
    assert cost is not None
    assert assembled.spills == 0
    assert assembled.registers <= cost.registers


def test_a_gpu_without_asynchronous_copies_is_one_line() -> None:
    with pytest.raises(GlowError, match="threads need sm_80, and the target is sm_75"):
        gpu_kernels_ptx([random_case(0).kernel], Target.from_string("sm_75"))


def test_a_buffer_beyond_indices_is_one_line() -> None:
    n = 32768
    a, b = MatrixFactor(1, n, n, True), MatrixFactor(1, 32, n, False)
    tile = GpuTile(32, 32, 16, (2, 1), 2)
    spec = ContractionSpec(1, n, 32, n, a, b, MatrixResult(1, n, 32), tile)
    target = Target.from_string("sm_80")
    with pytest.raises(GlowError, match="'long' has a buffer of 4294967296 bytes"):
        gpu_kernels_ptx([build_contraction(spec, target, "long")], target)
