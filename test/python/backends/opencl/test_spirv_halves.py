"""Halves in SPIR-V: words of their bits, computed as floats, without capabilities for them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.kernels.device_code import KERNEL, capabilities, run_here, validate
from xdsl.dialects.builtin import ModuleOp

from benchmarks.networks import TINY_NETWORKS
from glow.backends.opencl.spirv import kernels_text, module_spirv
from glow.backends.opencl.spirv_halves import without_halves
from glow.compiler import load, lower
from glow.frontends.mlir import parse_text
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.universe import new_context

USUAL = {4, 5, 6, 11, 39}
"""Addresses, linkage, kernels, numbers of 64 and of 8 bits."""
VECTOR16, FLOAT64, INT16 = 7, 10, 22

CONVERSION = """
func.func @f(
  %x: memref<ROWSx{lanes}x{source}>, %y: memref<ROWSx{lanes}x{result}>, %lo: index, %hi: index
) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {{
    %0 = vector.load %x[%i, %c0] : memref<ROWSx{lanes}x{source}>, vector<{lanes}x{source}>
    %1 = arith.{operation} %0 : vector<{lanes}x{source}> to vector<{lanes}x{result}>
    vector.store %1, %y[%i, %c0] : memref<ROWSx{lanes}x{result}>, vector<{lanes}x{result}>
  }}
  func.return
}}
"""
TARGET = Target.from_string("avx512")


def conversion(
    operation: str, source: str, result: str, lanes: int, count: int
) -> ModuleOp:
    """A kernel that converts rows of so many lanes."""
    text = CONVERSION.format(
        operation=operation, source=source, result=result, lanes=lanes
    )
    text = text.replace("ROWS", str(count // lanes))
    return parse_text(new_context(), text, "kernel.mlir")


def converted(module: ModuleOp, x: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """Run a kernel on this machine; its SPIR-V needs words of 16 bits alone."""
    (function,) = module.ops
    text = kernels_text([function], TARGET)
    assert not re.search(r"[ <](half|bfloat)\b", text)
    run_here(text, x, y)
    code = module_spirv(module, TARGET)
    wide = {VECTOR16} if x.shape[1] == 16 else set[int]()
    assert capabilities(code) == {*USUAL, *wide, INT16}
    validate(code, folder)


@pytest.mark.parametrize("lanes", [1, 3, 16])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_every_half_is_its_float(element: str, lanes: int, tmp_path: Path) -> None:
    count = (1 << 16) // lanes * lanes
    x = np.arange(count, dtype=np.uint32).astype(np.uint16).reshape(-1, lanes)
    y = np.empty(x.shape, np.float32)
    converted(conversion("extf", element, "f32", lanes, count), x, y, tmp_path)
    if element == "f16":
        expected = x.view(np.float16).astype(np.float32)
    else:
        expected = (x.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(y, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(
        y.view(np.uint32)[numbers], expected.view(np.uint32)[numbers]
    )


@pytest.mark.parametrize("lanes", [1, 3, 16])
def test_floats_are_rounded_to_the_nearest_half(lanes: int, tmp_path: Path) -> None:
    """All halves, the middles between them and what is beside both; random bits."""
    halves = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    exact = halves.astype(np.float32).view(np.uint32)
    near = [exact + step for step in (0, 0xFFF, 0x1000, 0x1001, 0xFFFFFFFF)]
    random = np.random.default_rng(0)
    words = [*near, random.integers(0, 1 << 32, 1 << 18, np.uint32)]
    small = np.float32(2.0**-26) * np.arange(-5000, 5000, dtype=np.float32)
    x = np.concatenate([*(each.view(np.float32) for each in words), small])
    x = x[: len(x) // lanes * lanes].reshape(-1, lanes)
    y = np.empty(x.shape, np.uint16)
    converted(conversion("truncf", "f32", "f16", lanes, x.size), x, y, tmp_path)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(y.view(np.float16), expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(y[numbers], expected.view(np.uint16)[numbers])


def test_constants_are_words() -> None:
    text = "  %a = select i1 %half, <2 x half> splat (half 0xH3C00), <2 x half> %b"
    words = "  %a = select i1 %half, <2 x i16> splat (i16 15360), <2 x i16> %b"
    assert without_halves(text) == words
    assert (
        without_halves("  store bfloat 0xRBF80, ptr %p") == "  store i16 49024, ptr %p"
    )


@pytest.mark.parametrize(("element", "more"), [("f32", set[int]()), ("f64", {FLOAT64})])
def test_a_module_declares_what_it_has(element: str, more: set[int]) -> None:
    text = KERNEL.format(operation="math.sqrt").replace("f32", element)
    module = parse_text(new_context(), text, "kernel.mlir")
    assert capabilities(module_spirv(module, TARGET)) == {*USUAL, *more}


@pytest.mark.parametrize("precision", ["f32", "bf16", "fp16"])
@pytest.mark.parametrize("target", ["avx2", "avx512bf16"])
def test_the_kernels_of_a_transformer(
    target: str, precision: str, tmp_path: Path
) -> None:
    """Whatever numbers it has: none of their formats needs a driver that knows it."""
    path = tmp_path / "bert.onnx"
    path.write_bytes(TINY_NETWORKS["bert"]().SerializeToString())
    options = CompileOptions("opencl", target, precision=precision)
    code = lower(load(path), "spirv", options)
    assert isinstance(code, bytes)
    assert capabilities(code) <= {*USUAL, VECTOR16, INT16}
    validate(code, tmp_path)
