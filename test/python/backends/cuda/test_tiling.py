"""Tiles by arithmetic: they fit the machine, and are as ptxas sees them.

Where `ptxas` is installed, kernels of small networks are assembled; `python -m
benchmarks.devices.ptx` does it for those of full size.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import bf16, f16, f32, i8
from xdsl.ir import Attribute

from benchmarks.devices.ptx import kernels_of, program_of
from benchmarks.networks import TINY_NETWORKS
from glow.backends.cuda.assembler import find_ptxas
from glow.backends.cuda.kernels.contraction_spec import Precision, WarpgroupTile
from glow.backends.cuda.product import Product
from glow.backends.cuda.tiling import MOST_COPIES, choose_tile, tile_cost
from glow.lowering.target.gpu_machine import GPU_MACHINES
from glow.options import CompileOptions

FORMATS: list[tuple[Attribute, Precision]] = [
    (f32, "exact"), (f32, "default"), (f32, "fast"), (bf16, "exact"), (i8, "exact")
]  # fmt: skip
SHAPES = [(4096, 4096, 4096), (1, 4096, 4096), (16, 4096, 4096), (49, 512, 4608)]


@pytest.mark.parametrize("gpu", GPU_MACHINES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_tile_fits_the_machine(gpu: str, shape: tuple[int, int, int]) -> None:
    machine = GPU_MACHINES[gpu]
    for element, precision in FORMATS:
        product = Product(1, *shape, element, precision)
        tile = choose_tile(product, machine)
        cost = tile_cost(product, tile, machine)
        assert cost is not None
        assert cost.registers <= machine.thread_registers
        assert cost.shared_bytes <= machine.static_shared_bytes
        rate = machine.multiply_adds.of(product.format) * machine.multiprocessors
        least = shape[0] * shape[1] * shape[2] * product.products / rate
        assert cost.seconds >= least / machine.clock_hz


def test_few_rows_have_small_tiles_and_many_blocks() -> None:
    machine = GPU_MACHINES["sm_90"]
    for rows in (1, 16):
        tile = choose_tile(Product(1, rows, 4096, 4096, bf16), machine)
        assert tile.rows == 16
        assert 4096 // tile.columns > machine.multiprocessors // 4
    large = choose_tile(Product(1, 4096, 4096, 4096, bf16), machine)
    assert min(large.rows, large.columns) >= 64


@pytest.mark.parametrize("number", range(3))
def test_warpgroups_multiply_what_is_large(number: int) -> None:
    """Where tensor maps reach both factors; their tiles are those of the largest shared memory."""
    element, precision = [(bf16, "exact"), (f16, "exact"), (f32, "fast")][number]
    machine, other = GPU_MACHINES["sm_90a"], GPU_MACHINES["sm_90"]
    large = Product(1, 4096, 4096, 4096, element, precision, None, True)
    tile = choose_tile(large, machine)
    assert isinstance(tile, WarpgroupTile)
    assert (tile.rows, tile.columns) == (128, 256)
    cost = tile_cost(large, tile, machine)
    assert cost is not None
    assert machine.static_shared_bytes < cost.shared_bytes <= machine.block_shared_bytes
    plain = tile_cost(large, choose_tile(large, other), other)
    assert plain is not None
    assert cost.seconds < 0.75 * plain.seconds
    for product in (
        replace(large, has_maps=False),
        replace(large, m=16),
        replace(large, element=f32, precision="default"),
        replace(large, element=i8),
    ):
        assert not isinstance(choose_tile(product, machine), WarpgroupTile)


def test_elements_by_themselves_take_more_copies() -> None:
    """So that tiles of images without blocks are smaller, or have more threads."""
    machine = GPU_MACHINES["sm_80"]
    whole = Product(1, 12544, 64, 147, f32, "default", (4, 4))
    single = Product(1, 12544, 64, 147, f32, "default", (1, 4))
    sizes = [choose_tile(product, machine) for product in (whole, single)]
    rows = [tile.rows * tile.depth / tile.threads for tile in sizes]
    assert rows[1] <= MOST_COPIES
    assert rows[1] <= rows[0]


@pytest.mark.parametrize("name", ["bert", "lstm"])
@pytest.mark.parametrize("gpu", ["sm_80", "sm_90"])
def test_the_assembler_says_what_the_model_does(
    name: str, gpu: str, tmp_path: Path
) -> None:
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    path = tmp_path / "network.onnx"
    path.write_bytes(TINY_NETWORKS[name]().SerializeToString())
    program = program_of(path, CompileOptions("cuda", gpu))
    kernels = list(kernels_of(program, gpu, ptxas))
    assert all(kernel.assembled.spills == 0 for kernel in kernels)
    known = [(kernel.assembled, kernel.cost) for kernel in kernels if kernel.cost]
    assert known
    for found, cost in known:
        assert found.shared_bytes == cost.shared_bytes
        assert found.registers <= 1.25 * cost.registers
