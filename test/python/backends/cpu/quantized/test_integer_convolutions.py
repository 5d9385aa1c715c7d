"""Convolutions of integers that a model has: native code has the interpreter's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper

import glow
from glow.compiler import load, lower_to
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.lowering.target.target import Target, host_target
from glow.universe import new_context

Array = npt.NDArray[Any]

TEXT = """
func.func @main(%x: tensor<{n}x{c}x{h}x{w}xui8>, %z: tensor<{point}ui8>) -> {result} {{
  %w = glow.constant dense<{weights}> : tensor<{o}x{i}x{k}x{k}xi8>
  %p = glow.splat 0 : tensor<i8>
  %0 = glow.conv2d_integer %x, %w, {zero} {more} : {result}
  func.return %0 : {result}
}}
"""

CASES = {
    "pointwise": ((1, 9, 5, 6), (20, 1), "", (5, 6)),
    "padded": ((2, 5, 7, 6), (17, 3), "pads [1, 1, 1, 1]", (7, 6)),
    "transformed": ((1, 64, 28, 28), (64, 3), "pads [1, 1, 1, 1]", (28, 28)),
    "padded first": (
        (2, 200, 5, 7),
        (160, 3),
        "strides [2, 2] pads [1, 1, 1, 1]",
        (3, 4),
    ),
    "strided, uneven pads": (
        *((1, 3, 9, 8), (8, 3)),
        *("strides [2, 2] pads [0, 1, 2, 0]", (5, 4)),
    ),
    "dilated": ((1, 8, 6, 6), (8, 3), "dilations [2, 2] pads [2, 2, 2, 2]", (6, 6)),
    "dilated, transformed": (
        *((1, 64, 31, 28), (64, 3)),
        *("dilations [2, 2] pads [2, 2, 2, 2]", (31, 28)),
    ),
    "depthwise": ((1, 12, 6, 5), (12, 3), "group 12 pads [1, 1, 1, 1]", (6, 5)),
    "groups": ((1, 16, 4, 4), (32, 3), "group 2 pads [1, 1, 1, 1]", (4, 4)),
    "groups, transformed": (
        *((2, 64, 28, 15), (256, 3)),
        *("group 4 pads [1, 1, 1, 1]", (28, 15)),
    ),
    "one number": ((1, 3, 1, 1), (1, 1), "", (1, 1)),
    "no image": ((0, 4, 5, 5), (3, 3), "pads [1, 1, 1, 1]", (5, 5)),
}
"""Input, outputs and kernel, attributes, and the plane of the result."""


@pytest.mark.parametrize("point", ["", "1x"])
@pytest.mark.parametrize("name", CASES)
def test_a_zero_point_that_is_computed(name: str, point: str) -> None:
    """Also where it is in the padding; a scalar, or one number."""
    text, shape = program(name, "%z, %p", point)
    module = parse_text(new_context(), text, "test")
    random = np.random.default_rng(0)
    x = random.integers(0, 256, shape).astype(np.uint8)
    compiled = glow.compile(module, threads=2)
    for number in (0, 7, 255):
        z = np.full((1,) if point else (), number, np.uint8)
        np.testing.assert_array_equal(compiled(x, z), run(module, [x, z])[0])
    lower_to(module, "lowered")
    assert "xf64>" not in str(module)


@pytest.mark.parametrize("name", CASES)
def test_no_zero_point(name: str) -> None:
    text, shape = program(name, "", "")
    module = parse_text(new_context(), text.replace("%w, ", "%w"), "test")
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    z = np.zeros((), np.uint8)
    expected = run(module, [x, z])[0]
    np.testing.assert_array_equal(glow.compile(module, threads=2)(x, z), expected)


@pytest.mark.parametrize(
    "name", ["transformed", "dilated, transformed", "groups, transformed"]
)
def test_code_without_dot_products_of_bytes(name: str) -> None:
    """Padding has the bits of the zero point there."""
    text, shape = program(name, "%z, %p", "")
    text = text.replace(", %z: tensor<ui8>)", ")").replace(
        "  %p =", "  %z = glow.constant dense<131> : tensor<ui8>\n  %p ="
    )
    module, target = parse_text(new_context(), text, "test"), "x86-64-v3"
    if not Target.from_string(target).runs_on(host_target()):
        pytest.skip("this machine has other instructions")
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    compiled = glow.compile(module.clone(), threads=2, target=target)
    np.testing.assert_array_equal(compiled(x), run(module, [x])[0])
    lower_to(module, "lowered", target=target)
    assert "cpu.int8_winograd_conv2d" in str(module)


EMPTY = {
    "no rows": ("QLinearMatMul", (0, 4), (4, 5)),
    "no depth": ("QLinearMatMul", (3, 0), (0, 4)),
    "no columns": ("QLinearMatMul", (3, 4), (4, 0)),
    "no outputs": ("QLinearConv", (1, 4, 3, 3), (0, 4, 1, 1)),
    "no inputs": ("QLinearConv", (1, 0, 3, 3), (4, 0, 1, 1)),
}
"""Operator, input and weights."""


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_operand(name: str) -> None:
    operator, x, w = EMPTY[name]
    scale, point = np.float32(0.5), np.uint8(3)
    constants: dict[str, Any] = {
        **{"xs": scale, "xz": point, "w": np.ones(w, np.int8)},
        **{"ws": scale, "wz": np.int8(0), "ys": scale, "yz": point},
    }
    kind = TensorProto.UINT8
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", *constants], ["y"])],
        "empty",
        [helper.make_tensor_value_info("x", kind, x)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(np.array(v), n) for n, v in constants.items()],
    )
    opsets = [helper.make_opsetid("", 19)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    image = np.ones(x, np.uint8)
    (expected,) = run(load(model), [image])
    (found,) = glow.compile(model).run({"x": image}).values()
    np.testing.assert_array_equal(found, expected, strict=True)


def program(name: str, zero: str, point: str) -> tuple[str, tuple[int, ...]]:
    """The text of a case, and the shape of its input."""
    (n, c, h, w), (o, k), more, plane = CASES[name]
    group = int(more.split()[1]) if more.startswith("group") else 1
    shape = (o, c // group, k, k)
    weights = np.random.default_rng(1).integers(-128, 128, shape)
    result = f"tensor<{n}x{o}x{plane[0]}x{plane[1]}xi32>"
    return TEXT.format(
        **{"n": n, "c": c, "h": h, "w": w, "o": o, "i": c // group, "k": k},
        **{"point": point, "weights": weights.tolist(), "result": result},
        **{"zero": zero, "more": more},
    ), (n, c, h, w)
