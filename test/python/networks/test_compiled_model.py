"""`glow.compile` and calls of compiled models: names, errors, threads, the ONNX API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import glow
from glow.compiler import load

TWO_INPUTS = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[2, 3] a, int64[2] index) => (float[2, 3] sum, float[2, 3] rows) {
  sum = Add(a, a)
  rows = Gather(a, index)
}
"""


@pytest.fixture(scope="module")
def model() -> glow.CompiledModel:
    """A model with two inputs and two outputs."""
    return glow.compile(parser.parse_model(TWO_INPUTS), threads=1)


A = np.arange(6, dtype=np.float32).reshape(2, 3)
INDEX = np.array([1, -2])


def test_signature(model: glow.CompiledModel) -> None:
    """Names, shapes and dtypes are those of the network."""
    assert [str(info) for info in model.inputs] == [
        "a: float32[2, 3]",
        "index: int64[2]",
    ]
    assert [info.name for info in model.outputs] == ["sum", "rows"]


def test_calls_by_position_and_name(model: glow.CompiledModel) -> None:
    """All ways to call give the same arrays."""
    for results in (model(A, INDEX), model(A, index=INDEX), model(index=INDEX, a=A)):
        assert isinstance(results, tuple)
        np.testing.assert_array_equal(results[0], 2 * A)
        np.testing.assert_array_equal(results[1], A[[1, 0]])
    assert list(model.run({"a": A, "index": INDEX})) == ["sum", "rows"]


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", np.array([1, 2])])
def test_numbers_of_threads(threads: Any) -> None:
    with pytest.raises(glow.GlowError, match="threads must be a whole number, 1 or"):
        glow.compile(parser.parse_model(TWO_INPUTS), threads=threads)


@pytest.mark.parametrize("limit", ["10MB", 0, -1, 1e6])
def test_memory_limits(limit: Any) -> None:
    line = r"memory_limit must be a whole number \(of bytes\), 1 or more, not"
    with pytest.raises(glow.GlowError, match=line):
        glow.compile(parser.parse_model(TWO_INPUTS), memory_limit=limit)
    with pytest.raises(glow.GlowError, match=line):
        glow.lower_to(load(parser.parse_model(TWO_INPUTS)), "instr", memory_limit=limit)


@pytest.mark.parametrize("kind", [3, None, ["model.onnx"]])
def test_what_is_no_model(kind: Any) -> None:
    with pytest.raises(glow.GlowError, match=f"not {type(kind).__name__}"):
        glow.compile(kind)


@pytest.mark.parametrize("name", ["\0.onnx", "\0.mlir"])
def test_path_that_no_file_has(name: str) -> None:
    with pytest.raises(glow.GlowError, match="null"):
        glow.compile(name)


def test_quantization_that_is_no_options() -> None:
    with pytest.raises(glow.GlowError, match="is a QuantizationOptions, not int"):
        glow.compile(parser.parse_model(TWO_INPUTS), quantization=cast(Any, 3))


def test_numbers_of_other_kinds() -> None:
    """NumPy's integers are numbers too."""
    proto = parser.parse_model(TWO_INPUTS)
    model = glow.compile(proto, threads=np.int64(1), memory_limit=np.int32(10_000))
    np.testing.assert_array_equal(model(A, INDEX)[0], 2 * A)


def test_inputs_of_any_layout(model: glow.CompiledModel) -> None:
    """Strided arrays and lists of the right type work; results own their memory."""
    strided = np.asfortranarray(A)
    first, _ = model(strided, INDEX)
    model(np.zeros_like(A), INDEX)
    np.testing.assert_array_equal(first, 2 * A)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((A,), {}, "missing input 'index'"),
        ((A, INDEX, A), {}, "takes 2 inputs, not 3"),
        ((A[:1], INDEX), {}, r"'a' must have shape \[2, 3\], not \[1, 3\]"),
        ((A.astype(float), INDEX), {}, "'a' must have dtype float32, not float64"),
        ((A,), {"b": INDEX}, r"no input 'b' \(inputs: a, index\)"),
        ((A, INDEX), {"a": A}, "'a' is given twice"),
    ],
)
def test_wrong_calls_raise_one_line(
    model: glow.CompiledModel,
    arguments: tuple[np.ndarray, ...],
    named: dict[str, np.ndarray],
    message: str,
) -> None:
    """What is wrong is said before native code runs."""
    with pytest.raises(glow.GlowError, match=message) as caught:
        model(*arguments, **named)
    assert "\n" not in str(caught.value)


def test_indices_outside_are_errors(model: glow.CompiledModel) -> None:
    """Nothing outside of a buffer is read."""
    with pytest.raises(glow.GlowError, match="an index is outside of its axis"):
        model(A, np.array([10**12, -(10**12)]))
    _, rows = model(A, np.array([1, -2]))
    np.testing.assert_array_equal(rows, A[[1, 0]])


def test_concurrent_calls() -> None:
    """Several Python threads share one model."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[256, 1024] x) => (float[256, 1024] y) { s = Softmax(x) y = Exp(s) }
    """
    model = glow.compile(parser.parse_model(text), threads=2)
    inputs = [
        np.full((256, 1024), n, np.float32) + np.eye(256, 1024, n) for n in range(16)
    ]
    inputs = [array.astype(np.float32) for array in inputs]
    expected = [model(array) for array in inputs]
    with ThreadPoolExecutor(4) as workers:
        for _ in range(5):
            for one, other in zip(workers.map(model, inputs), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_bytes_paths_and_modules(tmp_path: Path) -> None:
    """A model may be a proto, its bytes, a path or a graph module."""
    proto = parser.parse_model(TWO_INPUTS)
    path = tmp_path / "net.onnx"
    onnx.save(proto, path)
    from glow.frontends.onnx import import_model

    for source in (
        proto,
        proto.SerializeToString(),
        path,
        str(path),
        import_model(proto),
    ):
        np.testing.assert_array_equal(glow.compile(source)(A, INDEX)[0], 2 * A)


def test_onnx_backend_interface() -> None:
    """The standard backend interface runs models and nodes."""
    backend = glow.onnx_backend
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    prepared = backend.prepare(parser.parse_model(TWO_INPUTS))
    outputs = prepared.run([A, INDEX])
    np.testing.assert_array_equal(outputs.rows, A[[1, 0]])
    node = helper.make_node("Relu", ["x"], ["y"])
    np.testing.assert_array_equal(backend.run_node(node, [-A])[0], np.zeros_like(A))
    declared = [(np.float32, (2, 3))]
    np.testing.assert_array_equal(
        backend.run_node(node, [A], outputs_info=declared)[0], A
    )
