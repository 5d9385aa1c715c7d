"""Numbers as bytes, in one node: the reference's bits, and those of the steps it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

import glow
from glow.compiler import context
from glow.interpreter import run
from glow.lowering.target.program_target import settle_target

ELEMENTS = {"i32": np.int32, "f32": np.float32, "ui8": np.uint8, "f64": np.float64}
RESULTS = {"ui8": np.uint8, "i8": np.int8}
SHAPES = [(0,), (1,), (7,), (3, 5, 33), (2, 1, 4, 65)]
SPECIAL = [np.nan, np.inf, -np.inf, 0.5, 1.5, -0.5, -2.5, 1e30, -0.0]


def numbers(element: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Sums, halves and what is no number, as far as the type has them."""
    random = np.random.default_rng(seed)
    if element == "ui8":
        return random.integers(0, 256, shape).astype(np.uint8)
    wide = random.integers(-(1 << 20), 1 << 20, shape)
    if element == "i32":
        return wide.astype(np.int32)
    found = (wide / 4096).astype(ELEMENTS[element])
    found.reshape(-1)[: len(SPECIAL)] = SPECIAL[: found.size]
    return found


def steps(x: np.ndarray, multiplier: np.ndarray, low: float, high: float) -> np.ndarray:
    """The formula of docs/quantization.md, step by step."""
    scaled = x.astype(np.float32) * multiplier
    whole = np.rint(np.minimum(np.maximum(scaled, np.float32(low)), np.float32(high)))
    return np.where(np.isnan(whole), 0, whole).astype(np.int32)


def types(x: np.ndarray, element: str) -> str:
    """The type of a tensor of that shape."""
    return f"tensor<{''.join(f'{size}x' for size in x.shape)}{element}>"


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("by", ["one", "channel", "nothing"])
def test_bytes_of_numbers(
    element: str, result: str, shape: tuple[int, ...], by: str
) -> None:
    x = numbers(element, shape, len(shape))
    point = 3 if result == "ui8" else -5
    limits = np.iinfo(RESULTS[result])
    low, high = limits.min - point, limits.max - point
    extent = shape[-1] if by == "channel" else 1
    m = np.linspace(1e-4, 0.9, extent, dtype=np.float32)
    operand = "" if by == "nothing" else ", %m"
    source, kind = types(x, element), types(x, result)
    text = f"""func.func @main(%x: {source}, %m: {types(m, "f32")}) -> {kind} {{
      %0 = cpu.requantize %x{operand} low {low:.1f} high {high:.1f} zero_point {point} : {kind}
      func.return %0 : {kind}
    }}"""
    module = Parser(context(), text).parse_module()
    with np.errstate(all="ignore"):
        factors = np.ones(1, np.float32) if by == "nothing" else m
        expected = (steps(x, factors, low, high) + point).astype(RESULTS[result])
        (reference,) = run(module, [x, m])
    np.testing.assert_array_equal(reference, expected)
    for target in ("host", "avx2", "scalar"):
        module.attributes.pop("glow.target", None)
        settle_target(module, target)
        compiled = glow.compile(module, threads=1, target=target)
        np.testing.assert_array_equal(compiled(x, m), expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("point", [0, 139])
def test_bytes_of_bytes(shape: tuple[int, ...], point: int) -> None:
    x = numbers("ui8", shape, len(shape))
    m = np.linspace(-0.9, 0.9, shape[-1], dtype=np.float32)
    a = np.linspace(200, 1, shape[-1], dtype=np.float32)
    source, kind, bounds = types(x, "ui8"), types(m, "f32"), "low -7.0 high 248.0"
    text = f"""func.func @main(%x: {source}, %m: {kind}, %a: {kind}) -> {source} {{
      %0 = cpu.requantize %x, %m, %a {bounds} zero_point 7 input_zero_point {point} : {source}
      func.return %0 : {source}
    }}"""
    module = Parser(context(), text).parse_module()
    scaled = (x.astype(np.float32) - np.float32(point)) * m + a
    expected = (np.rint(np.clip(scaled, -7, 248)) + 7).astype(np.uint8)
    (reference,) = run(module, [x, m, a])
    np.testing.assert_array_equal(reference, expected)
    for target in ("host", "avx2", "scalar"):
        module.attributes.pop("glow.target", None)
        settle_target(module, target)
        compiled = glow.compile(module, threads=1, target=target)
        np.testing.assert_array_equal(compiled(x, m, a), expected)
