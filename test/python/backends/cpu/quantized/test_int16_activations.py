"""Products of activations of 16 bits: native code has the interpreter's bits."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

import glow
from glow.compiler import lower_to
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.universe import new_context

KINDS = {"u16": 12345, "i16": -77}
"""Stored integers and their zero points."""

CONVOLUTIONS = {
    "pointwise": ((1, 9, 5, 6), (20, 9, 1, 1), "", (20, 5, 6)),
    "padded": ((2, 5, 7, 6), (17, 5, 3, 3), "pads [1, 1, 1, 1]", (17, 7, 6)),
    "strided": ((1, 3, 9, 8), (8, 3, 3, 3), "strides [2, 2] pads [0, 1, 2, 0]", (8, 5, 4)),
    "depthwise": ((1, 12, 6, 5), (12, 1, 3, 3), "group 12 pads [1, 1, 1, 1]", (12, 6, 5)),
}  # fmt: skip
"""Input, weights, attributes, and the channels and the plane of the result."""


def type_of(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def check(text: str, arrays: list[np.ndarray]) -> None:
    """Both backends agree bit for bit, and no product is one of f64."""
    module = parse_text(new_context(), text, "test")
    expected = run(module, arrays)[0]
    for target in ("host", "avx2"):
        compiled = glow.compile(module, target=target, threads=2)
        np.testing.assert_array_equal(compiled(*arrays), expected)
    lowered = str(lower_to(module, "lowered"))
    assert "glow.conv2d %" not in lowered
    assert "glow.matmul %" not in lowered


def words(shape: tuple[int, ...], kind: str, seed: int = 0) -> np.ndarray:
    """Numbers that are any of the stored ones, and some beyond them."""
    random = np.random.default_rng(seed)
    low = -0.5 * KINDS[kind]
    low -= 16384 if kind == "i16" else 0
    return random.uniform(low - 99, low + 32768 + 99, shape).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["i8:f32, 0.25", "u8:f32, 0.25:77"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, weights: str, kind: str) -> None:
    shape, kernel, more, plane = CONVOLUTIONS[name]
    low, high = (0, 256) if weights.startswith("u") else (-128, 128)
    numbers = np.random.default_rng(1).integers(low, high, kernel).tolist()
    element = f"!quant.uniform<{kind}:f32, 0.5:{KINDS[kind]}>"
    shapes = shape, (shape[0], *plane)
    image, result = (type_of(s, element) for s in shapes)
    floats = [type_of(s, "f32") for s in shapes]
    stored = type_of(kernel, ("u" if low == 0 else "") + "i8")
    quantized = type_of(kernel, f"!quant.uniform<{weights}>")
    text = f"""
    func.func @main(%f: {floats[0]}) -> {floats[1]} {{
      %x = quant.qcast %f : {floats[0]} to {image}
      %w = glow.constant dense<{numbers}> : {stored} as {quantized}
      %0 = glow.conv2d %x, %w {more} : {result}
      %1 = quant.dcast %0 : {result} to {floats[1]}
      func.return %1 : {floats[1]}
    }}
    """
    check(text, [words(shape, kind)])


@pytest.mark.parametrize("kinds", [("u16", "u16"), ("i16", "u16"), ("i16", "i16")])
def test_products_of_activations(kinds: tuple[str, str]) -> None:
    shapes = (2, 5, 33), (2, 33, 7)
    lhs, rhs = (
        type_of(s, f"!quant.uniform<{kind}:f32, 0.5:{KINDS[kind]}>")
        for s, kind in zip(shapes, kinds, strict=True)
    )
    floats = [type_of(s, "f32") for s in shapes]
    text = f"""
    func.func @main(%f: {floats[0]}, %g: {floats[1]}) -> tensor<2x5x7xf32> {{
      %x = quant.qcast %f : {floats[0]} to {lhs}
      %y = quant.qcast %g : {floats[1]} to {rhs}
      %0 = glow.matmul %x, %y : tensor<2x5x7xf32>
      func.return %0 : tensor<2x5x7xf32>
    }}
    """
    pairs = zip(shapes, kinds, strict=True)
    check(text, [words(s, kind, seed) for seed, (s, kind) in enumerate(pairs)])


def test_a_layer_of_onnx() -> None:
    """Between casts to 16 bits, as for accelerators, within a step of ONNX Runtime's floats."""
    random = np.random.default_rng(0)
    w = random.integers(-128, 128, (64, 32)).astype(np.int8)
    constants = {
        "s": np.float32(1e-4),
        "z": np.uint16(30000),
        "w": w,
        "ws": np.float32(0.01),
        "wz": np.int8(0),
        "t": np.float32(4e-4),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["f"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["v"]),
        helper.make_node("MatMul", ["f", "v"], ["p"]),
        helper.make_node("QuantizeLinear", ["p", "t", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "t", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", 1, [5, 64])],
        [helper.make_tensor_value_info("y", 1, [5, 32])],
        [numpy_helper.from_array(np.array(a), n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    x = random.standard_normal((5, 64)).astype(np.float32)
    stored = np.clip(np.rint(x / np.float32(1e-4)) + 30000, 0, 65535) - 30000
    expected = (stored @ w.astype(np.float64)) * 1e-6
    for backend in ("cpu", "interpreter"):
        found = glow.compile(model, backend=backend, threads=1)(x)
        limits = (-30000 * 4e-4, 35535 * 4e-4)
        np.testing.assert_allclose(
            found, np.clip(expected, *limits), rtol=0, atol=2.1e-4
        )
