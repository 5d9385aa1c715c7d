"""Work on bytes for many threads, in the simulator: the interpreter's bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.byte_windows import (
    bytes_of,
    depthwise,
    random_byte_window,
    sum_pool,
    tensor,
)
from support.gpu.instruction_cases import TARGET, InstructionCase, same_bits

from glow.backends.cuda.ptx import gpu_kernels_ptx

RANDOM = np.random.default_rng


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(60))
def test_a_random_window_has_the_interpreters_bits(number: int) -> None:
    same_bits(random_byte_window(number))


@pytest.mark.gpu
@pytest.mark.parametrize("value", [0, 255])
def test_sums_of_the_largest_products_do_not_saturate(value: int) -> None:
    image, result = (1, 1, 5, 5, 16), (1, 1, 5, 5, 16)
    options = "kernel [3, 3] pads [1, 1, 1, 1]"
    case = depthwise(RANDOM(0), image, result, [3, 3], options)
    case.inputs[0][:], case.inputs[1][:] = value, -128
    same_bits(case)


@pytest.mark.gpu
@pytest.mark.parametrize("signed", [False, True])
def test_maxima_of_the_smallest_bytes_are_no_padding(signed: bool) -> None:
    """Windows with one pixel of an image, and images of one pixel."""
    dtype, element = (np.int8, "i8") if signed else (np.uint8, "ui8")
    for side in (1, 3):
        image = np.full((1, 1, side, side, 16), np.iinfo(dtype).min, dtype)
        text = "glow.max_pool2d %0 kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1]"
        result = (side - 1) // 2 + 1
        type_ = tensor((1, 1, result, result, 16), element)
        same_bits(InstructionCase(text, [type_], [image]))


@pytest.mark.gpu
def test_means_of_planes_are_shared_by_lanes() -> None:
    image = bytes_of(RANDOM(0), (1, 2, 7, 7, 16))
    case = sum_pool(RANDOM(2), image, (1, 2, 1, 1, 16), "kernel [7, 7]")
    assert "shuffle" in str(case.kernels[0].module)
    same_bits(case)


def test_neighbours_read_bytes_side_by_side() -> None:
    """A warp has 32 of a row's 112 pixels; at the row's ends it reads parts of sectors."""
    image, options = (1, 1, 4, 112, 16), "kernel [1, 1]"
    case = depthwise(RANDOM(0), image, image, [1, 1], options)
    _, report = case.simulate()
    assert report.uncoalesced_sectors <= 64


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_windows_of_bytes_assemble(gpu_name: str, tmp_path: Path) -> None:
    padded = "kernel [3, 3] pads [1, 1, 1, 1]"
    bytes_, result = bytes_of(RANDOM(0), (8, 6, 56, 56, 16)), (8, 6, 56, 56, 16)
    node, types = f"glow.max_pool2d %0 {padded}", [tensor(result, "ui8")]
    cases = [
        depthwise(RANDOM(1), bytes_.shape, result, [3, 3], padded),
        depthwise(RANDOM(0), (1, 6, 14, 14, 16), (1, 6, 14, 14, 16), [3, 3], padded),
        InstructionCase(node, types, [bytes_]),
        sum_pool(RANDOM(2), bytes_[..., :7, :7, :], (8, 6, 1, 1, 16), "kernel [7, 7]"),
    ]
    kernels = [kernel for case in cases for kernel in case.kernels]
    text = gpu_kernels_ptx(kernels, TARGET)
    for entry in text.split(".visible .entry ")[1:]:
        assert "ld.global.nc.b8" not in entry
        assert "ld.global.nc.u8" not in entry
        assert "st.global.b8" not in entry
        assert "st.global.u8" not in entry
    assert all(one.spills == 0 for one in assemble(text, gpu_name, tmp_path))
