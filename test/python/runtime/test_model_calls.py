"""Calls of compiled models: on one's own arrays, without detours, as copies and pickles."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import parser

import glow
from glow import model_bytes
from glow.compiled_model import CompiledModel
from glow.compiler import load
from glow.runtime.native_function import NativeFunction

TWO = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[2, 3] a, int64[2] index) => (float[2, 3] sum, float[2, 3] rows) {
  sum = Add(a, a)
  rows = Gather(a, index)
}
"""
LSTM = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[5, 1, 4] x, float[1, 12, 4] w, float[1, 12, 3] r) => (float[5, 1, 1, 3] y) {
  y, h, c = LSTM <hidden_size = 3> (x, w, r)
}
"""
A = np.arange(6, dtype=np.float32).reshape(2, 3)
INDEX = np.array([1, 0])


@pytest.fixture(scope="module")
def model() -> glow.CompiledModel:
    """A model with two inputs and two outputs."""
    return glow.compile(parser.parse_model(TWO), threads=1)


def outputs() -> list[np.ndarray]:
    """Arrays for the outputs, which hold something else."""
    return [np.full((2, 3), np.nan, np.float32) for _ in range(2)]


def assert_right(results: Any, a: np.ndarray = A) -> None:
    """The outputs of the model for `a` and `INDEX`."""
    np.testing.assert_array_equal(results[0], 2 * a)
    np.testing.assert_array_equal(results[1], a[INDEX])


# -- Threads of a call


@pytest.mark.parametrize("width", [16, 256])
def test_a_call_takes_no_more_threads_than_it_is_told(width, monkeypatch):
    source = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[{width}, {width}] a) => (float[{width}, {width}] b) {{ b = Tanh(a) }}
    """
    model = glow.compile(parser.parse_model(source), threads=3)
    function = model.function
    assert isinstance(function, NativeFunction)
    monkeypatch.setattr(function, "_used_threads", 3)  # Also where it is small.
    monkeypatch.setattr(function._choice, "run", lambda call: call(3))
    seen = []
    run_at = function._executable.run_at
    monkeypatch.setattr(
        function._executable,
        "run_at",
        lambda *places: seen.append(places[-1]) or run_at(*places),
    )
    a = np.linspace(-1, 1, width**2, dtype=np.float32).reshape(width, width)
    out = np.empty_like(a)
    expected = model(a)
    for threads in (1, 2, 8, None):
        (found,) = model.run_in_order([a], threads)
        np.testing.assert_array_equal(found, expected)
        model.run_into([a], [out], threads)
        np.testing.assert_array_equal(out, expected)
    assert seen == [3, *(1, 1), *(2, 2), *(3, 3), *(3, 3)]


def test_inputs_in_order_may_be_scattered_or_read_only():
    source = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[128, 128] a) => (float[128, 128] b) { b = Add(a, a) }
    """
    model = glow.compile(parser.parse_model(source))
    wide = np.arange(128 * 256, dtype=np.float32).reshape(128, 256)
    fixed = np.frombuffer(wide[:, 128:].tobytes(), np.float32).reshape(128, 128)
    shifted = np.frombuffer(b"!" + fixed.tobytes(), np.float32, offset=1, count=128**2)
    for a in (wide[:, ::2], fixed, shifted.reshape(128, 128)):
        np.testing.assert_array_equal(model.run_in_order([a])[0], a + a)


def test_results_keep_their_memory_while_anybody_has_a_part_of_it():
    source = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[128, 128] a) => (float[128, 128] b) { b = Add(a, a) }
    """
    model = glow.compile(parser.parse_model(source), threads=1)
    a = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    last_row = model(a)[-1:]
    results = [model(number * a) for number in range(4)]
    addresses = {result.ctypes.data for result in results}
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result, 2 * number * a)
    np.testing.assert_array_equal(last_row, 2 * a[-1:])
    del results, result
    assert model(a).ctypes.data in addresses
    np.testing.assert_array_equal(last_row, 2 * a[-1:])


# -- run_into


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_arrays_in_order_or_by_name(backend: str) -> None:
    model = glow.compile(parser.parse_model(TWO), backend=backend)
    results = outputs()
    model.run_into([A, INDEX], results)
    assert_right(results)
    named = dict(zip(["rows", "sum"], outputs(), strict=True))
    model.run_into({"index": INDEX, "a": A}, named)
    assert_right([named["sum"], named["rows"]])


def test_the_arrays_own_memory(
    model: glow.CompiledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Native code gets the distances of the arrays, whatever their addresses are."""
    seen: list[list[int]] = []
    place = NativeFunction._place

    def noted(function: NativeFunction, buffers: Any, places: Any) -> None:
        seen.append([buffers.mutables_address + distance for distance in places])
        place(function, buffers, places)

    monkeypatch.setattr(NativeFunction, "_place", noted)
    results = outputs()
    model.run_into([A, INDEX], results)
    assert seen == [[array.ctypes.data for array in (A, INDEX, *results)]]
    assert_right(model(2 * A, INDEX), 2 * A)
    assert_right(results)


@pytest.mark.parametrize("shift", [1, 4, 15])
def test_memory_at_any_address(model: glow.CompiledModel, shift: int) -> None:
    """Aligned to elements, and to nothing else; parts of larger arrays."""
    memory = np.full(100, 7, np.float32)
    a = memory[shift : shift + 6].reshape(2, 3)
    a[...] = A
    a.flags.writeable = False
    results = [memory[30 + shift :][:6].reshape(2, 3), memory[60 + shift :][:6]]
    results[1] = results[1].reshape(2, 3)
    model.run_into([a, INDEX], results)
    assert_right(results)
    untouched = np.delete(memory, [*range(shift, shift + 6)])
    untouched = np.delete(untouched, [*range(24 + shift, 30 + shift)])
    untouched = np.delete(untouched, [*range(48 + shift, 54 + shift)])
    np.testing.assert_array_equal(untouched, 7)


def test_a_network_with_loops_and_weights_as_inputs() -> None:
    model = glow.compile(parser.parse_model(LSTM), threads=2)
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(i.shape).astype("f4") for i in model.inputs]
    expected = model(*inputs)
    before = [array.copy() for array in inputs]
    result = np.full(model.outputs[0].shape, np.nan, np.float32)
    model.run_into(inputs, [result])
    np.testing.assert_array_equal(result, expected)
    for array, old in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_dtypes_without_buffers_and_no_elements() -> None:
    """Python's buffers know neither bfloat16 nor where an empty array is."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (bfloat16[3] x, float[0] e) => (bfloat16[3] y, float[0] f) {
      y = Neg(x)
      f = Neg(e)
    }
    """
    model = glow.compile(parser.parse_model(text))
    x, y = np.ones(3, ml_dtypes.bfloat16), np.zeros(3, ml_dtypes.bfloat16)
    empty = np.zeros(0, np.float32)
    model.run_into([x, empty], [y, empty])
    np.testing.assert_array_equal(y, -x)


def test_programs_that_write_their_inputs() -> None:
    """They get copies of them."""
    text = """
    func.func @main(%x: memref<4xf32>, %y: memref<4xf32>)
        attributes {glow.input_count = 1 : i64} {
      instr.relu @out %y, @in %x
      instr.relu @out %x, @in %y
      func.return
    }
    """
    from glow.backends.cpu.native_function import build_native_function
    from glow.backends.cpu.program.kernel_table import kernel_table
    from glow.frontends.mlir import parse_text
    from glow.lowering.target.target import host_target
    from glow.universe import new_context

    module = parse_text(new_context(), text, "text")
    function = build_native_function(module, host_target(), 1, kernel_table("cpu"))
    assert function.program.writes_inputs
    x, y = np.array([-1, 2, -3, 4], np.float32), np.zeros(4, np.float32)
    function.run_into([x], [y])
    np.testing.assert_array_equal(x, [-1, 2, -3, 4])
    np.testing.assert_array_equal(y, [0, 2, 0, 4])


FIRST, SECOND = outputs()


@pytest.mark.parametrize(
    ("takes", "gives", "line"),
    [
        ([A], [FIRST, SECOND], "has 2 inputs, not 1"),
        ([A, INDEX], [FIRST], "has 2 outputs, not 1"),
        ({"a": A}, [FIRST, SECOND], "inputs are a, index, not a"),
        ([A[:1], INDEX], [FIRST, SECOND], r"'a' must have shape \[2, 3\]"),
        ([A, INDEX], [FIRST, SECOND[:1]], r"output 'rows' must have shape"),
        ([A, INDEX], [FIRST.astype("f8"), SECOND], "'sum' must have dtype float32"),
        ([A.tolist(), INDEX], [FIRST, SECOND], "input 'a' must have dtype float32"),
        ([A, INDEX.tolist()], [FIRST, SECOND], "'index' must be a NumPy array"),
        ([A, INDEX], [FIRST, FIRST], "output 1 must not share memory with output 0"),
        ([FIRST, INDEX], [FIRST, SECOND], "0 must not share memory with input 0"),
        ([np.asfortranarray(A), INDEX], [FIRST, SECOND], "input 0 must be contiguous"),
        ([A, INDEX], [FIRST, np.asfortranarray(A)], "output 1 must be contiguous"),
        (
            [A, INDEX],
            [FIRST, np.frombuffer(SECOND.tobytes(), "f4").reshape(2, 3)],
            "output 1 must be contiguous, aligned and writable",
        ),
        (
            [np.frombuffer(bytes(25), "u1")[1:].view("f4").reshape(2, 3), INDEX],
            [FIRST, SECOND],
            "input 0 must be contiguous and aligned",
        ),
    ],
)
def test_arrays_that_do_not_fit(
    model: glow.CompiledModel, takes: Any, gives: Any, line: str
) -> None:
    with pytest.raises(glow.GlowError, match=line):
        model.run_into(takes, gives)


def test_threads_that_call_at_once(model: glow.CompiledModel) -> None:
    def run(number: int) -> bool:
        a, results = A + number, outputs()
        model.run_into([a, INDEX], results)
        direct = model(a, INDEX)
        return all(
            np.array_equal(result, right)
            for found in (results, direct)
            for result, right in zip(found, (2 * a, a[INDEX]), strict=True)
        )

    with ThreadPoolExecutor(4) as workers:
        assert all(workers.map(run, range(400)))


def test_calls_make_no_detours(model: glow.CompiledModel) -> None:
    """The Python functions that a call passes through, which take most of its time."""
    calls: list[str] = []

    def noted(frame: Any, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    model(A, INDEX)
    sys.setprofile(noted)
    try:
        model(A, INDEX)
    finally:
        sys.setprofile(None)
    assert len(calls) <= 12, calls


# -- text, copies, pickles


def test_text(model: glow.CompiledModel) -> None:
    text = repr(model)
    assert "(a: float32[2, 3], index: int64[2]) -> (sum: float32[2, 3], rows: " in text
    assert "target " in text
    assert "arena 0 bytes" in text
    avx2 = repr(glow.compile(parser.parse_model(TWO), target="avx2"))
    assert "target x86-64-v3" in avx2
    interpreted = glow.compile(parser.parse_model(TWO), backend="interpreter")
    assert "InterpretedFunction" in repr(interpreted)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_copies(backend: str) -> None:
    """Nothing changes a model, so it serves as its copy."""
    model = glow.compile(parser.parse_model(TWO), backend=backend)
    found = copy.deepcopy({"model": model, "other": copy.copy(model)})
    assert_right(found["model"](A, INDEX))
    assert_right(found["other"](A, INDEX))


def test_pickles(model: glow.CompiledModel) -> None:
    data = pickle.dumps(model)
    again = pickle.loads(data)
    assert isinstance(again, CompiledModel)
    assert again.signature == model.signature
    assert repr(again) == repr(model)
    assert_right(again(A, INDEX))
    assert pickle.dumps(again) == data


def test_pickles_in_another_process(model: glow.CompiledModel, tmp_path: Path) -> None:
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    program = (
        "import numpy as np, pickle, sys\n"
        "model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "a = np.arange(6, dtype=np.float32).reshape(2, 3)\n"
        "print(model(a, np.array([1, 0]))[1].tolist(), 'xdsl' in sys.modules)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "model.pickle")]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]] False"


def test_pickles_that_do_not_fit(
    model: glow.CompiledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(model)
    position = data.rindex(b"ELF")
    damaged = data[:position] + b"elf" + data[position + 3 :]
    with pytest.raises(glow.GlowError, match="pickled model is damaged"):
        pickle.loads(damaged)
    monkeypatch.setattr(model_bytes, "machine", lambda: "another processor")
    with pytest.raises(glow.GlowError, match="for another processor; compile it again"):
        pickle.loads(data)


def test_interpreted_models_have_no_pickle() -> None:
    model = glow.compile(load(parser.parse_model(TWO)), backend="interpreter")
    with pytest.raises(glow.GlowError, match="cannot be pickled; pickle what it was"):
        pickle.dumps(model)


def test_a_fork_after_a_call(model: glow.CompiledModel) -> None:
    """The child has no threads of the parent; it makes a pool of its own."""
    assert_right(model(A, INDEX))
    child = os.fork()
    if child == 0:
        results = outputs()
        model.run_into([A, INDEX], results)
        os._exit(0 if np.array_equal(results[0], 2 * A) else 1)
    assert os.waitpid(child, 0)[1] == 0
