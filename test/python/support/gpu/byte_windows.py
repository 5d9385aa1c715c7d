"""Random windows over bytes: depthwise convolutions, sums and maxima, each with its node."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.gpu.instruction_cases import InstructionCase, type_of

Array = np.ndarray[Any, Any]

SATURATED = """
  %low = arith.constant 0.0 : f32
  %cut = arith.maximumf %number, %low : f32
  %high = arith.constant 255.0 : f32
  %in_range = arith.minimumf %cut, %high : f32
  %whole = math.roundeven %in_range : f32
  %word = arith.fptosi %whole : f32 to i32
  %byte = arith.trunci %word : i32 to i8
  %stored = builtin.unrealized_conversion_cast %byte : i8 to ui8
  glow.yield %stored
}"""
"""A number as an unsigned byte."""

SCALED = """{
^bb0(%sum: i32, %scale: f32, %other: ui8):
  %wide = arith.sitofp %sum : i32 to f32
  %scaled = arith.mulf %wide, %scale : f32
  %bits = builtin.unrealized_conversion_cast %other : ui8 to i8
  %more = arith.uitofp %bits : i8 to f32
  %number = arith.addf %scaled, %more : f32"""
"""Sums times a scale of each channel, and a byte of each result."""

MEAN = """{
^bb0(%sum: i32):
  %wide = arith.sitofp %sum : i32 to f32
  %factor = arith.constant 0.0205105729 : f32
  %number = arith.mulf %wide, %factor : f32"""


def bytes_of(
    random: np.random.Generator, shape: tuple[int, ...], signed: bool = False
) -> Array:
    """All bytes, the smallest and the largest ones often."""
    low, high = (-128, 128) if signed else (0, 256)
    some = random.integers(low, high, shape)
    ends = np.where(random.integers(0, 2, shape), low, high - 1)
    chosen = np.where(random.integers(0, 4, shape) == 0, ends, some)
    return chosen.astype(np.int8 if signed else np.uint8)


def random_byte_window(number: int) -> InstructionCase:
    """The window of a number: of each kind, strides, pads, lanes, zero points, signs."""
    random = np.random.default_rng(number)
    kernel = random.integers(1, 5 if number % 4 else 9, 2)
    dilations = random.integers(1, 3, 2) if number % 5 == 0 else np.ones(2, int)
    strides = random.integers(1, 4, 2)
    pads = np.minimum(random.integers(0, 3, 4), int(kernel.min()) - 1)
    reach = (kernel - 1) * dilations + 1
    size = reach + random.integers(0, 12, 2)
    images, blocks = (int(x) for x in random.integers(1, 4, 2))
    lanes = int(random.choice([4, 8, 16]))
    image = (images, blocks, *map(int, size), lanes)
    windows = (size + pads[:2] + pads[2:] - reach) // strides + 1
    result = (images, blocks, *map(int, windows), lanes)
    attributes = (
        f"strides {strides.tolist()} pads {pads.tolist()} "
        f"dilations {dilations.tolist()}"
    )
    options = f"kernel {kernel.tolist()} {attributes}"
    kind = ("multiply", "sum", "max")[number % 3]
    if kind == "multiply":
        return depthwise(random, image, result, kernel.tolist(), options)
    signed = bool(random.integers(0, 2))
    values = bytes_of(random, image, signed)
    if kind == "sum":
        return sum_pool(random, values, result, options)
    element = "i8" if signed else "ui8"
    text = f"glow.max_pool2d %0 {options}"
    if random.integers(0, 4):
        return InstructionCase(text, [tensor(result, element)], [values])
    # A plain image, whose pixels have a channel each.
    plain = np.ascontiguousarray(values[..., 0])
    return InstructionCase(text, [tensor(result[:-1], element)], [plain])


def tensor(shape: tuple[int, ...], element: str) -> str:
    """The text of a type."""
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def depthwise(
    random: np.random.Generator,
    image: tuple[int, ...],
    result: tuple[int, ...],
    kernel: list[int],
    options: str,
) -> InstructionCase:
    """A depthwise convolution, half of them with an epilogue that saturates."""
    _, blocks, *_, lanes = image
    point = int(random.choice([0, 3, 128, 255]))
    weights = bytes_of(random, (blocks, *kernel, lanes), signed=True)
    bias = random.integers(-(2**12), 2**12, (blocks, lanes)).astype(np.int32)
    inputs = [bytes_of(random, image), weights, bias]
    head = f"cpu.int8_depthwise_conv2d %0, %1, %2{{}} zero_point {point} {options}"
    if random.integers(0, 2):
        return InstructionCase(head.format(""), [tensor(result, "i32")], inputs)
    scales = random.uniform(1e-3, 1e-1, (1, blocks, 1, 1, lanes)).astype(np.float32)
    inputs += [scales, bytes_of(random, result)]
    text = f"{head.format(', %3, %4')} {SCALED}{SATURATED}"
    return InstructionCase(text, [type_of(inputs[-1])], inputs)


def sum_pool(
    random: np.random.Generator, image: Array, result: tuple[int, ...], options: str
) -> InstructionCase:
    """The sums of windows, or means as bytes."""
    low, high = np.iinfo(image.dtype).min, np.iinfo(image.dtype).max
    point = int(random.choice([0, 3, low, high]))
    text = f"cpu.int8_sum_pool2d %0 zero_point {point} {options}"
    if random.integers(0, 2):
        return InstructionCase(text, [tensor(result, "i32")], [image])
    text = f"{text} {MEAN}{SATURATED}"
    return InstructionCase(text, [tensor(result, "ui8")], [image])
