"""Register tiles: what limits their steps together, and how loops of small ones are written."""

import pytest
from xdsl.dialects.builtin import bf16, f32, i8

from glow.backends.cpu.kernels.matmul.matmul import build_matmul
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.winograd.kernel import (
    build_winograd_phase,
    winograd_phases,
)
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import choose_winograd_tiling
from glow.backends.cpu.tiling.tiles import TileModel, has_small_tiles
from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.kernel import Kernel
from glow.lowering.target.target import Target

NARROW, WIDE = (Target.from_string(cpu) for cpu in ("znver3", "znver4"))


def multiply_adds(kernel: Kernel) -> int:
    """Those of whole tiles in the text of a kernel."""
    every = (op for op in kernel.function.walk() if op.name == "vector.fma")
    return sum(len(types.shape_of(op.results[0])) == 3 for op in every)


def test_tiles_are_small_where_floats_have_few_registers_of_x86() -> None:
    assert has_small_tiles(f32, NARROW)
    assert has_small_tiles(bf16, NARROW)
    assert not has_small_tiles(i8, NARROW)
    others = ("znver4", "neon", "wasm", "cortex-m55")
    assert not any(has_small_tiles(f32, Target.from_string(each)) for each in others)


@pytest.mark.parametrize(("depth", "rest"), [(64, 0), (67, 3), (2, 2)])
def test_steps_of_small_tiles_follow_each_other_in_a_loop(
    depth: int, rest: int
) -> None:
    spec = MatmulSpec(64, 3 * NARROW.lanes(32), depth)
    steps = 4 if depth > rest else 0
    assert multiply_adds(build_matmul(spec, NARROW)) == steps + rest
    wide = MatmulSpec(64, 2 * WIDE.lanes(32), depth)
    assert multiply_adds(build_matmul(wide, WIDE)) == 1


def test_a_fused_winograd_kernel_of_small_tiles_asks_for_no_weights() -> None:
    """Weights of 590 KiB exceed half of the second cache of the one, and of the other with more."""
    for target, channels, steps in ((NARROW, 64, 8), (WIDE, 128, 1)):
        spec = WinogradSpec(1, channels, 64, (56, 56), lanes=target.lanes(32))
        tiling = choose_winograd_tiling(spec, target)
        assert tiling.fused
        assert not tiling.has_resident_weights
        assert tiling.config.prefetch == (target is WIDE)
        (phase,) = winograd_phases(spec, target)
        kernel = build_winograd_phase("kernel", phase, target)
        assert multiply_adds(kernel) == steps * len(tiling.parts)


def test_limits_that_are_equal_take_an_eighth_more_than_one_alone() -> None:
    """Twelve sums are multiply-adds, fourteen of one block as many loads, and eight wait."""
    model = TileModel(16, NARROW.vector_bytes, NARROW)
    cycles = {(p, b): model.step_cycles(p, b) for p, b in ((4, 3), (14, 1), (2, 4))}
    assert 6 < cycles[4, 3] < 6.2
    assert 8.3 < cycles[14, 1] < 9
    assert 4 * 2 ** (1 / 6) < cycles[2, 4] < 4.8


def test_one_row_of_small_tiles_asks_for_no_weights() -> None:
    """Weights of 9 MiB pass by once and in order."""
    for target in (NARROW, WIDE):
        row, rows = (MatmulSpec(count, 3072, 768) for count in (1, 64))
        assert row.fetches_weights(target)
        assert row.choose_config(target).prefetch == (target is WIDE)
        assert row.shared_config(target).prefetch == (target is WIDE)
        assert rows.choose_config(target).prefetch == 1
        names = [op.name for op in build_matmul(row, target).function.walk()]
        assert ("memref.prefetch" in names) == (target is WIDE)
