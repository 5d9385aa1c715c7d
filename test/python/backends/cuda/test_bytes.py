"""Work on bytes for many threads, in the simulator: the interpreter's bits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.gpu.assembler import assemble
from support.gpu.byte_windows import (
    SATURATED,
    bytes_of,
    depthwise,
    random_byte_window,
    sum_pool,
    tensor,
)
from support.gpu.instruction_cases import TARGET, InstructionCase, same_bits
from xdsl.dialects.builtin import i8

from glow.backends.cuda.kernels.window_spec import WindowsSpec, WindowTile
from glow.backends.cuda.ptx import gpu_kernels_ptx
from glow.backends.cuda.window_tiling import choose_tile
from glow.lowering.loop_builder.window import Window
from glow.lowering.target.gpu_machine import GPU_MACHINES

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


def random_blocks(number: int) -> InstructionCase:
    """Channels to blocks and back, of bytes and of f32, most of them with a tail."""
    random = RANDOM(number)
    images, channels, height, width = (
        int(x) for x in random.integers(1, (4, 40, 10, 10))
    )
    if number == 0:
        images, channels, height, width = 1, 1000, 1, 1
    channels = 3 if number % 9 == 3 else channels
    height = 4 * height if number % 3 == 0 else height
    lanes = (4, 8, 16)[number % 3]
    dtype = (np.uint8, np.int8, np.float32)[number // 2 % 3]
    element = {"uint8": "ui8", "int8": "i8", "float32": "f32"}[np.dtype(dtype).name]
    plain = (images, channels, height, width)
    blocked = (images, -(-channels // lanes), height, width, lanes)
    source, result = (plain, blocked) if number % 2 else (blocked, plain)
    values = bytes_of(random, source, dtype != np.uint8).astype(dtype)
    node = f"pack %0 lanes {lanes}" if number % 2 else f"unpack %0 channels {channels}"
    return InstructionCase(f"cpu.{node}", [tensor(result, element)], [values])


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(36))
def test_random_channels_are_packed_and_unpacked(number: int) -> None:
    """The interpreter's lanes without channels are garbage, the kernel's zeros."""
    case = random_blocks(number)
    ((result,), _), (expected,) = case.simulate(), case.expected()
    if number % 2:
        (*_, lanes), channels = expected.shape, case.inputs[0].shape[1]
        filled = channels % lanes or lanes
        expected[:, -1, :, :, filled:] = 0
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.gpu
def test_bytes_of_an_image_are_packed_four_at_once() -> None:
    """Three planes are read side by side, and blocks of four written."""
    image = bytes_of(RANDOM(0), (1, 3, 32, 32))
    type_ = tensor((1, 1, 32, 32, 4), "ui8")
    case = InstructionCase("cpu.pack %0 lanes 4", [type_], [image])
    assert case.kernels[0].grid == (1024 // 128, 1, 1)
    (result,), report = case.simulate()
    assert np.array_equal(result[0, 0, :, :, :3], image[0].transpose(1, 2, 0))
    assert not result[..., 3].any()
    assert report.uncoalesced_sectors == 0


@pytest.mark.gpu
def test_work_on_elements_has_several_results() -> None:
    text = """glow.fused %0, %1 {
^bb0(%x: f32, %y: f32):
  %a = arith.addf %x, %y : f32
  %b = arith.mulf %a, %y : f32
  glow.yield %a, %b
}"""
    random = RANDOM(0)
    for columns in (1, 7, 8):
        shapes = ((3, columns), (1, columns))
        inputs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
        types = [tensor((3, columns), "f32")] * 2
        same_bits(InstructionCase(text, types, inputs))


def random_rows(number: int) -> tuple[np.ndarray, int]:
    """Rows of a warp and of a block, aligned and not, and the columns that are stored."""
    random = RANDOM(number)
    columns = int(random.integers(1025, 1500) if number % 4 == 3 else number * 7 + 1)
    columns = 4 * columns if number % 2 else columns
    shape = (*(int(x) for x in random.integers(1, 4, 1 + number % 2)), columns)
    x = random.standard_normal(shape) * 10.0 ** random.integers(-3, 4)
    x += random.choice([-3.0, 0.0, 3.0])
    return x.astype(np.float32), columns + int(random.choice([0, 1, 3, 64]))


def quantize_case(x: np.ndarray, columns: int) -> InstructionCase:
    """`cpu.per_row_quantize` of rows."""
    outer = x.shape[:-1]
    types = [
        tensor((*outer, columns), "ui8"),
        tensor((*outer, 1), "f32"),
        tensor((*outer, 1), "i32"),
    ]
    return InstructionCase(f"cpu.per_row_quantize %0 columns {columns}", types, [x])


def range_case(x: np.ndarray) -> InstructionCase:
    """`cpu.row_range` of rows."""
    types = [tensor((*x.shape[:-1], 1), "f32")] * 2
    return InstructionCase("cpu.row_range %0", types, [x])


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_random_rows_are_quantized_as_the_interpreter_does(number: int) -> None:
    x, columns = random_rows(number)
    same_bits(quantize_case(x, columns))
    same_bits(range_case(x))


@pytest.mark.gpu
@pytest.mark.parametrize("columns", [1, 8, 1028])
def test_rows_of_one_number_and_rows_without_a_scale(columns: int) -> None:
    """Zeros, one sign, halves that round to even, infinities, NaN and a span that overflows."""
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, 1e-45]
    x = np.repeat(np.array(values, np.float32)[:, None], columns, 1)
    x[7, columns // 2 :] = -3e38
    halves = np.arange(columns, dtype=np.float32) % 256 + 0.5
    halves[-1] = 255
    mixed = np.where(np.arange(columns) % 2, x, np.roll(x, 1, 0))
    x = np.concatenate([x, halves[None], mixed])
    same_bits(quantize_case(x, columns + 4))
    same_bits(range_case(x))


def random_epilogue(number: int) -> InstructionCase:
    """Softmax and layer norms whose results are bytes, some stored before that, too."""
    random = RANDOM(number)
    columns = int(random.integers(1025, 1500) if number % 4 == 3 else number * 5 + 2)
    columns = 4 * columns if number // 2 % 2 else columns
    shape = (2, int(random.integers(1, 5)), columns)
    x = random.standard_normal(shape).astype(np.float32)
    is_norm, types = number % 2, [tensor(shape, "ui8")]
    inputs, node = [x], "cpu.softmax %0"
    if is_norm:
        inputs += [random.uniform(1, 2, columns).astype(np.float32) for _ in range(2)]
        node = "cpu.layer_norm %0, %1, %2"
    has_operands = number // 4 % 2
    if has_operands:
        inputs += [x, random.uniform(1, 2, columns).astype(np.float32)]
        node = f"{node}, %{len(inputs) - 2}, %{len(inputs) - 1}"
    if is_norm:
        node = f"{node} axis 2 epsilon 1.0e-5"
        types += [tensor(shape, "f32")] * (number // 8 % 2)
    taken, scaled = ("", "%scaled = arith.mulf %x, %factor : f32")
    if has_operands:
        taken = ", %full: f32, %column: f32"
        scaled += "\n%more = arith.mulf %full, %column : f32"
    number_ = "%number = arith.addf %scaled, " + (
        "%more" if has_operands else "%factor"
    )
    body = (
        f"{{\n^bb0(%x: f32{taken}):\n%factor = arith.constant 60.0 : f32\n"
        f"{scaled}\n{number_} : f32{SATURATED}"
    )
    return InstructionCase(f"{node} {body}", types, inputs)


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(24))
def test_random_rows_are_made_bytes(number: int) -> None:
    """Sums are added up in another order: a byte may be the next one."""
    case = random_epilogue(number)
    results, _ = case.simulate()
    (result, *plain), (expected, *wanted) = results, case.expected()
    assert result.dtype == expected.dtype == np.uint8
    difference = np.abs(result.astype(int) - expected)
    assert difference.max() <= 1
    assert difference.mean() < 0.01
    for one, other in zip(plain, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_neighbours_read_bytes_side_by_side() -> None:
    """A warp has 32 of a row's 112 pixels; at the row's ends it reads parts of sectors."""
    image, options = (1, 1, 4, 112, 16), "kernel [1, 1]"
    case = depthwise(RANDOM(0), image, image, [1, 1], options)
    _, report = case.simulate()
    assert report.uncoalesced_sectors <= 64


@pytest.mark.parametrize("name", GPU_MACHINES)
def test_threads_of_small_planes_have_few_channels(name: str) -> None:
    """What a thread does waits for itself; where there are many, they load 16 bytes at once."""
    machine = GPU_MACHINES[name]

    def tile(images: int, side: int, kernel: int) -> WindowTile:
        window = Window((side, side), (kernel, kernel))
        return choose_tile(
            WindowsSpec(images, 6, 16, window, "sum", element=i8), machine
        )

    assert tile(1, 14, 3) == WindowTile(channels=4)
    assert tile(64, 112, 3).channels == 16
    assert tile(1, 7, 7) == WindowTile(1, 32, 4)


@pytest.mark.parametrize("gpu_name", ["sm_80", "sm_90"])
def test_kernels_of_bytes_assemble(gpu_name: str, tmp_path: Path) -> None:
    padded = "kernel [3, 3] pads [1, 1, 1, 1]"
    bytes_, result = bytes_of(RANDOM(0), (8, 6, 56, 56, 16)), (8, 6, 56, 56, 16)
    node, types = f"glow.max_pool2d %0 {padded}", [tensor(result, "ui8")]
    cases = [
        depthwise(RANDOM(1), bytes_.shape, result, [3, 3], padded),
        depthwise(RANDOM(0), (1, 6, 14, 14, 16), (1, 6, 14, 14, 16), [3, 3], padded),
        InstructionCase(node, types, [bytes_]),
        sum_pool(RANDOM(2), bytes_[..., :7, :7, :], (8, 6, 1, 1, 16), "kernel [7, 7]"),
        InstructionCase(
            "cpu.pack %0 lanes 4",
            [tensor((8, 1, 224, 224, 4), "ui8")],
            [bytes_of(RANDOM(0), (8, 3, 224, 224))],
        ),
    ]
    kernels = [kernel for case in cases for kernel in case.kernels]
    text = gpu_kernels_ptx(kernels, TARGET)
    *windows, pack = text.split(".visible .entry ")[1:]
    for entry in windows:
        assert not re.search(r"(ld|st)\.global(\.nc)?\.[bu]8", entry)
    assert len(re.findall(r"ld\.global(?:\.nc)?\.[bu]8", pack)) == 3
    assert "st.global.b32" in pack
    assert all(one.spills == 0 for one in assemble(text, gpu_name, tmp_path))


def test_rows_are_read_by_16_bytes_in_one_trip(tmp_path: Path) -> None:
    """Once for the range, and once to be quantized."""
    x = np.ones((128, 768), np.float32)
    kernels = [*quantize_case(x, 768).kernels, *range_case(x).kernels]
    text = gpu_kernels_ptx(kernels, TARGET)
    quantized, ranges = text.split(".visible .entry ")[1:]
    for entry, count in ((quantized, 2), (ranges, 1)):
        loads = re.findall(r"ld\.global[.a-z0-9]*", entry)
        assert len(loads) == count
        assert all("v4" in load for load in loads)
    assert "st.global.b32" in quantized
    assert all(one.spills == 0 for one in assemble(text, "sm_80", tmp_path))
