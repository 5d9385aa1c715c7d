"""If, Loop and Scan against ONNX Runtime, on the interpreter and as native code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import AttributeProto, ModelProto
from support.nodes.differential import Array, assert_all_close, random_array

import glow
from glow.dialects.errors import GlowError
from glow.frontends.onnx import import_model

BACKENDS = ("interpreter", "cpu")
FLAGS = [np.array(True), np.array(False)]


def model(text: str, opset: int = 17) -> ModelProto:
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    return onnx.parser.parse_model(f"{head} {text}")


def check(network: ModelProto, calls: Sequence[Sequence[Array]]) -> None:
    """The results of all calls are ONNX Runtime's, with their shapes and dtypes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(network.SerializeToString(), options)
    names = [value.name for value in network.graph.input]
    ours = [glow.compile(network, backend=name, threads=2) for name in BACKENDS[1:]]
    ours.append(glow.compile(network, backend="interpreter"))
    for call in calls:
        expected = peer.run(None, dict(zip(names, call, strict=True)))
        for one in ours:
            found = one(*call)
            found = found if isinstance(found, tuple) else (found,)
            for a, b in zip(found, expected, strict=True):
                assert a.shape == b.shape
            assert_all_close(list(found), expected, 1e-5)


def test_branches() -> None:
    """Names around the branches, nested ones, and a result from outside."""
    network = model(
        """
        network (bool c, bool d, float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
          h = Exp(x)
          y, z = If(c) <
            then_branch = a () => (float[2, 3] t, float[2, 3] h0) {
              t0 = Relu(x) t = Add(t0, h) h0 = Identity(h)
            },
            else_branch = b () => (float[2, 3] e, float[2, 3] n) {
              e = If(d) <
                then_branch = p () => (float[2, 3] p0) { p0 = Neg(h) },
                else_branch = q () => (float[2, 3] q0) { q0 = Mul(h, x) }
              >
              n = Sub(e, x)
            }
          >
        }"""
    )
    x = random_array((2, 3))
    check(network, [[c, d, x] for c, d in product(FLAGS, FLAGS)])
    assert str(import_model(network)).count("scf.if") == 2


def test_branches_of_different_shapes() -> None:
    """A condition decides about shapes, and about numbers that one branch needs."""
    network = model(
        """
        network (bool[1] c, float[4] x) => (float[K] y) {
          h = Neg(x)
          d = Not(c)
          y = If(d) <
            then_branch = a () => (float[L] t) {
              n = ReduceMax <keepdims = 0> (x)
              k = Cast <to = 7> (n)
              z = Constant <value_int = 0> ()
              o = Constant <value_int = 1> ()
              r = Range(z, k, o)
              t = Cast <to = 1> (r)
            },
            else_branch = b () => (float[4] e) { e = Exp(h) }
          >
        }"""
    )
    calls = [
        [np.array([flag]), np.arange(4, dtype=np.float32)] for flag in (True, False)
    ]
    check(network, [*calls, *calls])


BODY = """
    <body = g (int64 i, bool go, float[3] a, int64 n) => (bool again, float[3] b, int64 o) {
       one = Constant <value_int = 1> ()
       b = Add(a, x)
       j = Add(i, one)
       o = Add(n, j)
       top = ReduceMax <keepdims = 0> (b)
       limit = Constant <value_float = 4.0> ()
       small = Less(top, limit)
       again = And(small, go)
    }>"""


@pytest.mark.parametrize("operands", ["m, c", "m, ", ", c"])
def test_loops_by_condition(operands: str) -> None:
    """They end early, never begin, and count from 0."""
    network = model(
        f"""network (int64 m, bool c, float[3] x) => (float[3] y, int64 k) {{
          zero = Constant <value_int = 0> ()
          y, k = Loop({operands}, x, zero) {BODY}
        }}"""
    )
    x = np.array([0.25, -1, 0.5], np.float32)
    trips = [np.array(number) for number in (-3, 0, 1, 3, 99)]
    check(network, [[m, c, x] for m, c in product(trips, FLAGS)])
    assert "scf.while" in str(import_model(network))


def test_counted_loop() -> None:
    """A known number of iterations stacks results; a loop inside uses the index."""
    network = model(
        """network (float[2, 3] x) => (float[2, 3] y, float[4, 2, 3] s, int64[4] k) {
          four = Constant <value_int = 4> ()
          y, s, k = Loop(four, , x) <
            body = g (int64 i, bool go, float[2, 3] a)
                => (bool again, float[2, 3] b, float[2, 3] c, int64 d) {
              again = Identity(go)
              b = Loop(i, , a) <
                body = h (int64 j, bool go1, float[2, 3] p) => (bool on, float[2, 3] q) {
                  on = Identity(go1)
                  f = Cast <to = 1> (i)
                  q0 = Add(p, f)
                  q = Mul(q0, x)
                }>
              c = Neg(b)
              d = Identity(i)
            }>
        }"""
    )
    check(network, [[random_array((2, 3))]])
    text = str(import_model(network))
    assert text.count("scf.for") == 2
    assert "scf.while" not in text


@pytest.mark.parametrize("trips", [0, -1, 1])
def test_loop_without_iterations(trips: int) -> None:
    """It is its initial state, and its stacked results are empty."""
    network = model(
        f"""network (float[2] x) => (float[2] y, float[k, 2] s) {{
          n = Constant <value_int = {trips}> ()
          y, s = Loop(n, , x) <
            body = g (int64 i, bool go, float[2] a) => (bool again, float[2] b, float[2] c) {{
              again = Identity(go) b = Exp(a) c = Neg(a)
            }}>
        }}"""
    )
    check(network, [[random_array((2,))]])
    assert ("glow.exp" in str(import_model(network))) == (trips == 1)


def test_scan() -> None:
    """Axes and directions of inputs and outputs."""
    network = model(
        """network (float[2] h, float[2, 4] x, float[3, 2] z)
            => (float[2] l, float[2, 4] y, float[4] t) {
          w = Constant <value_floats = [0.5, 2.0, 1.0, 0.25]> ()
          l, y, t = Scan <
            num_scan_inputs = 2, scan_input_axes = [-1, 0], scan_input_directions = [1, 0],
            scan_output_axes = [-1, 0], scan_output_directions = [0, 1],
            body = g (float[2] s, float[2] e, float v) => (float[2] s1, float[2] o, float p) {
              s0 = Mul(s, e) s1 = Add(s0, v) o = Tanh(s1) p = ReduceSum <keepdims = 0> (o)
            }> (h, x, w)
        }"""
    )
    inputs = [random_array((2,)), random_array((2, 4)), random_array((3, 2))]
    check(network, [inputs])


def test_scan_of_opset_8() -> None:
    """Every element of a batch has a length of its own."""
    network = model(
        """network (int64[3] n, float[3, 2] h, float[3, 4, 2] x)
            => (float[3, 2] l, float[3, 4, 2] y) {
          l, y = Scan <num_scan_inputs = 1,
            body = g (float[2] s, float[2] e) => (float[2] s1, float[2] o) {
              s1 = Add(s, e) o = Neg(s1)
            }> (n, h, x)
        }""",
        8,
    )
    lengths = np.array([4, 0, 2])
    h, x = random_array((3, 2)), random_array((3, 4, 2))
    for backend in BACKENDS:
        last, stack = glow.compile(network, backend=backend)(lengths, h, x)
        for number, length in enumerate(lengths):
            sums = h[number] + np.cumsum(x[number, :length], 0)
            ending = sums[-1] if length else h[number]
            np.testing.assert_allclose(last[number], ending, 1e-5)
            np.testing.assert_allclose(stack[number, :length], -sums, 1e-5)
            assert not stack[number, length:].any()
        with pytest.raises(GlowError, match=r"outside of .*axis"):
            glow.compile(network, backend=backend)(lengths + 1, h, x)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            """network (bool c, float[2] x) => (float[2] y) {
              y = If(c) <then_branch = a () => (float[2] t) { t = Neg(x) },
                else_branch = b () => (int64[2] e) { e = Cast <to = 7> (x) }>
            }""",
            "If: result 0 is 2xf32 in the then branch, but 2xi64 in the else.*at node 'y'",
        ),
        (
            """network (float[2] x) => (float[2] y) {
              y = Loop(, , x) <body = g (int64 i, bool go, float[2] a)
                => (bool again, float[2] b) { again = Identity(go) b = Neg(a) }>
            }""",
            "Loop: neither a trip count nor a condition ends it.*at node 'y'",
        ),
        (
            """network (int64 m, float[2] x) => (float[2] y) {
              y = Loop(m, , x) <body = g (int64 i, bool go, float[2] a)
                => (bool again, int64[2] b) { again = Identity(go) b = Cast <to = 7> (a) }>
            }""",
            "Loop: state 0 is 2xf32, but becomes 2xi64.*at node 'y'",
        ),
    ],
)  # fmt: skip
def test_errors(text: str, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        import_model(model(text))


def wrapped(text: bytes, depth: int) -> bytes:
    """The bytes of a graph in loops, which no parser has to read on the way."""
    for _ in range(depth):
        body = AttributeProto(name="body", type=AttributeProto.GRAPH)
        attribute = body.SerializeToString() + field(6, text)
        node = onnx.helper.make_node("Loop", ["n", "", "x"], ["y"])
        text = field(1, node.SerializeToString() + field(5, attribute))
    return text


def field(number: int, content: bytes) -> bytes:
    """A field of a message: its number, the length of its content, that."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def test_loops_in_loops() -> None:
    """A thousand of them are an error in one line, from a file and from memory."""
    network = model(
        "network (int64 n, float[2] x) => (float[2] y) { y = Neg(x) }"
    ).SerializeToString()
    deep = network + field(7, wrapped(b"", 1000))
    with pytest.raises(GlowError, match="its graphs are too deep inside each other"):
        import_model(deep)
    opsets = [onnx.helper.make_opsetid("", 17)]
    built = onnx.ModelProto(ir_version=8, opset_import=opsets)
    built.graph.output.add(name="y")
    inner = built.graph
    for _ in range(1000):
        node = inner.node.add(op_type="Loop")
        inner = node.attribute.add(name="body", type=AttributeProto.GRAPH).g
    with pytest.raises(GlowError, match="more than 30 deep"):
        import_model(built)
