"""Int8 matmuls with dynamic operands: native code has the interpreter's bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.onnx_models.quantized_models import check, scalar

import glow
from glow.backends.cpu import dialect as cpu
from glow.compiler import lower_to
from glow.frontends.mlir import parse_text
from glow.interpreter import run
from glow.universe import new_context

Array = npt.NDArray[Any]

ATTENTION = """
!q = !quant.uniform<{left}:f32, 0.03:{p}>
!k = !quant.uniform<{right}:f32, 0.02:{q}>
!v = !quant.uniform<{right}:f32, 0.05:{q}>
!p = !quant.uniform<u8:f32, 0.003921569>
!y = !quant.uniform<u8:f32, 0.04:120>
func.func @main(%x: tensor<2x{s}x3x{d}xf32>, %y: tensor<2x{t}x3x{d}xf32>)
    -> tensor<2x{s}x3x{d}xf32> {{
  %a = quant.qcast %x : tensor<2x{s}x3x{d}xf32> to tensor<2x{s}x3x{d}x!q>
  %b = quant.qcast %y : tensor<2x{t}x3x{d}xf32> to tensor<2x{t}x3x{d}x!k>
  %c = quant.qcast %y : tensor<2x{t}x3x{d}xf32> to tensor<2x{t}x3x{d}x!v>
  %q = glow.transpose %a permutation [0, 2, 1, 3] : tensor<2x3x{s}x{d}x!q>
  %k = glow.transpose %b permutation [0, 2, 1, 3] : tensor<2x3x{t}x{d}x!k>
  %v = glow.transpose %c permutation [0, 2, 1, 3] : tensor<2x3x{t}x{d}x!v>
  %m = glow.matmul %q, %k transpose_rhs : tensor<2x3x{s}x{t}xf32>
  %r = glow.relu %m : tensor<2x3x{s}x{t}xf32>
  %p = quant.qcast %r : tensor<2x3x{s}x{t}xf32> to tensor<2x3x{s}x{t}x!p>
  %o = glow.matmul %p, %v : tensor<2x3x{s}x{d}x!y>
  %t = glow.transpose %o permutation [0, 2, 1, 3] : tensor<2x{s}x3x{d}x!y>
  %f = quant.dcast %t : tensor<2x{s}x3x{d}x!y> to tensor<2x{s}x3x{d}xf32>
  func.return %f : tensor<2x{s}x3x{d}xf32>
}}
"""
"""A ReLU in the place of the softmax, whose bits depend on the exponential's."""


@pytest.mark.parametrize(
    ("left", "right", "p", "q"),
    [("u8", "u8", 131, 120), ("i8", "i8", 0, 0), ("i8", "u8", -3, 128)],
)
@pytest.mark.parametrize("sizes", [(16, 16, 16), (9, 21, 5), (1, 40, 33), (33, 3, 1)])
def test_attention(
    left: str, right: str, p: int, q: int, sizes: tuple[int, int, int]
) -> None:
    s, t, d = sizes
    text = ATTENTION.format(left=left, right=right, p=p, q=q, s=s, t=t, d=d)
    random = np.random.default_rng(0)
    inputs = [
        random.standard_normal((2, rows, 3, d)).astype(np.float32) for rows in (s, t)
    ]
    module = parse_text(new_context(), text, "test")
    (expected,) = run(module, inputs)
    for threads in (1, 3):
        found = glow.compile(module, threads=threads)(*inputs)
        np.testing.assert_array_equal(found, expected)
    lower_to(module, "lowered")
    names = Counter(op.name for op in module.walk())
    assert (names[cpu.Int8BatchMatmulOp.name], names["glow.transpose"]) == (2, 0)
    np.testing.assert_array_equal(run(module, inputs)[0], expected)


def random_bytes(shape: Sequence[int], dtype: npt.DTypeLike, seed: int) -> Array:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def model_of(
    operator: str,
    computed: dict[str, Array],
    operands: Sequence[Array | str],
    shape: Sequence[int],
    element: int,
) -> ModelProto:
    """A model of one node with computed operands and constants."""
    names: list[str] = []
    constants: list[onnx.TensorProto] = []
    for number, value in enumerate(operands):
        names.append(value if isinstance(value, str) else f"c{number}")
        if not isinstance(value, str):
            constants.append(numpy_helper.from_array(value, names[-1]))
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
        )
        for name, x in computed.items()
    ]
    result = helper.make_tensor_value_info("y", element, shape)
    node = helper.make_node(operator, names, ["y"])
    graph = helper.make_graph([node], "one", inputs, [result], constants)
    opsets = [helper.make_opsetid("", 19)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


SHAPES = [
    ((2, 3, 7, 20), (2, 3, 20, 9)),
    ((5, 6), (6, 17)),
    ((2, 1, 4, 3), (3, 3, 33)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_qlinear_matmul(
    dtype: npt.DTypeLike, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    computed = {"a": random_bytes(a, dtype, 0), "b": random_bytes(b, dtype, 1)}
    shape = np.matmul(np.zeros(a), np.zeros(b)).shape
    scales = (scalar(0.02), scalar(0.03), scalar(0.9))
    points = (scalar(3, dtype), scalar(100, dtype), scalar(11, dtype))
    operands = ["a", scales[0], points[0], "b", scales[1], points[1], *scales[2:]]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = model_of("QLinearMatMul", computed, [*operands, points[2]], shape, element)
    check(model, computed)


@pytest.mark.parametrize("dtypes", [(np.uint8, np.int8), (np.int8, np.uint8)])
@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("known", [True, False])
def test_matmul_integer(
    dtypes: tuple[npt.DTypeLike, npt.DTypeLike],
    a: tuple[int, ...],
    b: tuple[int, ...],
    known: bool,
) -> None:
    """Zero points that are constants, and those that are computed."""
    computed = {"a": random_bytes(a, dtypes[0], 0), "b": random_bytes(b, dtypes[1], 1)}
    points: list[Array | str] = [scalar(7, dtypes[0]), scalar(99, dtypes[1])]
    if not known:
        computed |= {"p": np.array(7, dtypes[0]), "q": np.array(99, dtypes[1])}
        points = ["p", "q"]
    shape = np.matmul(np.zeros(a), np.zeros(b)).shape
    model = model_of(
        "MatMulInteger", computed, ["a", "b", *points], shape, onnx.TensorProto.INT32
    )
    check(model, computed)
