"""Sequences and optionals: lists in Python, lists of values in the importer."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto
from support.nodes.differential import random_array

import glow
from glow.dialects.errors import GlowError
from glow.frontends.onnx.control_flow import unrolled_loop

BACKENDS = ("interpreter", "cpu")


def model(text: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}')


GROWING = model(
    """network (seq(float[N]) xs, float[3] y, int64 n) => (seq(float[M]) zs, int64 k) {
      zs = Loop(n, , xs) <
        body = g (int64 i, bool go, seq(float[N]) s) => (bool again, seq(float[N]) t) {
          again = Identity(go)
          f = Cast <to = 1> (i)
          e = Add(y, f)
          t = SequenceInsert(s, e)
        }>
      k = SequenceLength(zs)
    }"""
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_that_grows_a_sequence(backend: str) -> None:
    """Elements differ in shape; the loop runs as often as a call says."""
    compiled = glow.compile(GROWING, backend=backend)
    y = random_array((3,))
    for given, count in (([random_array((2,))], 2), ([], 3), ([y, y[:1]], 0)):
        found, length = compiled(given, y, np.array(count))
        expected = [*given, *(y + np.float32(i) for i in range(count))]
        assert length == len(expected)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_positions_and_parts() -> None:
    """Positions count from the end, and may be known at the call only."""
    network = model(
        """network (float[5, 2] x, int64 p)
            => (float[A, B] last, float[C, D] rest, seq(float[E]) rows) {
          two = Constant <value_int = 2> ()
          parts = SplitToSequence <axis = 0> (x, two)
          last = SequenceAt(parts, p)
          others = SequenceErase(parts, p)
          rest = ConcatFromSequence <axis = 0> (others)
          rows = SplitToSequence <axis = 0, keepdims = 0> (x)
        }"""
    )
    x = random_array((5, 2))
    for backend in BACKENDS:
        compiled = glow.compile(network, backend=backend)
        for p, cut in ((-1, slice(4, 5)), (0, slice(0, 2)), (1, slice(2, 4))):
            last, rest, rows = compiled(x, np.array(p))
            np.testing.assert_array_equal(last, x[cut])
            np.testing.assert_array_equal(rest, np.delete(x, cut, 0))
            np.testing.assert_array_equal(np.array(rows), x)
        with pytest.raises(GlowError, match="position 3 of a sequence of 3"):
            compiled(x, np.array(3))


def test_optionals() -> None:
    """None, or a value; a model is compiled for each."""
    text = """network (float[2] x) => (float[2] y) {
      there = OptionalHasElement(o)
      y = If(there) <
        then_branch = a () => (float[2] t) { v = OptionalGetElement(o) t = Add(x, v) },
        else_branch = b () => (float[2] e) { e = Neg(x) }>
    }"""
    network = model(text.replace("OptionalHasElement(o)", "OptionalHasElement(x)"))
    optional = onnx.helper.make_tensor_value_info("o", onnx.TensorProto.FLOAT, [2])
    network.graph.node[0].input[0] = "o"
    value = network.graph.input.add(name="o")
    value.type.optional_type.elem_type.CopyFrom(optional.type)
    x = random_array((2,))
    for backend in BACKENDS:
        compiled = glow.compile(network, backend=backend)
        np.testing.assert_array_equal(compiled(x, None), -x)
        np.testing.assert_array_equal(compiled(x), -x)
        np.testing.assert_array_equal(compiled(x, x), x + x)
        again = pickle.loads(pickle.dumps(compiled))
        np.testing.assert_array_equal(again(x=x, o=2 * x), x + 2 * x)
        assert repr(copy.copy(compiled)) == "<glow.SequenceModel (x, o) -> (y)>"


def test_values_behind_a_sequence() -> None:
    """A program ends where a value is needed; the sequence is there in the next."""
    network = model(
        """network (float[4] x) => (float[K] y, seq(float[L]) s) {
          a = Neg(x)
          s = SequenceConstruct(a, x)
          total = ReduceSum <keepdims = 0> (x)
          n = Cast <to = 7> (total)
          zero = Constant <value_int = 0> ()
          one = Constant <value_int = 1> ()
          i = Range(zero, n, one)
          first = SequenceAt(s, zero)
          y = Gather(first, i)
        }"""
    )
    for backend in BACKENDS:
        compiled = glow.compile(network, backend=backend)
        for x in ([1.0, 0, 2, 0], [0.0, 0, 0, 1]):
            array = np.array(x, np.float32)
            y, s = compiled(array)
            np.testing.assert_array_equal(y, -array[: int(array.sum())])
            np.testing.assert_array_equal(s, [-array, array])


def test_states_that_change_their_shape() -> None:
    """The body is written out, for the number of iterations that a call has."""
    network = model(
        """network (float[2] x, int64 n) => (float[K] y) {
          y = Loop(n, , x) <
            body = g (int64 i, bool go, float[k] a) => (bool again, float[l] b) {
              again = Identity(go)
              b = Concat <axis = 0> (a, x)
            }>
        }"""
    )
    x = random_array((2,))
    for backend in BACKENDS:
        compiled = glow.compile(network, backend=backend)
        for count in (0, 1, 3):
            expected = np.tile(x, count + 1)
            np.testing.assert_array_equal(compiled(x, np.array(count)), expected)


def test_forms_that_are_kept() -> None:
    """The last forms; several threads that ask for one wait for one compilation."""
    compiled = glow.compile(GROWING, backend="interpreter", specializations=2)
    y = random_array((3,))

    def call(length: int) -> int:
        found, _ = compiled([y] * length, y, np.array(1))
        return len(found)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, [0, 1, 2, 0, 1, 2])) == [1, 2, 3, 1, 2, 3]
    assert len(compiled._kept) == 2


def test_too_many_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops in loops are written out up to a number of nodes."""
    monkeypatch.setattr(unrolled_loop, "MOST_COPIED", 100)
    network = model(
        """network (float[2] x) => (float[K] y) {
          n = Constant <value_int = 1000> ()
          y = Loop(n, , x) <
            body = g (int64 i, bool go, float[k] a) => (bool again, float[l] b) {
              again = Identity(go)
              b = Loop(n, , a) <
                body = h (int64 j, bool on, float[p] c) => (bool next, float[q] d) {
                  next = Identity(on) d = Concat <axis = 0> (c, x)
                }>
            }>
        }"""
    )
    with pytest.raises(GlowError, match="more than 100 copied nodes"):
        glow.compile(network)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y = Neg(s)", "Neg: input 0 is a sequence of 2 tensors, not a tensor"),
        ("y = SequenceAt(x, zero)", "SequenceAt: input 0 is a tensor, not a sequence"),
    ],
)
def test_errors(text: str, message: str) -> None:
    network = model(
        f"""network (float[2] x) => (float[2] y) {{
          zero = Constant <value_int = 0> ()
          s = SequenceConstruct(x, x)
          {text}
        }}"""
    )
    with pytest.raises(GlowError, match=message):
        glow.compile(network)
