"""Kernels on an OpenCL device compute what the interpreter does.

Without a device (`pip install pyopencl pocl-binary-distribution`) these tests are skipped. This
is a slice; `make test-opencl` runs ONNX's tests of all operators, and whole networks.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from places import ROOT
from support.nodes.differential import random_array
from support.programs.control_flow_programs import KEPT
from support.runtime.model_cache_testing import own_folder
from support.runtime.opencl_testing import check_against_interpreter, needs_device
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import glow
from glow import GlowError, compiler
from glow.backends import backend as backends
from glow.backends.opencl import OpenClBackend, sources
from glow.compilation import wait_for_stores
from glow.dialects.glow import MatmulOp
from glow.frontends.mlir import parse_text
from glow.universe import new_context

pytestmark = needs_device
DeviceArray = pytest.importorskip("glow.backends.opencl.device_array").DeviceArray

DIGITS = ROOT / "examples" / "digits"


def load_text(text: str) -> ModuleOp:
    return parse_text(new_context(), text, "network.mlir")


GATHER = """
func.func @main(%table: tensor<4x8xf32>, %i: tensor<2xi64>) -> tensor<2x8xf32> {
  %0 = glow.gather %table, %i axis 0 : tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}
"""

SMALL = """
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = glow.neg %x : tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}
"""


def test_a_network_of_convolutions() -> None:
    check_against_interpreter(DIGITS / "digits.onnx", calls=2)


def integer_products() -> ModelProto:
    """A quantized convolution and a quantized matmul."""
    generator = np.random.default_rng(1)
    kernel = generator.integers(-128, 128, (16, 8, 3, 3)).astype(np.int8)
    matrix = generator.integers(-128, 128, (33, 20)).astype(np.int8)
    nodes = [
        helper.make_node("ConvInteger", ["x", "k"], ["y"], pads=[1, 1, 1, 1]),
        helper.make_node("MatMulInteger", ["a", "m"], ["b"]),
    ]
    byte, word = TensorProto.UINT8, TensorProto.INT32
    graph = helper.make_graph(
        nodes,
        "bytes",
        [
            helper.make_tensor_value_info("x", byte, [1, 8, 6, 6]),
            helper.make_tensor_value_info("a", byte, [5, 33]),
        ],
        [
            helper.make_tensor_value_info("y", word, [1, 16, 6, 6]),
            helper.make_tensor_value_info("b", word, [5, 20]),
        ],
        [numpy_helper.from_array(kernel, "k"), numpy_helper.from_array(matrix, "m")],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_whole_numbers_are_equal_bit_for_bit() -> None:
    generator = np.random.default_rng(0)
    image = generator.integers(0, 256, (1, 8, 6, 6)).astype(np.uint8)
    rows = generator.integers(0, 256, (5, 33)).astype(np.uint8)
    model = integer_products()
    found = glow.compile(model, backend="opencl")(image, rows)
    wanted = glow.compile(model, backend="interpreter")(image, rows)
    for result, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(result, want)


def test_branches_and_what_calls_keep() -> None:
    device = glow.compile(load_text(KEPT), backend="opencl")
    wanted = glow.compile(load_text(KEPT), backend="interpreter")
    for go in (1.0, -1.0, 2.0):
        inputs = (np.array([0, 3]), np.array([go], np.float32))
        for result, want in zip(device(*inputs), wanted(*inputs), strict=True):
            np.testing.assert_allclose(result, want, rtol=1e-5)
    np.testing.assert_array_equal(device.variables["calls/n"], [3])


def test_a_known_network_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, branches and variables come from the cache of models."""
    own_folder(tmp_path, monkeypatch)
    path = tmp_path / "network.mlir"
    path.write_text(KEPT)
    inputs = (np.array([0, 3]), np.ones(1, np.float32))
    first = glow.compile(path, backend="opencl")
    wait_for_stores()
    monkeypatch.setattr(compiler, "compile_model", None)
    again = glow.compile(path, backend="opencl")
    for _ in range(2):
        for result, want in zip(again(*inputs), first(*inputs), strict=True):
            np.testing.assert_array_equal(result, want)
    copy = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copy.variables["calls/n"], [2])


def test_an_index_outside_of_its_axis_is_an_error_of_its_call() -> None:
    device = glow.compile(load_text(GATHER), backend="opencl")
    table = random_array((4, 8))
    with pytest.raises(GlowError, match="outside"):
        device(table, np.array([0, 9]))
    np.testing.assert_array_equal(device(table, np.array([3, 0])), table[[3, 0]])


def test_a_kernel_that_the_driver_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "program_text", lambda *_: "not a kernel")
    monkeypatch.setattr(sources.ObjectCache, "load", lambda *_: None)
    monkeypatch.setattr(sources.ObjectCache, "store_all", lambda *_: None)
    with pytest.raises(GlowError, match="rejects kernel 'elementwise_") as caught:
        glow.compile(load_text(SMALL), backend="opencl")
    assert "error:" in str(caught.value.__cause__)


def test_an_unknown_device_is_one_line() -> None:
    with pytest.raises(GlowError, match=r"unknown device '#'; there are opencl:0 \("):
        glow.compile(DIGITS / "mlp.onnx", backend="opencl", device="#")


class ProductsBackend(OpenClBackend):
    """Products alone, on the same devices."""

    name = "products"

    def version(self) -> str:
        return self.name

    def refuses(self, op: Operation) -> str | None:
        return None if isinstance(op, MatmulOp) else "it is no product"


CROSSING = """
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = glow.matmul %x, %x : tensor<4x4xf32>
  %s = glow.softmax %a axis 1 : tensor<4x4xf32>
  %c = glow.matmul %s, %a : tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}
"""


def test_parts_on_a_device_hand_over_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second product reads what the first one gave; the CPU has a copy."""
    monkeypatch.setitem(backends._loaded, "products", ProductsBackend())
    backends._fallback.cache_clear()
    read, copied = DeviceArray.read, []
    monkeypatch.setattr(
        DeviceArray, "read", lambda self: [copied.append(self.shape), read(self)][1]
    )
    model = glow.compile(load_text(CROSSING), backend="products,cpu")
    x = random_array((4, 4))
    expected = glow.compile(load_text(CROSSING), backend="interpreter")(x)
    for _ in range(2):
        np.testing.assert_allclose(model(x), expected, 1e-5, 1e-6)
    assert len(copied) == 4, "of each call what the CPU reads, and the output"
    (_, first), *_ = model.function.parts
    assert first.function.device == "products:0"


def test_a_device_that_stops_is_one_line_and_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pyopencl

    def lost(*_: object, **__: object) -> None:
        raise pyopencl.RuntimeError("clEnqueueNDRangeKernel failed: DEVICE_LOST")

    model, x = glow.compile(load_text(SMALL), backend="opencl"), random_array((2, 8))
    with monkeypatch.context() as patch:
        patch.setattr(pyopencl, "enqueue_nd_range_kernel", lost)
        with pytest.raises(GlowError, match=r"does not run kernel 'elementwise_.*LOST"):
            model(x)
        patch.setattr(pyopencl, "enqueue_copy", lost)
        with pytest.raises(GlowError, match=r"device '.*' stopped: .*DEVICE_LOST"):
            model(x)
    np.testing.assert_array_equal(model(x), -x)
