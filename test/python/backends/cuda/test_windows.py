"""Pools and depthwise convolutions for many threads, in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.mutants import without
from support.gpu.window_cases import TARGET, random_window, window_case

from glow.backends.cuda.kernels.window_spec import WindowTile
from glow.backends.cuda.kernels.windows import build_windows
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.window_tiling import choose_tile, seconds_of
from glow.dialects.gpu import gpu
from glow.interpreter.simt import run_kernel
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.gpu_machine import GPU_MACHINES

RANDOM = np.random.default_rng


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(40))
def test_a_random_window_is_the_interpreters(number: int) -> None:
    case = random_window(number)
    result, _ = case.simulate()
    np.testing.assert_allclose(result, case.expected(), rtol=2e-5, atol=2e-5)


@pytest.mark.gpu
def test_maxima_and_means_keep_nan_and_infinity() -> None:
    window = Window((5, 5), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1))
    for kind in ("max", "average"):
        case = window_case(RANDOM(0), kind, window, WindowTile(2))
        case.inputs[0][0, 0, 1, 1], case.inputs[0][0, 3, 4, 4] = np.nan, -np.inf
        result, _ = case.simulate()
        np.testing.assert_allclose(result, case.expected(), rtol=1e-5)


@pytest.mark.gpu
def test_weights_of_infinity_meet_no_padding() -> None:
    """0 times infinity is NaN, and there is no 0 around an image."""
    window = Window((3, 3), (3, 3), pads=(1, 1, 1, 1))
    case = window_case(RANDOM(1), "multiply", window, WindowTile())
    case.inputs[0][:] = 1
    case.inputs[1][:, 0, 0, 0] = np.inf
    result, _ = case.simulate()
    assert np.isinf(result).any()
    assert not np.isnan(result).any()


def test_neighbours_read_side_by_side() -> None:
    """Of a pool of pixels that are all read once, no sector is read in vain."""
    window = Window((16, 16), (2, 2), (2, 2))
    for tile in (WindowTile(), WindowTile(2)):
        _, report = window_case(RANDOM(2), "max", window, tile).simulate()
        assert report.bank_conflicts == 0
    window = Window((8, 32), (1, 3))
    _, report = window_case(RANDOM(2), "average", window, WindowTile()).simulate()
    # What is not aligned to sectors of 32 bytes takes one more of each warp's load and store.
    assert report.uncoalesced_sectors <= 4 * 2 * 8 * 2


def test_lanes_that_exchange_nothing_are_found() -> None:
    case = window_case(RANDOM(3), "average", Window((7, 7), (7, 7)), WindowTile(1, 32))
    buffers = case.buffers()
    run_kernel(without(case.kernel, gpu.ShuffleOp), buffers)
    assert np.abs(buffers[0] - case.expected()).max() > 0.1


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_tiles_are_chosen_by_what_there_is_to_do(name: str) -> None:
    """Lanes share the taps of few results; pixels of many share columns."""
    machine = GPU_MACHINES[name]
    means = window_case(
        RANDOM(0), "average", Window((7, 7), (7, 7)), WindowTile(), (1, 8, 4)
    )
    assert choose_tile(means.spec, machine) == WindowTile(1, 32)
    window = Window((56, 56), (3, 3), pads=(1, 1, 1, 1))
    many = window_case(RANDOM(0), "multiply", window, WindowTile(), (8, 36, 4)).spec
    assert choose_tile(many, machine).pixels > 1
    moved = 2 * 4 * 8 * 144 * 56 * 56
    assert seconds_of(many, machine) >= moved / machine.dram_bytes_per_second


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_windows_assemble(gpu_name: str, tmp_path: Path) -> None:
    window = Window((56, 56), (3, 3), pads=(1, 1, 1, 1))
    cases = [
        window_case(RANDOM(1), "multiply", window, WindowTile(4), (1, 36, 4)),
        window_case(RANDOM(1), "max", window, WindowTile(4), (1, 36, 4)),
        window_case(RANDOM(1), "multiply", window, WindowTile(), (1, 8, 4), 4),
        window_case(RANDOM(1), "average", Window((7, 7), (7, 7)), WindowTile(1, 32)),
        window_case(RANDOM(1), "max", Window((40, 40), (13, 13)), WindowTile()),
    ]
    kernels = [
        build_windows(case.spec, TARGET, f"windows{number}")
        for number, case in enumerate(cases)
    ]
    text = gpu_kernels_ptx(kernels, TARGET)
    entries = text.split(".visible .entry ")[1:]
    loads = [entry.count("ld.global") for entry in entries]
    wide = [
        entry.count("ld.global.nc.v4") + entry.count("ld.global.v4")
        for entry in entries
    ]
    assert wide == loads
    assert loads[1] == 18  # Three rows of six columns.
    assert all(one.spills == 0 for one in assemble(text, gpu_name, tmp_path))
